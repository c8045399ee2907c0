"""One line that says how a run is going."""

import shutil
import sys
from typing import Any

import pytorch_lightning as pl
from tqdm import tqdm

from eigenstate.data import Splits
from eigenstate.training.config import RunSettings
from eigenstate.training.log import EpochLog

BAR = "{desc}  {bar:24}"


class ProgressLine(pl.Callback):
    """A bar for the whole run on a terminal; ten plain lines where nobody watches."""

    def __init__(self, settings: RunSettings, *, splits: Splits, log: EpochLog) -> None:
        self.settings = settings
        self.record = log
        self.splits = splits
        self.epochs = settings.training.epochs
        self.watched = sys.stderr.isatty()
        self.bar: tqdm | None = None

    def on_train_start(self, trainer: pl.Trainer, pl_module: Any) -> None:
        size = sum(parameter.numel() for parameter in pl_module.parameters())
        model = type(pl_module.model).__name__.lower()
        print(
            f"{self.settings.task}: {len(self.splits.train):,} sequences to learn from, "
            f"{len(self.splits.test):,} to test on\n"
            f"{self.settings.model.layer.upper()} {model}: {size:,} parameters",
            file=sys.stderr,
        )
        self.bar = tqdm(
            total=int(trainer.estimated_stepping_batches),
            initial=trainer.global_step,
            desc=f"epoch {trainer.current_epoch}/{self.epochs}",
            bar_format=BAR,  # the first steps, which compile kernels, foretell nothing
            ncols=min(100, shutil.get_terminal_size().columns),
            disable=not self.watched,
            file=sys.stderr,
        )

    def on_train_batch_end(self, trainer: pl.Trainer, *_: object) -> None:
        if self.bar is not None:
            self.bar.update(trainer.global_step - self.bar.n)

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: Any) -> None:
        epoch = trainer.current_epoch + 1
        row, objective = self.record.rows[-1], pl_module.objective
        figure = objective.text(row[f"{pl_module.watched}_{objective.name}"])
        text = (
            f"epoch {epoch:>{len(str(self.epochs))}}/{self.epochs}"
            f"  loss {row['train_loss']:.4f}  {pl_module.watched} {objective.words} {figure:>7}"
        )
        if self.bar is not None and self.watched:
            self.bar.bar_format = BAR + "  {remaining} left"
            self.bar.set_description_str(text)
        elif epoch * 10 // self.epochs > (epoch - 1) * 10 // self.epochs:
            print(text, file=sys.stderr, flush=True)

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self._close()

    def on_exception(self, trainer: pl.Trainer, *_: object) -> None:
        self._close()

    def _close(self) -> None:
        if self.bar is not None:
            self.bar.close()
            self.bar = None
