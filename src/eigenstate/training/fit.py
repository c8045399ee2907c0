"""Training a run, from the start or from where it stopped."""

import logging
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch

from eigenstate.data import Splits, Standardizer
from eigenstate.files import remove_leftovers
from eigenstate.inspection.plots import save_learning_curve
from eigenstate.training.datamodule import SplitsModule
from eigenstate.training.log import EpochLog, WholeFiles
from eigenstate.training.progress import ProgressLine
from eigenstate.training.runs import Run
from eigenstate.training.summary import summarise
from eigenstate.training.tasks import ClassificationTask
from eigenstate.training.trained import load_trained, new_model


class Interrupted(Exception):
    """Training was told to stop (Ctrl-C or SIGTERM); the last checkpoint is whole."""

    def __init__(self, place: str, signal_number: int) -> None:
        super().__init__(f"interrupted {place}")
        self.exit_code = 128 + signal_number


def train(run: Run, *, progress: bool = True) -> dict[str, Any]:
    """Train `run` to its last epoch and return the summary that metrics.json then holds.

    A run that has a checkpoint goes on from it and ends as if it had never stopped. Test figures
    are those of the last epoch. The global random state is left as it was.
    Interrupted: Ctrl-C or SIGTERM. NonFiniteError: a loss, gradient or parameter was not finite.
    RunError, CheckpointError: the run folder cannot be used.
    """
    s = run.settings
    checkpoint = run.checkpoint if run.checkpoint.exists() else None
    remove_leftovers(run.folder)
    with torch.random.fork_rng(devices=[]), _threads(s.training.threads), _quiet():
        if checkpoint is not None:
            load_trained(run)  # whatever is wrong with it is said now, and clearly
        torch.manual_seed(s.seed)
        task, model = new_model(run)
        splits = task.load(s.data)
        standardizer = Standardizer.fit(splits.train)
        splits = Splits(*map(standardizer.apply, splits))
        log = EpochLog(run, standardizer)
        trainer = pl.Trainer(
            accelerator="cpu",
            max_epochs=s.training.epochs,
            callbacks=[log, ProgressLine(s, splits)] if progress else [log],
            plugins=[WholeFiles()],
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            num_sanity_val_steps=0,
        )
        module = ClassificationTask(model, s.training, seed=s.seed)
        data = SplitsModule(splits, batch_size=s.training.batch_size, seed=s.seed)
        _fit(trainer, module, data, checkpoint)
        summary = summarise(run, log.rows, model)
    run.write_summary(summary)
    _draw(run, log.rows)
    return summary


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


def _draw(run: Run, rows: list[dict[str, float]]) -> None:
    last = rows[-1]
    title = f"{run.settings.task}: {last['test_accuracy']:.2%} of the test set right"
    try:
        save_learning_curve(rows, run.picture, title=f"{title} after {last['epoch']} epochs")
    except ImportError as error:
        print(f"{run.picture} was not drawn: {error}", file=sys.stderr)


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
