"""What is written down as a run goes on."""

import time
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
from pytorch_lightning.plugins.io import TorchCheckpointIO

from eigenstate.data import Standardizer
from eigenstate.training.checkpoints import read_checkpoint, write_checkpoint
from eigenstate.training.finite import check_parameters
from eigenstate.training.runs import Run

# Seconds of training after which checkpoint.pt is replaced in the middle of an epoch.
SAVE_EVERY = 60.0


class EpochLog(pl.Callback):
    """Appends a row to metrics.csv and replaces checkpoint.pt, which holds the rows as well.

    The checkpoint also holds what the inputs were standardised by, and what the epoch's mean loss
    is made of. `rates` are the tokens (samples that are no pads) learnt from in a second, epoch by
    epoch. An epoch that takes long is saved every minute, too. The best epoch on what is watched is
    in best.pt, if such a one is to be judged. Parameters that are not finite are never saved: the
    run stops instead, and the checkpoint before them stays.
    """

    def __init__(self, run: Run, standardizer: Standardizer | None) -> None:
        self.run = run
        self.standardizer = standardizer
        self.rows: list[dict[str, float]] = []
        self.losses, self.seen, self.seconds = 0.0, 0, 0.0
        self.rates: list[float] = []
        self.tokens = 0
        self.begun = self.saved = 0.0

    def state_dict(self) -> dict[str, Any]:
        seconds = self.seconds + time.perf_counter() - self.begun if self.seen else 0.0
        return {
            "rows": self.rows,
            "losses": self.losses,
            "seen": self.seen,
            "seconds": seconds,
            "rates": self.rates,
            "tokens": self.tokens,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.rows = list(state_dict["rows"])
        self.losses, self.seen = state_dict["losses"], state_dict["seen"]
        self.seconds = state_dict["seconds"]
        # Runs begun before these were kept go on without.
        self.rates, self.tokens = list(state_dict.get("rates", [])), state_dict.get("tokens", 0)

    def on_save_checkpoint(self, trainer: pl.Trainer, _module: Any, checkpoint: dict) -> None:
        checkpoint["standardizer"] = self.standardizer and self.standardizer.state()
        checkpoint["epochs"] = len(self.rows)

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        # A run that goes on in the middle of an epoch is never told that an epoch starts.
        self.begun = self.saved = time.perf_counter()

    def on_train_epoch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self.begun = self.saved = time.perf_counter()

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        size = len(batch.labels)
        self.losses += float(outputs["loss"]) * size
        self.seen += size
        self.tokens += int(batch.lengths.sum())
        last = batch_idx + 1 >= trainer.num_training_batches
        if last:  # before the validation
            self.rates.append(self.tokens / (self.seconds + time.perf_counter() - self.begun))
            self.tokens = 0
        elif time.perf_counter() - self.saved >= SAVE_EVERY:
            check_parameters(pl_module.model, step=trainer.global_step)
            trainer.save_checkpoint(self.run.checkpoint)
            self.saved = time.perf_counter()

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: Any) -> None:
        check_parameters(pl_module.model, step=trainer.global_step)
        measured = trainer.callback_metrics
        names = [f"{pl_module.watched}_{name}" for name in ("loss", pl_module.objective.name)]
        self.rows.append(
            {
                "epoch": trainer.current_epoch + 1,
                "train_loss": self.losses / self.seen,
                **{name: float(measured[name]) for name in names},
                "seconds": round(self.seconds + time.perf_counter() - self.begun, 3),
            }
        )
        self.losses, self.seen, self.seconds = 0.0, 0, 0.0
        self.run.write_metrics(self.rows)
        if self.run.settings.training.select == "best":
            best = best_row(self.rows, names[1], pl_module.objective.sign)
            if best is self.rows[-1]:
                trainer.save_checkpoint(self.run.best)
        trainer.save_checkpoint(self.run.checkpoint)


def best_row(rows: list[dict[str, float]], name: str, sign: int) -> dict[str, float]:
    """Return the row whose figure is best; the first of equals."""
    return max(rows, key=lambda row: sign * row[name])


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
