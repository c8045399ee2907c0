"""All runs of a suite in one folder: what is there, what is left to do, and doing it."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eigenstate.data.decimation import Decimated
from eigenstate.files import remove_leftovers
from eigenstate.layers.checks import check_choice
from eigenstate.training.config import RunSettings
from eigenstate.training.fit import train
from eigenstate.training.outcomes import read_figures, read_summary, write_figures
from eigenstate.training.own_facts import any_task
from eigenstate.training.runs import Run, RunError
from eigenstate.training.suites import Evaluation, Row, Suite
from eigenstate.training.trained import Score, load_splits, load_trained, prepared, score

EVERY_TASK = ""


@dataclass(frozen=True)
class Job:
    """One row with one seed. `chosen`: it is to be trained now; else only what is there counts."""

    row: Row
    run: Run
    chosen: bool

    @property
    def name(self) -> str:
        return f"{self.row.name}, seed {self.run.settings.seed}"

    @property
    def state(self) -> str:
        """What is there: "finished", "trained" but not fully judged, "stopped", or "new"."""
        if read_summary(self.run) is None:
            return "stopped" if self.run.checkpoint.exists() else "new"
        left = len(read_figures(self.run, self.row.evaluations)) < len(self.row.evaluations)
        return "trained" if left else "finished"


def plan(
    suite: Suite,
    folder: Path,
    *,
    seeds: int,
    only: Collection[str] = (),
    data: Mapping[str, str] | None = None,
) -> list[Job]:
    """Return every run of a suite, each in folder/ROW/seed-K, and train none.

    `only` names the rows to be trained. `data` are the places of the files that tasks read, by
    task; EVERY_TASK stands for those not named.
    ValueError: a row or task that is not there, files that are missing. RunError: a run in
    `folder` is damaged or has other settings than the suite's.
    """
    data = dict(data or {})
    for name in only:
        suite.row(name)
    reading = {
        settings.task
        for settings in (row.run_settings(0, None) for row in suite.rows)
        if any_task(settings.task).loader is None
    }
    _check_data(suite, data, reading)
    jobs = []
    for row in suite.rows:
        chosen = not only or row.name in only
        for seed in range(seeds if row.seeds is None else min(seeds, row.seeds)):
            settings = row.run_settings(seed, None)
            if settings.task in reading and chosen:
                place = data.get(settings.task, data.get(EVERY_TASK))
                settings = row.run_settings(seed, place)
            run = _run(folder / row.name / f"seed-{seed}", settings)
            jobs.append(Job(row, run, chosen))
    _check_files(jobs, reading)
    return jobs


def places(jobs: Iterable[Job]) -> dict[str, str]:
    """Return where the files of each task are, as `plan` takes them."""
    found = {}
    for job in jobs:
        settings, below = job.run.settings, job.row.data
        if settings.data is not None:
            folder = Path(settings.data)
            place = folder if below is None else folder.parents[len(Path(below).parts) - 1]
            found[settings.task] = str(place)
    return found


def carry_out(job: Job, *, progress: bool = True) -> None:
    """Train a run to its end, from its checkpoint if it has one, and judge it in every way asked.

    What is done already is not done again. Errors are those of `train`.
    """
    run = job.run
    if not run.config.exists():
        remove_leftovers(run.folder)
        Run.create(run.settings, run.folder)
    if read_summary(run) is None:
        train(run, progress=progress)
    judged = read_figures(run, job.row.evaluations)
    for evaluation in job.row.evaluations:
        if evaluation.name not in judged:
            judged[evaluation.name] = judge(run, evaluation).figure
            write_figures(run, job.row.evaluations, judged)


def judge(run: Run, evaluation: Evaluation) -> Score:
    """Judge what a run has learnt on a test set at another rate, or of another task."""
    trained = load_trained(run)
    test = prepared(load_splits(run, evaluation.task), trained.standardizer).test
    if evaluation.decimate > 1:
        test = Decimated(test, evaluation.decimate, filtered=evaluation.filtered)
    return score(run, trained.model, test, dt=evaluation.dt)


def _run(folder: Path, settings: RunSettings) -> Run:
    """Return the run in `folder`, or the one to be made there. RunError: another one is there."""
    if not (folder / "config.yaml").exists():
        found = [path.name for path in folder.glob("*") if not path.name.startswith(".")]
        if found:
            raise RunError(f"{folder}: has {found[0]} but no config.yaml; remove that folder")
        return Run(folder, settings)
    run = Run.open(folder)
    found, asked = _flat(run.settings.to_dict()), _flat(settings.to_dict())
    if settings.data is None:
        asked["data"] = found["data"]
    for name in sorted(found | asked):
        if found.get(name) != asked.get(name):
            raise RunError(
                f"{run.config}: {name} is {found.get(name)!r} there, but {asked.get(name)!r} is "
                "asked for; remove that folder, or give another one by --out"
            )
    return run


def _flat(settings: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    flat = {}
    for name, value in settings.items():
        inner = isinstance(value, Mapping)
        flat |= _flat(value, f"{before}{name}.") if inner else {before + name: value}
    return flat


def _check_data(suite: Suite, data: Mapping[str, str], reading: Collection[str]) -> None:
    """Raise ValueError for a place of files that nobody asked for."""
    if data and not reading:
        raise ValueError(f"data: the tasks of {suite.name!r} bring their own; leave it out")
    for task in data:
        if task != EVERY_TASK:
            check_choice("the TASK of --data.TASK", task, sorted(reading))


def _check_files(jobs: list[Job], reading: Collection[str]) -> None:
    """Raise ValueError if files that have yet to be read are not there."""
    # Looks at every run, chosen or not: what is damaged is said before anything is trained.
    settings = [job.run.settings for job in jobs if job.state != "finished" and job.chosen]
    waiting = [(s.task, s.data) for s in settings if s.task in reading]
    missing = list(dict.fromkeys(task for task, place in waiting if place is None))
    if missing:
        flags = " ".join(f"--data.{task} PATH" for task in missing)
        raise ValueError(
            f"data: {', '.join(missing)} read files: give {flags}, or one --data PATH for all, or "
            "choose other rows with --only"
        )
    for task, place in waiting:
        if not Path(str(place)).exists():
            raise ValueError(f"data of {task}: {place}: there is no such file or folder")
