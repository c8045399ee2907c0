"""Rows of unequal length, moved within their batch.

Zeros before a row leave a zero state as it is, so a row that is moved to the end of the batch needs
no masks, and its last state is the last one of the batch.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function


def to_end(u: Tensor, lengths: Sequence[int]) -> Tensor:
    """Move the first n samples of each row of u (B, L, ...) to its end, what follows to its start."""
    return _rolled(u, [u.shape[1] - n for n in lengths])


def to_start(y: Tensor, lengths: Sequence[int]) -> Tensor:
    """Move the last n samples of each row of y (B, L, ...) to its start: undoes `to_end`."""
    return _rolled(y, [n - y.shape[1] for n in lengths])


def _rolled(x: Tensor, shifts: Sequence[int]) -> Tensor:
    return _Rolled.apply(x, shifts) if any(shifts) else x


class _Rolled(Function):
    """Each row by a shift of its own, forward and backward by one copy."""

    @staticmethod
    def forward(ctx: Any, x, shifts):
        ctx.shifts = shifts
        rolled = torch.empty_like(x, memory_format=torch.contiguous_format)
        for to, row, shift in zip(rolled, x, shifts, strict=True):
            cut = shift % len(row)
            to[cut:] = row[: len(row) - cut]
            to[:cut] = row[len(row) - cut :]
        return rolled

    @staticmethod
    def backward(ctx: Any, grad):
        return _Rolled.apply(grad, [-shift for shift in ctx.shifts]), None
