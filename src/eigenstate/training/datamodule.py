"""The trainer's view of a task's data."""

import pytorch_lightning as pl
from torch.utils.data import DataLoader

from eigenstate.data import Splits, Task
from eigenstate.training.batches import (
    Collate,
    ShuffledLoader,
    lengths_known,
    ordered_batches,
)
from eigenstate.training.config import RunSettings


class SplitsModule(pl.LightningDataModule):
    """Shuffled training batches, and what is watched meanwhile: validation, or else test data."""

    def __init__(self, splits: Splits, *, task: Task, settings: RunSettings) -> None:
        super().__init__()
        self.splits = splits
        self.task = task
        self.settings = settings

    @property
    def steps_per_epoch(self) -> int:
        return len(self.train_dataloader())

    def train_dataloader(self) -> DataLoader:
        data, training = self.splits.train, self.settings.training
        return ShuffledLoader(
            data,
            training.batch_size,
            seed=self.settings.seed,
            drop_last=training.drop_last,
            steps=training.epoch_steps,
            lengths=lengths_known(data) if training.by_length else None,
            collate=Collate(data, task=self.task, model=self.settings.model),
        )

    def val_dataloader(self) -> DataLoader:
        data = self.splits.validation or self.splits.test
        collate = Collate(data, task=self.task, model=self.settings.model)
        return ordered_batches(data, self.settings.training.batch_size, collate)
