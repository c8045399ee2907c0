"""Sequences of equal length with something asked at every step, or at the last steps."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset

from eigenstate.data.base import Batch
from eigenstate.data.sequences import pad

UNASKED = -100  # class where nothing is asked: torch's cross_entropy leaves it out


class StepTargets(Dataset[tuple[Tensor, Tensor]]):
    """Inputs (N, L, C) float or (N, L) tokens; targets (N, K, D) float or (N, K) classes.

    Targets belong to the last K <= L steps. `set[i]` is (input (L, ...), target (K, ...)).
    ValueError: shapes or dtypes that do not fit, a value that is not finite.
    """

    def __init__(self, inputs: np.ndarray, targets: np.ndarray) -> None:
        self.inputs = _tensor("inputs", inputs)
        self.targets = _tensor("targets", targets)
        if len(targets) != len(inputs) or not 1 <= targets.shape[1] <= inputs.shape[1]:
            raise ValueError(
                f"targets: expected shape ({len(inputs)}, 1 to {inputs.shape[1]}, ...), "
                f"got {targets.shape}"
            )

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        return self.inputs[index], self.targets[index]

    def collate(self, samples: Sequence[tuple[Tensor, Tensor]], pad_to: int | None = None) -> Batch:
        """Return u (B, L, ...) and labels (B, L, D) or (B, L), both padded at their ends.

        Where nothing is asked, a label is NaN, or -100 for a class.
        """
        u, lengths = pad([values for values, _ in samples], pad_to)
        targets = torch.stack([target for _, target in samples])  # (B, K, ...)
        unasked = float("nan") if targets.is_floating_point() else UNASKED
        labels = targets.new_full((*u.shape[:2], *targets.shape[2:]), unasked)
        last = int(lengths[0])
        labels[:, last - targets.shape[1] : last] = targets
        return Batch(u, lengths, labels)


def _tensor(name: str, values: np.ndarray) -> Tensor:
    """Return (N, L, C) as float32, (N, L) whole numbers as int64."""
    if values.dtype.kind in "iu" and values.ndim == 2:
        return torch.from_numpy(values.astype(np.int64))
    if values.dtype.kind == "f" and values.ndim == 3:
        if not np.isfinite(values).all():
            raise ValueError(f"{name}: expected finite values, got NaN or infinity")
        return torch.from_numpy(values.astype(np.float32))
    raise ValueError(
        f"{name}: expected real numbers of shape (N, length, channels) or whole numbers of shape "
        f"(N, length), got {values.dtype} of shape {values.shape}"
    )
