"""What is written down at the end of every epoch."""

import time
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
from pytorch_lightning.plugins.io import TorchCheckpointIO

from eigenstate.data import Standardizer
from eigenstate.training.checkpoints import read_checkpoint, write_checkpoint
from eigenstate.training.finite import check_parameters
from eigenstate.training.runs import Run


class EpochLog(pl.Callback):
    """Appends a row to metrics.csv and replaces checkpoint.pt, which holds the rows as well.

    The checkpoint also holds what the inputs were standardised by. Parameters that are not finite
    are never saved: the run stops instead, and the checkpoint before them stays.
    """

    def __init__(self, run: Run, standardizer: Standardizer) -> None:
        self.run = run
        self.standardizer = standardizer
        self.rows: list[dict[str, float]] = []
        self.started = 0.0

    def state_dict(self) -> dict[str, Any]:
        return {"rows": self.rows}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.rows = list(state_dict["rows"])

    def on_save_checkpoint(self, trainer: pl.Trainer, _module: Any, checkpoint: dict) -> None:
        checkpoint["standardizer"] = self.standardizer.state()

    def on_train_epoch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self.started = time.perf_counter()

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: Any) -> None:
        check_parameters(pl_module.model, step=trainer.global_step)
        measured = trainer.callback_metrics
        names = ("train_loss", "test_loss", "test_accuracy")
        self.rows.append(
            {
                "epoch": trainer.current_epoch + 1,
                **{name: float(measured[name]) for name in names},
                "seconds": round(time.perf_counter() - self.started, 3),
            }
        )
        self.run.write_metrics(self.rows)
        trainer.save_checkpoint(self.run.checkpoint)


class WholeFiles(TorchCheckpointIO):
    """Lets the trainer write checkpoints whole and read them without executing code."""

    def save_checkpoint(
        self, checkpoint: dict[str, Any], path: Any, storage_options: Any = None
    ) -> None:
        write_checkpoint(Path(path), checkpoint)

    def load_checkpoint(
        self, path: Any, map_location: Any = None, weights_only: bool | None = None
    ) -> dict[str, Any]:
        return read_checkpoint(Path(path))
