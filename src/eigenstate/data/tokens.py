"""Token sequences of unequal length, and pairs of them, kept in one compact array."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor
from torch.utils.data import Dataset

from eigenstate.data.base import Batch, Task
from eigenstate.data.labels import check_labels
from eigenstate.data.prepared import Prepared
from eigenstate.data.sequences import pad
from eigenstate.data.vocabulary import Vocabulary


class Ragged:
    """Rows of unequal length in one array, which may be a memory map that stays on disk.

    values (sum of lengths,) whole numbers, lengths (N,). ValueError: other shapes or types, a row
    without values, lengths that do not add up to the values.
    """

    def __init__(self, values: np.ndarray, lengths: ArrayLike) -> None:
        rows = np.asarray(lengths)
        if values.ndim != 1 or values.dtype.kind not in "iu":
            raise ValueError(
                f"values: expected whole numbers of shape (total,), got {values.dtype} of shape "
                f"{values.shape}"
            )
        if rows.ndim != 1 or rows.dtype.kind not in "iu" or (rows < 1).any():
            raise ValueError("lengths: expected whole numbers of at least 1, one for each row")
        if rows.sum() != len(values):
            raise ValueError(f"lengths: expected a sum of {len(values):,}, got {rows.sum():,}")
        self.values = values
        self.lengths = torch.from_numpy(rows.astype(np.int64))
        self._starts = np.concatenate([[0], np.cumsum(rows, dtype=np.int64)])

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, index: int) -> Tensor:
        """Return row `index` as int64 (length,)."""
        index = range(len(self))[index]  # from the end if negative; IndexError beyond
        row = self.values[self._starts[index] : self._starts[index + 1]]
        return torch.from_numpy(row.astype(np.int64))


class TokenSequences(Dataset[tuple[Tensor, int]]):
    """Labelled token sequences. `set[i]` is (tokens int64 (L_i,), label).

    ValueError: labels that do not fit the rows or the class names.
    """

    def __init__(
        self,
        tokens: Ragged,
        labels: ArrayLike,
        *,
        vocabulary: Vocabulary,
        class_names: Sequence[str],
    ) -> None:
        self.tokens = tokens
        self.vocabulary = vocabulary
        self.class_names = tuple(class_names)
        self.labels = check_labels(labels, len(tokens), len(self.class_names))

    @property
    def lengths(self) -> Tensor:
        return self.tokens.lengths

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        return self.tokens[index], int(self.labels[index])

    def collate(self, samples: Sequence[tuple[Tensor, int]], pad_to: int | None = None) -> Batch:
        """Pad with 0: u int64 (B, L), L the longest of the samples or `pad_to`."""
        u, lengths = pad([tokens for tokens, _ in samples], pad_to)
        return Batch(u, lengths, torch.tensor([label for _, label in samples]))


class TokenPairs(Dataset[tuple[Tensor, Tensor, int]]):
    """Labelled pairs of token sequences. `set[i]` is (first (L_i,), second (M_i,), label).

    ValueError: unequal numbers of firsts and seconds, labels that do not fit.
    """

    def __init__(
        self,
        first: Ragged,
        second: Ragged,
        *,
        labels: ArrayLike,
        vocabulary: Vocabulary,
        class_names: Sequence[str],
    ) -> None:
        if len(first) != len(second):
            raise ValueError(f"second: expected {len(first)} rows, as in first, got {len(second)}")
        self.first, self.second = first, second
        self.vocabulary = vocabulary
        self.class_names = tuple(class_names)
        self.labels = check_labels(labels, len(first), len(self.class_names))

    def __len__(self) -> int:
        return len(self.first)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor, int]:
        return self.first[index], self.second[index], int(self.labels[index])

    def collate(
        self, samples: Sequence[tuple[Tensor, Tensor, int]], pad_to: int | None = None
    ) -> Batch:
        """Stack all firsts, then their seconds: u int64 (2B, L), lengths (2B,), labels (B,)."""
        documents = [first for first, _, _ in samples] + [second for _, second, _ in samples]
        u, lengths = pad(documents, pad_to)
        return Batch(u, lengths, torch.tensor([label for _, _, label in samples]))


def stored_tokens(task: Task, stored: Prepared, part: str) -> TokenSequences:
    """Return the sequences of one part of a task as its reader has prepared them."""
    arrays = stored.arrays
    return TokenSequences(
        Ragged(arrays[f"{part}_tokens"], arrays[f"{part}_lengths"]),
        arrays[f"{part}_labels"],
        vocabulary=Vocabulary(tuple(stored.notes["tokens"])),
        class_names=task.class_names,
    )
