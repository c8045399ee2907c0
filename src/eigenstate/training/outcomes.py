"""What a finished run left: metrics.json, and evaluations.json if it was judged in other ways too."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from eigenstate.files import replace_json
from eigenstate.training.objectives import OBJECTIVES, Objective
from eigenstate.training.own_facts import any_task
from eigenstate.training.runs import Run, RunError
from eigenstate.training.suites import Evaluation

NEEDED = ("parameters", "epochs", "epoch", "seconds", "threads")
AGAIN = "remove the file, and the same command judges the run again"


def objective_for(run: Run) -> Objective:
    """Return what a run's task asks for."""
    return OBJECTIVES[any_task(run.settings.task).kind]


def read_summary(run: Run) -> dict[str, Any] | None:
    """Return the figures of a finished run, or None if it is not finished.

    RunError: its metrics.json is damaged, or that of another run.
    """
    path, s = run.summary, run.settings
    found = _read_json(path)
    if found is None:
        return None
    for name in (f"test_{objective_for(run).name}", *NEEDED):
        if not _is_number(found.get(name)):
            raise RunError(f"{path}: {name!r} must be a number, got {found.get(name)!r}; {AGAIN}")
    if (found.get("task"), found.get("seed")) != (s.task, s.seed):
        raise RunError(
            f"{path}: expected task {s.task!r} and seed {s.seed}, got {found.get('task')!r} and "
            f"{found.get('seed')!r}; {AGAIN}"
        )
    return found


def read_figures(run: Run, evaluations: Sequence[Evaluation]) -> dict[str, float]:
    """Return the figures of those evaluations that were made, by name. RunError: damaged."""
    path = _path(run)
    found = _read_json(path)
    results = [] if found is None else found.get("evaluations")
    if not isinstance(results, list):
        raise RunError(f"{path}: 'evaluations' must be a list, got {results!r}; {AGAIN}")
    figures = {}
    for each in results:
        if not (isinstance(each, dict) and _is_number(each.get("figure"))):
            raise RunError(f"{path}: expected a 'figure' in {each!r}; {AGAIN}")
        conditions = {name: value for name, value in each.items() if name != "figure"}
        # By what decides it, not by name: a suite may have given a name to another evaluation.
        for evaluation in evaluations:
            if evaluation.conditions == conditions:
                figures[evaluation.name] = each["figure"]
    return figures


def write_figures(
    run: Run, evaluations: Sequence[Evaluation], figures: Mapping[str, float]
) -> None:
    """Write down the figures of evaluations, by name, each with what decides it."""
    results = [
        {**evaluation.conditions, "figure": figures[evaluation.name]}
        for evaluation in evaluations
        if evaluation.name in figures
    ]
    replace_json(_path(run), {"evaluations": results})


def _path(run: Run) -> Path:
    return run.folder / "evaluations.json"


def _read_json(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise RunError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise RunError(f"{path}: not valid JSON ({error}); {AGAIN}") from None
    if not isinstance(found, dict):
        raise RunError(f"{path}: expected names and values, got {found!r}; {AGAIN}")
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value)
