"""Suites: which runs make a table of results, how they are judged, and what others published.

A suite file holds rows by name. A row trains a preset, perhaps with settings laid over it, with
seeds 0, 1, ...; every run is judged on the test set of its task, and again by each evaluation.
"""

import dataclasses
import difflib
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from eigenstate.data import Task
from eigenstate.layers.checks import check_choice, check_count, check_flag
from eigenstate.training.build import build_model
from eigenstate.training.config import RunSettings, check_keys, laid_over
from eigenstate.training.own_facts import any_task
from eigenstate.training.presets import about, read_preset, read_yaml


@dataclass(frozen=True)
class Cited:
    """A figure that others published, by `system`; never mixed with what is measured."""

    system: str
    figure: float
    source: str
    spread: float | None = None
    seeds: int | None = None

    def __post_init__(self) -> None:
        _check_text(system=self.system, source=self.source)
        _check_number(figure=self.figure, spread=self.spread)
        if self.seeds is not None:
            check_count("seeds", self.seeds)


@dataclass(frozen=True)
class Evaluation:
    """A trained model is judged again: at another rate, or on the test set of a task alike.

    A bar is on the figure, or on how much worse it is than that of the row's own test set.
    """

    name: str
    decimate: int = 1
    filtered: bool = False
    dt: float = 1.0
    task: str | None = None
    bar: float | None = None
    drop_at_most: float | None = None
    drop_at_least: float | None = None
    cited: tuple[Cited, ...] = ()

    def __post_init__(self) -> None:
        _check_text(name=self.name)
        check_count("decimate", self.decimate)
        check_flag("filtered", self.filtered)
        bars = {key: getattr(self, key) for key in ("bar", "drop_at_most", "drop_at_least")}
        _check_number(dt=self.dt, **bars)
        given = [key for key, value in bars.items() if value is not None]
        if len(given) > 1:
            raise ValueError(f"an evaluation has one bar, got {' and '.join(given)}")
        if self.dt is None or self.dt < 0:
            raise ValueError(f"dt must be a number from 0 up, got {self.dt}")

    @property
    def conditions(self) -> dict[str, Any]:
        """What decides the figure."""
        return {name: getattr(self, name) for name in ("decimate", "filtered", "dt", "task")}

    def check(self, trained_on: Task) -> None:
        """Raise ValueError unless a model of the task `trained_on` can be judged so."""
        task = trained_on if self.task is None else any_task(self.task)
        if _question(task) != _question(trained_on):
            raise ValueError(f"task {task.name!r} asks something else than {trained_on.name!r}")
        if self.decimate > 1 and (task.kind, task.inputs) != ("classification", "channels"):
            raise ValueError(f"decimate needs channels and one label each, unlike {task.name!r}")


@dataclass(frozen=True)
class Row:
    """A preset, what is laid over it, how it is judged, and how many seeds it has at most.

    `data` is where the row's files are below the place that the command names.
    """

    name: str
    preset: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    seeds: int | None = None
    data: str | None = None
    bar: float | None = None
    cited: tuple[Cited, ...] = ()
    evaluations: tuple[Evaluation, ...] = ()

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z0-9][a-z0-9._-]*", self.name):
            raise ValueError(
                f"name must be of small letters, digits, dots and hyphens (it is a folder), "
                f"got {self.name!r}"
            )
        _check_number(bar=self.bar)
        if self.seeds is not None:
            check_count("seeds", self.seeds)
        check_keys(self.settings)
        for key in ("seed", "data", "preset"):
            if key in self.settings:
                raise ValueError(f"settings must not hold {key!r}: it is told in another way")
        names = [evaluation.name for evaluation in self.evaluations]
        if len(set(names)) < len(names):
            raise ValueError(f"evaluations must have different names, got {names}")
        if self.data is not None:
            _check_text(data=self.data)
        settings = self.run_settings(0, None)
        task = any_task(settings.task)
        build_model(settings.model, task)
        for evaluation in self.evaluations:
            evaluation.check(task)

    def run_settings(self, seed: int, data: str | None) -> RunSettings:
        """Return the settings of one run; `data` is the place that the command names."""
        settings = laid_over(read_preset(self.preset), self.settings)
        if data is not None and self.data is not None:
            data = str(Path(data) / self.data)
        return RunSettings.from_dict(settings | {"seed": seed, "data": data})


