"""What each sample says about time: its interval, whether it starts anew, whether it is there."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor


@dataclass(frozen=True)
class Steps:
    """Per-sample facts, each None or of shape (1 or B, L); build it with `Steps.of`.

    `dt` is the interval before a sample, 0 at pads; `resets` drops the state carried into a
    sample; `valid` is False at pads.
    """

    dt: Tensor | None = None
    resets: Tensor | None = None
    valid: Tensor | None = None

    @classmethod
    def of(cls, dt: Tensor | None, resets: Tensor | None, valid: Tensor | None) -> "Steps":
        """Clean what pads say: any interval there becomes 0, and no reset counts."""
        if valid is not None:
            dt = None if dt is None else torch.where(valid, dt, 0.0)
            resets = None if resets is None else resets & valid
        return cls(dt, resets, valid)

    @property
    def constant(self) -> bool:
        """Whether every sample is treated alike."""
        return self.dt is None and self.resets is None and self.valid is None

    def backward(self) -> "Steps":
        """The same facts for a scan against time.

        The gap between two samples is the same gap, so sample k takes the interval of k + 1. A
        reset at k + 1 cuts k off from it: k is then the last of its run, like each row's own last
        sample, and those take an interval of 1.
        """
        resets = _next(self.resets, False)
        gaps = _next(self.dt, 1.0)
        if gaps is not None and resets is not None:
            gaps = torch.where(resets, 1.0, gaps)
        if gaps is not None and self.valid is not None:
            last = self.valid & ~_next(self.valid, False)
            gaps = torch.where(self.valid, torch.where(last, 1.0, gaps), 0.0)
        return replace(self, dt=gaps, resets=resets)


def _next(x: Tensor | None, end: bool | float) -> Tensor | None:
    """x one sample earlier, with `end` filled in at the last."""
    if x is None:
        return None
    return torch.cat((x[:, 1:], torch.full_like(x[:, :1], end)), 1)
