"""What each sample says about time: its interval, whether it starts anew, whether it is there."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor


@dataclass(frozen=True)
class Steps:
    """Per-sample facts, each None or of shape (1 or B, L).

    `dt` is the interval before a sample, finite at pads too; `resets` drops the state carried into
    a sample; `valid` is False at pads, where the input must be 0 and nothing else counts.
    """

    dt: Tensor | None = None
    resets: Tensor | None = None
    valid: Tensor | None = None

    @property
    def constant(self) -> bool:
        """Whether every sample is treated alike."""
        return self.dt is None and self.resets is None and self.valid is None

    @property
    def only_pads(self) -> bool:
        """Whether samples differ in being pads alone."""
        return self.dt is None and self.resets is None and self.valid is not None

    def lengths(self) -> list[int]:
        """Return how many samples of each row are no pads."""
        assert self.valid is not None
        return self.valid.sum(1).tolist()

    def backward(self) -> "Steps":
        """The same facts for a scan against time.

        The gap between two samples is the same gap, so sample k takes the interval of k + 1. A
        reset at k + 1 cuts k off from it: k is then the last of its run, like each row's own last
        sample, and those take an interval of 1.
        """
        resets = None if self.resets is None else _next(self.resets, False)
        gaps = None if self.dt is None else _next(self.dt, 1.0)
        if gaps is not None and resets is not None:
            gaps = torch.where(resets, 1.0, gaps)
        if gaps is not None and self.valid is not None:
            last = self.valid & ~_next(self.valid, False)
            gaps = torch.where(self.valid, torch.where(last, 1.0, gaps), 0.0)
        return replace(self, dt=gaps, resets=resets)


def _next(x: Tensor, end: bool | float) -> Tensor:
    """x one sample earlier, with `end` filled in at the last."""
    return torch.cat((x[:, 1:], torch.full_like(x[:, :1], end)), 1)


def mask(lengths: Tensor, length: int) -> Tensor:
    """True where a row has a sample: (B,) -> (B, L)."""
    return torch.arange(length, device=lengths.device) < lengths.long().unsqueeze(1)
