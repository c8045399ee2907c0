"""The folder that a run leaves behind."""

import csv
import io
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import yaml

from eigenstate.files import replace_json, replace_text
from eigenstate.training.config import RunSettings
from eigenstate.training.presets import read_settings


class RunError(RuntimeError):
    """A run folder that cannot be made or used; names the file and the reason."""


class Run:
    """One run: config.yaml, metrics.csv, metrics.json, checkpoint.pt, learning_curve.png, best.pt
    where the best epoch is to be judged, and data.json where it learns from a user's own files.

    Every file is replaced whole, so that a run killed at any moment can be read and resumed.
    """

    def __init__(self, folder: Path, settings: RunSettings) -> None:
        self.folder = folder
        self.settings = settings
        self.config = folder / "config.yaml"
        self.facts = folder / "data.json"
        self.metrics = folder / "metrics.csv"
        self.summary = folder / "metrics.json"
        self.checkpoint = folder / "checkpoint.pt"
        self.best = folder / "best.pt"
        self.picture = folder / "learning_curve.png"

    @classmethod
    def create(cls, settings: RunSettings, folder: Path | None = None) -> "Run":
        """Make a new folder, runs/TASK-001 or the next free number unless `folder` is given.

        RunError: the folder exists and is not empty, or cannot be made.
        """
        try:
            if folder is None:
                folder = _numbered(Path("runs"), settings.task)
            folder.mkdir(parents=True, exist_ok=True)
            if any(folder.iterdir()):
                raise RunError(
                    f"{folder}: is not empty; choose another folder, or resume the run in it"
                )
            run = cls(folder, settings)
            replace_text(run.config, yaml.safe_dump(settings.to_dict(), sort_keys=False))
        except OSError as error:
            raise RunError(f"{folder}: cannot be made a run folder: {error.strerror}") from None
        return run

    @classmethod
    def open(cls, folder: Path) -> "Run":
        """Open an existing run. RunError: the folder or its config.yaml is missing or wrong."""
        if not folder.is_dir():
            raise RunError(f"{folder}: there is no such run folder")
        try:
            settings = RunSettings.from_dict(read_settings(folder / "config.yaml"))
        except (ValueError, TypeError) as error:
            raise RunError(_naming(folder / "config.yaml", error)) from None
        return cls(folder, settings)

    def write_metrics(self, rows: Sequence[Mapping[str, float]]) -> None:
        """Write one line per epoch."""
        text = io.StringIO()
        writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({name: f"{value:.6g}" for name, value in row.items()})
        replace_text(self.metrics, text.getvalue())

    def write_summary(self, summary: Mapping[str, Any]) -> None:
        """Write the final figures."""
        replace_json(self.summary, summary)


def _numbered(parent: Path, task: str) -> Path:
    """Make and return the first free parent/task-NNN."""
    parent.mkdir(parents=True, exist_ok=True)
    for number in count(1):
        folder = parent / f"{task}-{number:03d}"
        try:
            folder.mkdir()
        except FileExistsError:
            continue
        return folder
    raise AssertionError("the numbers do not end")


def _naming(path: Path, error: Exception) -> str:
    text = str(error)
    return text if text.startswith(str(path)) else f"{path}: {text}"
