"""Dropout that keeps one mask for a whole sequence, and dropping of whole blocks."""

import torch.nn.functional as F
from torch import Tensor, nn

from eigenstate.models.checks import check_share


class TiedDropout(nn.Module):
    """Drop whole channels of a sequence: one mask per row, shared over time.

    x (B, L, H) or (B, H) -> x * mask / (1 - p), mask (B, 1, H) or (B, H) drawn once a call, in
    training only. The S5 paper's official code ties its masks in this way; with `tied=False`
    every sample draws its own.
    ValueError: p outside 0 <= p < 1.
    """

    def __init__(self, p: float = 0.0, *, tied: bool = True) -> None:
        super().__init__()
        check_share("dropout", p)
        self.p = p
        self.tied = tied

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.p == 0:
            return x
        if not self.tied:
            return F.dropout(x, self.p)
        mask = x.new_ones((x.shape[0], *(1 for _ in x.shape[1:-1]), x.shape[-1]))
        return x * F.dropout(mask, self.p)

    def extra_repr(self) -> str:
        return f"p={self.p}, tied={self.tied}"


class StochasticDepth(nn.Module):
    """Drop the whole branch x of a residual block, for each row (B, ...) by itself.

    x * mask / (1 - p), mask (B, 1, ...) drawn once a call, in training only. Source: G. Huang et
    al., "Deep Networks with Stochastic Depth" (2016). ValueError: p outside 0 <= p < 1.
    """

    def __init__(self, p: float = 0.0) -> None:
        super().__init__()
        check_share("stochastic_depth", p)
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.p == 0:
            return x
        return x * F.dropout(x.new_ones((x.shape[0], *(1 for _ in x.shape[1:]))), self.p)

    def extra_repr(self) -> str:
        return f"p={self.p}"
