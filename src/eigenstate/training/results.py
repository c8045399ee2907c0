"""The results of a campaign: what was measured, and beside it what others published.

results.json and results.md say the same; the second is for people. Whatever stands there as
measured was read from a run folder; a run that is not finished is missing.
"""

import dataclasses
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from eigenstate.files import replace_json, replace_text
from eigenstate.training.campaign import Job
from eigenstate.training.outcomes import objective_for, read_figures, read_summary
from eigenstate.training.results_page import page
from eigenstate.training.suites import Cited, Row, Suite

KEPT = (
    "seconds", "threads", "first_train_loss", "last_train_loss", "tokens_per_second", "peak_memory",
    "machine", "versions", "finished",
)  # fmt: skip


def write_results(
    suite: Suite, jobs: Sequence[Job], folder: Path, *, command: str
) -> dict[str, Any]:
    """Read every run, replace results.json and results.md in `folder`, and return the results.

    `command` is the one that makes them. RunError: the files of a run are damaged.
    """
    results = collect(suite, jobs, command=command)
    folder.mkdir(parents=True, exist_ok=True)
    replace_json(folder / "results.json", results)
    replace_text(folder / "results.md", page(results))
    return results


def collect(suite: Suite, jobs: Sequence[Job], *, command: str) -> dict[str, Any]:
    """Return the results as plain values: for every row its figures, bars, citations and runs."""
    rows = []
    for row in suite.rows:
        rows.append(_row(row, [job for job in jobs if job.row is row]))
    dates = [run["finished"] for row in rows for run in row["runs"] if run["finished"]]
    return {
        "suite": suite.name,
        "about": suite.about,
        "command": command,
        "date": max(dates, default=None),
        "rows": rows,
    }


def _row(row: Row, jobs: list[Job]) -> dict[str, Any]:
    summaries = {job.run.settings.seed: read_summary(job.run) for job in jobs}
    again = {job.run.settings.seed: read_figures(job.run, row.evaluations) for job in jobs}
    objective = objective_for(jobs[0].run)
    tested: dict[int, float | None] = {
        seed: None if found is None else found[f"test_{objective.name}"]
        for seed, found in summaries.items()
    }
    sign = objective.sign
    at = "least" if sign > 0 else "most"
    bar = _bar(row.bar, at)
    figures = [_figure("test set", tested, sign=sign, bar=bar, cited=row.cited)]
    own = figures[0]["measured"]["mean"]
    for each in row.evaluations:
        judged = {
            seed: None if found is None else again[seed].get(each.name)
            for seed, found in summaries.items()
        }
        bar = (
            _bar(each.bar, at)
            or _bar(each.drop_at_most, "most", "drop")
            or _bar(each.drop_at_least, "least", "drop")
        )
        figure = _figure(each.name, judged, sign=sign, bar=bar, cited=each.cited, own=own)
        figures.append(figure | {"conditions": each.conditions})
    settings = jobs[0].run.settings
    return {
        "row": row.name,
        "preset": row.preset,
        "settings": dict(row.settings),
        "task": settings.task,
        "figure": objective.name,
        "figure_words": objective.words,
        "figures": figures,
        "parameters": next((s["parameters"] for s in summaries.values() if s), None),
        "epochs": settings.training.epochs,
        "runs": [_run(seed, found) for seed, found in summaries.items()],
    }


def _figure(
    judged_on: str,
    by_seed: dict[int, float | None],
    *,
    sign: int,
    bar: dict[str, Any] | None,
    cited: Sequence[Cited],
    own: float | None = None,
) -> dict[str, Any]:
    """What was measured under "measured", what others published under "cited".

    `own` is the mean on the row's own test set.
    """
    there = [figure for figure in by_seed.values() if figure is not None]
    mean = statistics.fmean(there) if there else None
    met = None
    # A bar is on the mean over all seeds: with some missing nothing can be said yet.
    if bar is not None and mean is not None and len(there) == len(by_seed):
        drop = None if own is None else sign * (own - mean)
        met = _is_met(bar, mean if bar["of"] == "figure" else drop)
    return {
        "judged_on": judged_on,
        "measured": {
            "mean": mean,
            "spread": statistics.stdev(there) if len(there) > 1 else None,
            "seeds": {str(seed): figure for seed, figure in by_seed.items()},
        },
        "bar": bar,
        "met": met,
        "cited": [dataclasses.asdict(each) for each in cited],
    }


def _bar(limit: float | None, at: str, of: str = "figure") -> dict[str, Any] | None:
    return None if limit is None else {"limit": limit, "at": at, "of": of}


def _is_met(bar: dict[str, Any], value: float | None) -> bool | None:
    if value is None:
        return None
    value = round(value, 9)  # 0.91 - 0.89 is a little more than 0.02
    return value >= bar["limit"] if bar["at"] == "least" else value <= bar["limit"]


def _run(seed: int, summary: dict[str, Any] | None) -> dict[str, Any]:
    """The facts of one run; None for what is missing or was not measured."""
    found = summary or {}
    state = "missing" if summary is None else "finished"
    kept = {name: found.get(name) for name in KEPT}
    return {"seed": seed, "state": state, "epoch_judged": found.get("epoch"), **kept}
