"""Sequences of one length, kept as the whole numbers of their files and scaled batch by batch."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor
from torch.utils.data import Dataset

from eigenstate.data.base import Batch
from eigenstate.data.labels import check_labels


@dataclass(frozen=True)
class Scaling:
    """u = (q / full - mean) / deviation, in float32, in this order.

    mean and deviation are (C,), one number for each channel, or (L, C), one for each step too.
    """

    full: float
    mean: np.ndarray
    deviation: np.ndarray

    def __call__(self, q: Tensor, steps: np.ndarray) -> Tensor:
        """Scale whole numbers (B, len(steps), C) that were taken at `steps` of their sequences."""
        mean, deviation = (
            torch.from_numpy(self._at(x, steps)) for x in (self.mean, self.deviation)
        )
        return q.float().div_(self.full).sub_(mean).div_(deviation)

    @staticmethod
    def _at(statistic: np.ndarray, steps: np.ndarray) -> np.ndarray:
        chosen = statistic[steps] if statistic.ndim == 2 else statistic
        return chosen.astype(np.float32)


class QuantizedSequences(Dataset[tuple[Tensor, int]]):
    """Labelled sequences of one length. `set[i]` is (whole numbers (L, C), label).

    values (N, L, C) may be a memory map: only the rows asked for are read from disk.
    ValueError: another shape, numbers that are not whole, labels that do not fit.
    """

    def __init__(
        self,
        values: np.ndarray,
        labels: ArrayLike,
        *,
        class_names: Sequence[str],
        scaling: Scaling,
    ) -> None:
        if values.ndim != 3 or 0 in values.shape or values.dtype.kind not in "iu":
            raise ValueError(
                "values: expected whole numbers of shape (sequences, length, channels), "
                f"got {values.dtype} of shape {values.shape}"
            )
        self.class_names = tuple(class_names)
        self.scaling = scaling
        self.labels = check_labels(labels, len(values), len(self.class_names))
        self._values = values
        self._rows = np.arange(len(values))
        self._steps = np.arange(values.shape[1])

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        q = np.asarray(self._values[self._rows[index]])[self._steps]  # (L, C), a copy
        return torch.from_numpy(q), int(self.labels[index])

    def subset(self, rows: ArrayLike) -> "QuantizedSequences":
        """Return the set of these sequences, in this order, without copying them."""
        chosen = np.asarray(rows)
        return self._view(self._rows[chosen], self.labels[torch.from_numpy(chosen)], self._steps)

    def at(self, steps: ArrayLike) -> "QuantizedSequences":
        """Return the set with only these steps of every sequence, in this order."""
        return self._view(self._rows, self.labels, self._steps[np.asarray(steps)])

    def collate(self, samples: Sequence[tuple[Tensor, int]], pad_to: int | None = None) -> Batch:
        """Scale, then pad with zeros to `pad_to` steps if given: u float32 (B, L, C)."""
        if not samples:
            raise ValueError("samples: expected at least one sequence, got none")
        u = self.scaling(torch.stack([q for q, _ in samples]), self._steps)
        lengths = torch.full((len(samples),), len(self._steps))
        if pad_to is not None:
            if pad_to < u.shape[1]:
                raise ValueError(f"pad_to: expected at least {u.shape[1]}, got {pad_to}")
            u = torch.nn.functional.pad(u, (0, 0, 0, pad_to - u.shape[1]))
        return Batch(u, lengths, torch.tensor([label for _, label in samples]))

    def _view(self, rows: np.ndarray, labels: Tensor, steps: np.ndarray) -> "QuantizedSequences":
        view = object.__new__(QuantizedSequences)
        view.class_names, view.scaling, view._values = self.class_names, self.scaling, self._values
        view._rows, view.labels, view._steps = rows, labels, steps
        return view