@dataclass(frozen=True)
class Suite:
    """Rows under a name. `seeds`: how many each row has if the command says nothing."""

    name: str
    about: str
    rows: tuple[Row, ...]
    seeds: int

    def row(self, name: str) -> Row:
        """Return a row. ValueError: there is none of that name."""
        check_choice("row", name, [row.name for row in self.rows])
        return next(row for row in self.rows if row.name == name)


def suites() -> dict[str, Traversable]:
    """Return the suites that travel with the package, by name."""
    folder = files("eigenstate") / "suites"
    found = {file.name.removesuffix(".yaml"): file for file in folder.iterdir()}
    return dict(sorted(found.items()))


def read_suite(name: str) -> Suite:
    """Read a suite of the package, or one's own from a path that ends in .yaml.

    ValueError: there is no such suite; or the file, the row and what is wrong there.
    """
    if name.endswith(".yaml"):
        file, name = Path(name), Path(name).stem
    else:
        check_choice("suite", name, suites())
        file = suites()[name]
    values = read_yaml(file)
    try:
        known = {"seeds", "rows"}
        _check_keys("suite", values, known, known)
        check_count("seeds", values["seeds"])
        if not isinstance(values["rows"], Mapping) or not values["rows"]:
            raise ValueError(f"rows must hold rows by name, got {values['rows']!r}")
        rows = tuple(_row(str(key), value) for key, value in values["rows"].items())
    except (ValueError, TypeError) as error:
        raise ValueError(f"{file}: {error}") from None
    return Suite(name, about(file), rows, values["seeds"])


def _row(name: str, values: Any) -> Row:
    values = {} if values is None else values
    where = f"rows.{name}"
    if not isinstance(values, Mapping):
        raise TypeError(f"{where} must hold keys and values, got {values!r}")
    values = {"preset": name, **values}
    if "evaluations" in values:
        judged = _each(f"{where}.evaluations", values["evaluations"])
        values["evaluations"] = tuple(
            _made(Evaluation, place, _with_cited(place, item)) for place, item in judged
        )
    return _made(Row, where, {"name": name, **_with_cited(where, values)})


def _with_cited(where: str, values: Any) -> Any:
    """Return the values, their published figures read."""
    if not isinstance(values, Mapping) or "cited" not in values:
        return values
    cited = _each(f"{where}.cited", values["cited"])
    return {**values, "cited": tuple(_made(Cited, place, item) for place, item in cited)}


def _each(where: str, values: Any) -> list[tuple[str, Any]]:
    if not isinstance(values, list):
        raise TypeError(f"{where} must be a list, got {values!r}")
    return [(f"{where}[{index}]", value) for index, value in enumerate(values)]


def _made(kind: Any, where: str, values: Any) -> Any:
    """Build `kind` from the keys of a mapping; an error says where in the file it is."""
    fields = dataclasses.fields(kind)
    needed = {
        f.name
        for f in fields
        if f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
    }
    _check_keys(where, values, {f.name for f in fields}, needed)
    try:
        return kind(**values)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{where}: {str(error).removeprefix('name: ')}") from None


def _check_keys(where: str, values: Any, known: set[str], needed: set[str]) -> None:
    if not isinstance(values, Mapping):
        raise TypeError(f"{where} must hold keys and values, got {values!r}")
    for key in values:
        if key not in known:
            near = difflib.get_close_matches(str(key), known, 1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; known are {sorted(known)}"
            raise ValueError(f"{where} has no key {key!r}{hint}")
    for key in sorted(needed - set(values)):
        raise ValueError(f"{where} needs a {key!r}")


def _check_text(**values: Any) -> None:
    for name, value in values.items():
        if not isinstance(value, str) or not value.strip():
            raise ValueError(f"{name} must be words, got {value!r}")


def _check_number(**values: Any) -> None:
    for name, value in values.items():
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if value is not None and not (number and math.isfinite(value)):
            raise ValueError(f"{name} must be a number, got {value!r}")


def _question(task: Task) -> tuple[Any, ...]:
    return task.kind, task.inputs, task.d_input, task.class_names, task.n_outputs
