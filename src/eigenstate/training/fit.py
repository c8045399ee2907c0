"""Training a run, from the start or from where it stopped."""

import logging
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import pytorch_lightning as pl
import torch
from torch import nn

from eigenstate.data import Splits, Task
from eigenstate.files import WriteError, remove_leftovers
from eigenstate.inspection.plots import save_learning_curve
from eigenstate.training.batches import check_splits
from eigenstate.training.datamodule import SplitsModule
from eigenstate.training.free_memory import FreeMemory
from eigenstate.training.log import EpochLog, WholeFiles, best_row
from eigenstate.training.machine import PeakMemory
from eigenstate.training.objectives import Objective
from eigenstate.training.progress import ProgressLine
from eigenstate.training.runs import Run, RunError
from eigenstate.training.summary import summarise
from eigenstate.training.tasks import SequenceTask
from eigenstate.training.trained import (
    fit_standardizer,
    load_splits,
    load_trained,
    new_model,
    objective_of,
    prepared,
    score,
)


class Interrupted(Exception):
    """Training was told to stop (Ctrl-C or SIGTERM); the last checkpoint is whole."""

    def __init__(self, place: str, signal_number: int) -> None:
        super().__init__(f"interrupted {place}")
        self.exit_code = 128 + signal_number


def train(run: Run, splits: Splits | None = None, *, progress: bool = True) -> dict[str, Any]:
    """Train `run` to its last epoch and return the summary that metrics.json then holds.

    A run that has a checkpoint goes on from it and ends as if it had never stopped. Test figures
    are those of the last epoch, or of the epoch best on validation data if settings say so.
    `splits` are the data of the run's task, where they are in memory already. The global random
    state is left as it was.
    Interrupted: Ctrl-C or SIGTERM. NonFiniteError: a loss, gradient or parameter was not finite.
    RunError, CheckpointError: the run folder cannot be used. WriteError: a file could not be
    written.
    """
    s, memory = run.settings, PeakMemory()
    checkpoint = run.checkpoint if run.checkpoint.exists() else None
    remove_leftovers(run.folder)
    with torch.random.fork_rng(devices=[]), _threads(s.training.threads), _no_denormals(), _quiet():
        if checkpoint is not None:
            load_trained(run)  # whatever is wrong with it is said now, and clearly
        splits = load_splits(run) if splits is None else splits
        torch.manual_seed(s.seed)
        task, model = new_model(run)
        standardizer = fit_standardizer(task, splits)
        splits = prepared(splits, standardizer)
        module, data = _module(run, model, task, splits)
        log = EpochLog(run, standardizer)
        shown = [ProgressLine(s, splits=splits, log=log)] if progress else []
        callbacks = [log, FreeMemory(), *shown]
        _fit(_trainer(s.training.epochs, callbacks), module, data, checkpoint)
        row = _judged(run, log.rows, splits, module.objective)
        summary = summarise(run, row, log.rows, model) | {
            "tokens_per_second": round(median(log.rates)) if log.rates else None,
            "peak_memory": memory.read(),
        }
    run.write_summary(summary)
    _draw(run, log.rows, module.objective)
    return summary


def _module(
    run: Run, model: nn.Module, task: Task, splits: Splits
) -> tuple[SequenceTask, SplitsModule]:
    """Return what is learnt and what it is learnt from. RunError: it asks for what is not there."""
    s = run.settings
    try:
        check_splits(s, splits)
    except ValueError as error:
        raise RunError(f"{run.config}: {error}") from None
    watched = "test" if splits.validation is None else "validation"
    data = SplitsModule(splits, task=task, settings=s)
    module = SequenceTask(
        model,
        objective_of(run),
        settings=s.training,
        steps_per_epoch=data.steps_per_epoch,
        seed=s.seed,
        watched=watched,
    )
    return module, data


def _trainer(epochs: int, callbacks: list[pl.Callback]) -> pl.Trainer:
    return pl.Trainer(
        accelerator="cpu",
        max_epochs=epochs,
        callbacks=callbacks,
        plugins=[WholeFiles()],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
    )


def _judged(
    run: Run, rows: list[dict[str, float]], splits: Splits, objective: Objective
) -> dict[str, float]:
    """Return the row of the epoch to be judged, with the test figures if it lacks them."""
    if splits.validation is None:
        return rows[-1]
    row, name = rows[-1], f"validation_{objective.name}"
    if run.settings.training.select == "best":
        row = best_row(rows, name, objective.sign)
    result = score(run, load_trained(run).model, splits.test)
    return {**row, "test_loss": result.loss, f"test_{objective.name}": result.figure}


def _fit(
    trainer: pl.Trainer, module: pl.LightningModule, data: SplitsModule, checkpoint: Path | None
) -> None:
    """Fit, from the checkpoint if there is one; the trainer's SystemExit becomes Interrupted."""
    in_main = threading.current_thread() is threading.main_thread()
    on_interrupt = signal.getsignal(signal.SIGINT)
    try:
        trainer.fit(module, datamodule=data, ckpt_path=checkpoint)
    except SystemExit:
        number = signal.SIGTERM if trainer.received_sigterm else signal.SIGINT
        place = f"in epoch {trainer.current_epoch + 1} of {trainer.max_epochs}"
        raise Interrupted(place, number) from None
    finally:
        if in_main:  # after Ctrl-C the trainer leaves the signal ignored
            signal.signal(signal.SIGINT, on_interrupt)


def _draw(run: Run, rows: list[dict[str, float]], objective: Objective) -> None:
    try:
        save_learning_curve(rows, run.picture, title=_title(run, rows, objective))
    except (ImportError, WriteError) as error:
        print(f"There is no learning curve: {error}", file=sys.stderr)


def _title(run: Run, rows: list[dict[str, float]], objective: Objective) -> str:
    last = rows[-1]
    watched = "validation" if "validation_loss" in last else "test"
    figure = objective.text(last[f"{watched}_{objective.name}"])
    return f"{run.settings.task}: {watched} {objective.words} {figure} after {len(rows)} epochs"


@contextmanager
def _threads(count: int | None) -> Iterator[None]:
    """Compute on `count` threads: sums, and so results, depend slightly on how many there are."""
    before = torch.get_num_threads()
    torch.set_num_threads(count or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def _no_denormals() -> Iterator[None]:
    """Take numbers below 1e-38 for 0: once a batch is learnt its gradients get there, and with them
    a processor is forty times slower."""
    before = bool(torch.tensor(1e-40, dtype=torch.float32) * 1 == 0)
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(before)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the trainer's advertisements and its advice on worker processes to itself."""
    loggers = [logging.getLogger(name) for name in ("pytorch_lightning", "lightning_fabric")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            for words in ("does not have many workers", "LeafSpec", "GPU available but not used"):
                warnings.filterwarnings("ignore", message=f".*{words}.*")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
