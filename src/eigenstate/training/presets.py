"""Recipes that travel inside the package, and the reading of any settings file."""

import itertools
import re
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import yaml

from eigenstate.data import get_task
from eigenstate.data.own_data import OWN
from eigenstate.layers.checks import check_choice
from eigenstate.training.config import check_keys


class _Loader(yaml.SafeLoader):
    """YAML 1.1, but 1e-3 is a number, as everybody expects."""


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"),
    list("-+.0123456789"),
)


def read_settings(path: Path | Traversable) -> dict[str, Any]:
    """Read a YAML file of settings. ValueError: names the file and what is wrong with it."""
    settings = read_yaml(path) or {}
    try:
        check_keys(settings)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: {error}") from None
    return settings


def read_yaml(path: Path | Traversable) -> Any:
    """Read what a YAML file holds. ValueError: names the file and what is wrong with it."""
    try:
        return yaml.load(path.read_text(encoding="utf-8"), _Loader)
    except FileNotFoundError:
        raise ValueError(f"{path}: no such file") from None
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path}: not a text file") from None
    except yaml.YAMLError as error:
        raise ValueError(f"{path}: not valid YAML: {_place(error)}") from None
    except ValueError as error:  # a date that is none, for example
        raise ValueError(f"{path}: {error}") from None


def presets() -> dict[str, Traversable]:
    """Return the preset files by name."""
    folder = files("eigenstate") / "presets"
    found = {file.name.removesuffix(".yaml"): file for file in folder.iterdir()}
    return dict(sorted(found.items()))


def about(file: Traversable) -> str:
    """Return the first sentence of the comment at the head of a preset."""
    lines = file.read_text(encoding="utf-8").splitlines()
    head = itertools.takewhile(lambda line: line.startswith("#"), lines)
    return re.split(r"(?<=[.?])\s", " ".join(line.lstrip("# ") for line in head))[0]


def read_preset(name: str | None, task: str | None = None) -> dict[str, Any]:
    """Return the settings of a preset, by default those of the task's own.

    ValueError: no preset has that name, or neither it nor a task was given.
    """
    if name is None:
        if task is None:
            raise ValueError("which task? `eigenstate tasks` lists them")
        name = f"s5-{task if task in OWN else get_task(task).name}"
    check_choice("preset", name, presets())
    return {"preset": name, **read_settings(presets()[name])}


def _place(error: yaml.YAMLError) -> str:
    """Say what the parser stumbled over, and where, in one line."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        return f"line {error.problem_mark.line + 1}: {error.problem}"
    return " ".join(str(error).split())
