"""Labelled sequences of unequal length, and how they become a padded batch."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor
from torch.utils.data import Dataset

from eigenstate.data.base import Batch
from eigenstate.data.labels import check_labels


def pad(sequences: Sequence[Tensor], to: int | None = None) -> tuple[Tensor, Tensor]:
    """Stack sequences (L_i, ...) with zeros at their ends: (B, L, ...), lengths (B,).

    L is the longest of them, or `to`. ValueError: none is given, or one is longer than `to`.
    """
    if not sequences:
        raise ValueError("samples: expected at least one sequence, got none")
    lengths = torch.tensor([len(sequence) for sequence in sequences])
    longest = int(lengths.max())
    if to is not None and longest > to:
        raise ValueError(f"pad_to: expected at least the longest sequence, {longest}, got {to}")
    shape = (len(sequences), longest if to is None else to, *sequences[0].shape[1:])
    padded = sequences[0].new_zeros(shape)
    for row, sequence in zip(padded, sequences, strict=True):
        row[: len(sequence)] = sequence
    return padded, lengths


class Sequences(Dataset[tuple[Tensor, int]]):
    """A set of sequences (L_i, C), each with a label in 0 .. len(class_names) - 1.

    Values are kept as float32 whatever their type was. `set[i]` is (sequence (L_i, C), label).
    ValueError: an empty set or sequence, unequal channel counts, a value that is not finite,
    a label that is not a whole number in range; the message names the first bad index.
    """

    def __init__(
        self, sequences: Iterable[ArrayLike], labels: ArrayLike, *, class_names: Sequence[str]
    ) -> None:
        self.class_names = tuple(class_names)
        self.sequences = [_sequence(i, values) for i, values in enumerate(sequences)]
        if not self.sequences:
            raise ValueError("sequences: expected at least one sequence, got none")
        self.d_input = self.sequences[0].shape[1]
        for i, values in enumerate(self.sequences):
            if values.shape[1] != self.d_input:
                raise ValueError(
                    f"sequences[{i}]: expected {self.d_input} channels, as in sequences[0], "
                    f"got shape {tuple(values.shape)}"
                )
        self.labels = check_labels(labels, len(self.sequences), len(self.class_names))
        self.lengths = torch.tensor([len(values) for values in self.sequences])

    def __len__(self) -> int:
        return len(self.sequences)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        return self.sequences[index], int(self.labels[index])

    def collate(self, samples: Sequence[tuple[Tensor, int]], pad_to: int | None = None) -> Batch:
        """Pad (sequence (L_i, C), label) pairs."""
        u, lengths = pad([sequence for sequence, _ in samples], pad_to)
        return Batch(u, lengths, torch.tensor([label for _, label in samples]))

    def batch(self, indices: Iterable[int] | None = None) -> Batch:
        """Collate the sequences at `indices` (all of them by default) into one batch."""
        return self.collate([self[i] for i in (range(len(self)) if indices is None else indices)])

    def map(self, function: Callable[[Tensor], Tensor]) -> "Sequences":
        """Return the set with `function` applied to every sequence (L_i, C)."""
        values = [function(sequence) for sequence in self.sequences]
        return Sequences(values, self.labels, class_names=self.class_names)


def _sequence(index: int, values: ArrayLike) -> Tensor:
    """Check one sequence and return it as a float32 tensor of its own."""
    array = np.asarray(values)
    if array.dtype.kind not in "fiu":
        raise ValueError(f"sequences[{index}]: expected real numbers, got dtype {array.dtype}")
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(
            f"sequences[{index}]: expected shape (length, channels), both at least 1, "
            f"got {array.shape}"
        )
    array = array.astype(np.float32)
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        step, channel = bad[0]
        raise ValueError(
            f"sequences[{index}]: expected finite float32 values, got {array[step, channel]} at "
            f"step {step}, channel {channel}; fill or drop missing values first"
        )
    return torch.from_numpy(array)
