"""Batches in an order that depends on the seed and the epoch alone."""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Sampler

from eigenstate.data import Batch, Samples

ORDER, STEP = 0, 1  # what random numbers are for


def derived_seed(seed: int, purpose: int, index: int) -> int:
    """Return the seed of one epoch's order or of one step, unrelated to all others of the run."""
    sequence = np.random.SeedSequence([seed, purpose, index])
    return int(sequence.generate_state(1, np.uint64)[0] >> 1)


class EpochSampler(Sampler[int]):
    """A new order of `size` samples for every epoch, a function of (seed, epoch).

    A resumed run therefore sees the batches that an uninterrupted one would have seen; the trainer
    calls `set_epoch` by itself.
    """

    def __init__(self, size: int, seed: int) -> None:
        self.size = size
        self.seed = seed
        self.epoch = 0

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def __iter__(self) -> Iterator[int]:
        generator = torch.Generator().manual_seed(derived_seed(self.seed, ORDER, self.epoch))
        return iter(torch.randperm(self.size, generator=generator).tolist())

    def __len__(self) -> int:
        return self.size


def shuffled_batches(data: Samples, batch_size: int, seed: int) -> DataLoader:
    """Return batches of `data` in a new order every epoch."""
    sampler = EpochSampler(len(data), seed)
    return DataLoader(data, batch_size, sampler=sampler, collate_fn=data.collate)


def ordered_batches(data: Samples, batch_size: int = 256) -> DataLoader:
    """Return batches of `data` in its own order."""
    return DataLoader(data, batch_size, collate_fn=data.collate)


def lengths_of(batch: Batch) -> Tensor | None:
    """Return the lengths, or None if no row is padded: a layer is faster when it need not look."""
    return batch.lengths if bool((batch.lengths < batch.u.shape[1]).any()) else None
