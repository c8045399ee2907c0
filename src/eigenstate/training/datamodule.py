"""The trainer's view of a task's data."""

import pytorch_lightning as pl
from torch.utils.data import DataLoader

from eigenstate.data import Splits
from eigenstate.training.batches import ordered_batches, shuffled_batches


class SplitsModule(pl.LightningDataModule):
    """Shuffled training batches, and the test set to watch (nothing is chosen by it)."""

    def __init__(self, splits: Splits, *, batch_size: int, seed: int = 0) -> None:
        super().__init__()
        self.splits = splits
        self.batch_size = batch_size
        self.seed = seed

    def train_dataloader(self) -> DataLoader:
        return shuffled_batches(self.splits.train, self.batch_size, self.seed)

    def val_dataloader(self) -> DataLoader:
        return ordered_batches(self.splits.test)
