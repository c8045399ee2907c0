"""The same recordings at a lower rate."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from eigenstate.data.base import Batch, Samples
from eigenstate.data.sequences import pad
from eigenstate.data.wav import resample


class Decimated:
    """Samples 0, factor, 2 factor, ... of every sequence of another set.

    What lies between them is dropped, as in the S5 paper's zero-shot test; with `filtered` the
    sequence goes through a low-pass filter first, so that nothing above the new rate's half folds
    back into it. An interval of the new sequence is the sum of the old ones it spans; where there
    are none, each is `factor` times the training interval, which the caller says as `dt`.
    ValueError: a factor that is not a whole number from 1 up, or sequences that are not channels
    with one label each.
    """

    def __init__(self, data: Samples, factor: int, *, filtered: bool = False) -> None:
        if isinstance(factor, bool) or not isinstance(factor, int) or factor < 1:
            raise ValueError(f"decimate must be a whole number from 1 up, got {factor!r}")
        self.data = data
        self.factor = factor
        self.filtered = filtered

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: int, /) -> Any:
        return self.data[index]

    def collate(self, samples: Sequence[Any], pad_to: int | None = None) -> Batch:
        """Collate as the set itself does, then keep every factor-th sample of each row.

        `pad_to` is the length of the set itself, too.
        """
        whole = self.data.collate(samples)
        if whole.u.ndim != 3 or not whole.u.is_floating_point() or whole.labels.ndim != 1:
            raise ValueError(
                "decimate needs sequences of channels with one label each: tokens, images and "
                "labels at every sample have no lower rate"
            )
        rows = zip(whole.u, whole.lengths.tolist(), strict=True)
        least = None if pad_to is None else math.ceil(pad_to / self.factor)
        u, lengths = pad([self._row(row[:length]) for row, length in rows], least)
        dt = None if whole.dt is None else self._intervals(whole.dt, u.shape[1])
        return Batch(u, lengths, whole.labels, dt)

    def _row(self, u: Tensor) -> Tensor:
        """u (L, C) -> (ceil(L / factor), C)."""
        if not self.filtered or self.factor == 1:
            return u[:: self.factor]
        return torch.from_numpy(resample(u.numpy(), up=1, down=self.factor)).to(u.dtype)

    def _intervals(self, dt: Tensor, length: int) -> Tensor:
        """dt (B, L) -> (B, length): sums that end at the samples kept."""
        times = dt.double().cumsum(1)[:, :: self.factor]
        gaps = torch.diff(times, dim=1, prepend=(times[:, :1] - dt[:, :1]))
        return torch.nn.functional.pad(gaps.to(dt.dtype), (0, length - gaps.shape[1]), value=1.0)
