"""Batches in an order that depends on the seed and the epoch alone."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Sampler

from eigenstate.data import Batch, Samples, Splits, Task
from eigenstate.training.config import ModelSettings, RunSettings

ORDER, STEP = 0, 1  # what random numbers are for
ALIKE = 16  # batches
LARGEST, TOGETHER = 256, 1 << 14  # sequences, and samples, judged at once


def derived_seed(seed: int, purpose: int, index: int) -> int:
    """Return the seed of one epoch's order or of one step, unrelated to all others of the run."""
    sequence = np.random.SeedSequence([seed, purpose, index])
    return int(sequence.generate_state(1, np.uint64)[0] >> 1)


class EpochSampler(Sampler[int]):
    """A new order of `size` samples for every epoch, a function of (seed, epoch).

    An epoch that draws more of them goes on with the next pass, in another order; a batch between
    two passes may hold a sample twice. A resumed run sees the batches that an uninterrupted one
    would have seen; the trainer calls `set_epoch` by itself. `start` is where in the order to
    begin. With `lengths`, samples that would fall into the next `ALIKE` batches are dealt out to
    them by length.
    """

    def __init__(
        self,
        size: int,
        seed: int,
        *,
        drawn: int | None = None,
        lengths: Tensor | None = None,
        batch_size: int = 1,
    ) -> None:
        self.size = size
        self.drawn = size if drawn is None else drawn
        self.seed = seed
        self.lengths = lengths
        self.batch_size = batch_size
        self.epoch = 0
        self.start = 0

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def __iter__(self) -> Iterator[int]:
        generator = torch.Generator().manual_seed(derived_seed(self.seed, ORDER, self.epoch))
        passes = -(-self.drawn // self.size)
        order = [torch.randperm(self.size, generator=generator) for _ in range(passes)]
        order = torch.cat(order)[: self.drawn]
        if self.lengths is not None:
            order = self._by_length(order, self.lengths, generator)
        return iter(order[self.start :].tolist())

    def _by_length(self, order: Tensor, lengths: Tensor, generator: torch.Generator) -> Tensor:
        # Those left over for a smaller batch, which stays last, are of any length.
        full = len(order) - len(order) % self.batch_size
        batches = [
            batch
            for group in order[:full].split(ALIKE * self.batch_size)
            for batch in group[lengths[group].argsort(stable=True)].split(self.batch_size)
        ]
        shuffled = torch.randperm(len(batches), generator=generator).tolist()
        return torch.cat([*(batches[i] for i in shuffled), order[full:]])

    def __len__(self) -> int:
        return self.drawn


class ShuffledLoader(DataLoader):
    """Batches in a new order every epoch, which can go on in the middle of one.

    Its state is the number of batches of the epoch that it has handed out; the trainer keeps it in
    the checkpoint. An epoch is one pass over the data, or so many `steps`, be they a part of a pass
    or several. With the `lengths` of all sequences those of about one length share a batch, which
    then has few pads.
    """

    def __init__(
        self,
        data: Samples,
        batch_size: int,
        *,
        seed: int,
        drop_last: bool,
        collate: "Collate",
        steps: int | None = None,
        lengths: Tensor | None = None,
    ) -> None:
        in_a_pass = len(data) // batch_size if drop_last else -(-len(data) // batch_size)
        self.steps = in_a_pass if steps is None else steps
        self.order = EpochSampler(
            len(data),
            seed,
            drawn=self.steps * batch_size if self.steps > in_a_pass else None,
            lengths=lengths,
            batch_size=batch_size,
        )
        self.done = 0
        super().__init__(
            data,  # pyright: ignore[reportArgumentType]  (torch asks for its own class)
            batch_size,
            sampler=self.order,
            drop_last=drop_last,
            collate_fn=collate,
        )

    def __len__(self) -> int:
        return self.steps

    def state_dict(self) -> dict[str, int]:
        return {"done": self.done}

    def load_state_dict(self, state_dict: dict[str, int]) -> None:
        self.done = state_dict["done"]

    def __iter__(self) -> Iterator[Batch]:
        self.order.start = self.done * (self.batch_size or 1)
        for batch in islice(super().__iter__(), len(self) - self.done):
            self.done = (self.done + 1) % len(self)
            yield batch


class Collate:
    """How samples become a batch: padded as the model wants it, with or without their times."""

    def __init__(self, data: Samples, *, task: Task, model: ModelSettings) -> None:
        self.data = data
        # Published padding is an input like any other, so there is as much of it as published.
        published = model.block_options.get("padding") == "published"
        self.pad_to = task.max_length if published else None
        self.max_length = task.max_length
        self.use_dt = model.use_dt

    def __call__(self, samples: list[Any]) -> Batch:
        batch = self.data.collate(samples, self.pad_to)
        return batch if self.use_dt else batch._replace(dt=None)


def ordered_batches(data: Samples, batch_size: int, collate: Collate) -> DataLoader:
    """Return batches of `data` in its own order, to judge by.

    They have `batch_size` sequences, or more where sequences are short: without gradients
    a small batch is mostly overhead.
    """
    batch_size = max(batch_size, min(LARGEST, TOGETHER // collate.max_length))
    return DataLoader(data, batch_size, collate_fn=collate)  # pyright: ignore[reportArgumentType]


def lengths_known(data: Samples) -> Tensor | None:
    """Return the length of each sequence of a set that tells them."""
    return getattr(data, "lengths", None)


def lengths_of(batch: Batch) -> Tensor | None:
    """Return the lengths, or None if no row is padded: a layer is faster when it need not look."""
    return batch.lengths if bool((batch.lengths < batch.u.shape[1]).any()) else None


def output(model: nn.Module, batch: Batch) -> Any:
    """Return what `model` makes of a batch, without its state."""
    return model(batch.u, dt=batch.dt, lengths=lengths_of(batch))[0]


def check_splits(settings: RunSettings, splits: Splits) -> None:
    """Raise ValueError if the training cannot be done with these data."""
    s, size = settings.training, len(splits.train)
    if s.select == "best" and splits.validation is None:
        raise ValueError(
            f"training.select 'best' needs validation data, and the task {settings.task!r} has "
            "none; use 'last'"
        )
    lengths = lengths_known(splits.train)
    if s.by_length and (lengths is None or bool((lengths == lengths[:1]).all())):
        raise ValueError(
            f"training.by_length: the sequences of {settings.task!r} are of one length, or of "
            "lengths that are known only when they are read; leave it out"
        )
    if s.drop_last and size < s.batch_size:
        raise ValueError(
            f"training.drop_last leaves nothing of {size} sequences in batches of {s.batch_size}; "
            "make training.batch_size smaller"
        )
