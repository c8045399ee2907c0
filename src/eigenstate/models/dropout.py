"""Dropout that keeps one mask for a whole sequence."""

import torch.nn.functional as F
from torch import Tensor, nn


class TiedDropout(nn.Module):
    """Drop whole channels of a sequence: one mask per row, shared over time.

    x (B, L, H) or (B, H) -> x * mask / (1 - p), mask (B, 1, H) or (B, H) drawn once a call, in
    training only. The S5 paper's official code ties its masks in this way.
    ValueError: p outside 0 <= p < 1.
    """

    def __init__(self, p: float = 0.0) -> None:
        super().__init__()
        if not 0 <= p < 1:
            raise ValueError(f"dropout must be at least 0 and below 1, got {p!r}")
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.p == 0:
            return x
        mask = x.new_ones((x.shape[0], *(1 for _ in x.shape[1:-1]), x.shape[-1]))
        return x * F.dropout(mask, self.p)

    def extra_repr(self) -> str:
        return f"p={self.p}"
