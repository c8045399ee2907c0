"""Rows of unequal length, moved within their batch.

Zeros before a row leave a zero state as it is, so a row that is moved to the end of the batch needs
no masks, and its last state is the last one of the batch.
"""

from collections.abc import Sequence

import torch
from torch import Tensor


def to_end(u: Tensor, lengths: Sequence[int]) -> Tensor:
    """Move the first n samples of each row of u (B, L, ...) to its end, what follows to its start."""
    return _rolled(u, [u.shape[1] - n for n in lengths])


def to_start(y: Tensor, lengths: Sequence[int]) -> Tensor:
    """Move the last n samples of each row of y (B, L, ...) to its start: undoes `to_end`."""
    return _rolled(y, [n - y.shape[1] for n in lengths])


def _rolled(x: Tensor, shifts: Sequence[int]) -> Tensor:
    if not any(shifts):
        return x
    return torch.stack([row.roll(shift, 0) for row, shift in zip(x, shifts, strict=True)])
