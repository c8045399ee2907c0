"""HiPPO as an online memory: a signal of any length in N numbers, to be looked into at any time.

Gu et al. 2020, "HiPPO: Recurrent Memory with Optimal Polynomial Projections".
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from eigenstate.layers.checks import check_count
from eigenstate.systems.bases import BASES
from eigenstate.systems.hippo import Array, matrices
from eigenstate.systems.planes import wide
from eigenstate.systems.windows import BLOCK, grow, slide


class HippoMemory:
    """The past of one or many signals, as N coefficients that every new sample updates.

    measure: what is remembered. "legs": everything since the first sample, evenly, on Legendre
    polynomials. "legt": the last `window`, on the same. "fout": the last `window`, on sines and
    cosines. "lagt": everything, on Laguerre functions whose weight exp(-age/window) fades.
    order: the number of coefficients N (even for "fout"). window: in units of time; None for
    "legs". dt: time from one sample to the next. Sample k is held from k dt to (k + 1) dt.

    Each update is exact for held samples, and no count of them lets rounding grow. "legs" and
    "lagt" hold the best approximation of the past on their functions; "legt" and "fout" come near
    it, since the sample that leaves the window is known from the coefficients alone.

    NumPy arrays (or lists) in, NumPy arrays out; tensors in, tensors on the same device out, in
    float64 where the device has it. No gradients are recorded. `copy.deepcopy` and pickle work.

    Raises ValueError or TypeError for settings that do not fit. Source: Gu et al. 2020, sections 2
    and 3; for "fout" Gu et al. 2023, "How to Train Your HiPPO".
    """

    def __init__(
        self, measure: str, order: int, *, window: float | None = None, dt: float = 1.0
    ) -> None:
        check_count("order", order)
        matrices(measure, order)  # refuses an unknown measure, and an order it cannot have
        if measure == "legs":
            if window is not None:
                raise ValueError(
                    f"window must be None for 'legs', whose window is the whole past, got {window}"
                )
        else:
            _check_positive(f"window for {measure!r}", window)
        _check_positive("dt", dt)
        self.measure, self.order, self.window, self.dt = measure, order, window, dt
        self.reset()

    def reset(self) -> None:
        """Forget every sample, their number and the shape of the signals."""
        self.count = 0
        self._coefficients: Tensor | None = None
        self._tensors = False

    def update(self, samples: Any) -> "HippoMemory":
        """Take in any number of samples, (..., T) with time last; returns the memory itself.

        The first call decides the leading shape and whether arrays or tensors are spoken; later
        ones keep to both. One sample of signals (S,) is (S, 1); of a single signal, (1,).
        ValueError, TypeError: another shape or kind, samples that are not finite. Nothing is taken
        in then.
        """
        samples = _real_samples(samples)
        if self._coefficients is not None:
            self._check_like_before(samples, self._coefficients)
        _check_finite(samples)
        tensors = isinstance(samples, Tensor)
        coefficients, count = self._coefficients, self.count
        for _, block in _blocks(samples):
            if coefficients is None:
                coefficients = block.new_zeros((*block.shape[:-1], self.order))
            if block.shape[-1] == 0:
                break
            if self.measure == "legs":
                coefficients = grow(coefficients, count, block)
            else:
                coefficients = slide(coefficients, block, self.measure, self._length / self.dt)
            count += block.shape[-1]
        self._coefficients, self.count, self._tensors = coefficients, count, tensors
        return self

    @property
    def coefficients(self) -> Any:
        """The N numbers of each signal, (..., N): all that is kept, besides `count`."""
        return self._answer(self._held())

    @property
    def time(self) -> float:
        """The end of the last sample, counted from the beginning of the first."""
        return self.count * self.dt

    @property
    def remembered(self) -> tuple[float, float]:
        """From when to when `reconstruct` can look back."""
        if self.measure in ("legs", "lagt"):
            return 0.0, self.time
        return max(0.0, self.time - self._length), self.time

    def times(self, points: int) -> Array:
        """The middles of `points` equal parts of what is remembered, (P,), oldest first.

        With as many points as samples these are the samples' own middles.
        """
        check_count("points", points)
        start, end = self.remembered
        return start + (end - start) * (np.arange(points) + 0.5) / points

    def reconstruct(self, times: Any) -> Any:
        """The remembered past at `times` (P,) -> (..., P); an integer P stands for `times(P)`.

        ValueError: no sample yet, or a time outside `remembered`.
        """
        coefficients = self._held()
        if isinstance(times, (int, np.integer)):
            times = self.times(int(times))
        ages = torch.from_numpy((self.time - self._check_times(times)) / self._length)
        ages = ages.clamp(min=0.0) if self.measure == "lagt" else ages.clamp(0.0, 1.0)
        function, _ = BASES[self.measure]
        values = [
            coefficients @ function(self.order, part).T.to(coefficients)
            for part in ages.split(BLOCK)
        ]
        return self._answer(torch.cat(values, -1))

    def projection(self, samples: Any) -> "HippoMemory":
        """What this memory would ideally hold of `samples` (..., T), were they the whole past.

        A new memory with the coefficients of least squared error on the same functions, formed by
        integration and not by updates: the mark to judge a memory by. For "lagt" the squares are
        taken over an endless past, with zeros before the first sample.
        """
        samples = _real_samples(samples)
        _check_finite(samples)
        if samples.shape[-1] == 0:
            raise ValueError("samples must hold at least one sample to be projected, got none")
        best = HippoMemory(self.measure, self.order, window=self.window, dt=self.dt)
        best.count, best._tensors = samples.shape[-1], isinstance(samples, Tensor)
        _, integral = BASES[self.measure]
        total: Tensor | None = None
        for start, block in _blocks(samples):
            edges = start + torch.arange(block.shape[-1] + 1, dtype=torch.float64)
            ages = (best.count - edges) * (self.dt / best._length)
            ages = ages if self.measure == "lagt" else ages.clamp(0.0, 1.0)
            part = block @ -torch.diff(integral(self.order, ages), dim=0).to(block)
            total = part if total is None else total + part
        best._coefficients = total
        return best

    @property
    def _length(self) -> float:
        """What an age of 1 means in time: the window, for "legs" the whole past."""
        return self.time if self.window is None else self.window

    def _held(self) -> Tensor:
        if self._coefficients is None or self.count == 0:
            raise ValueError("the memory holds no sample yet; call update(samples) first")
        return self._coefficients

    def _answer(self, values: Tensor) -> Any:
        return values if self._tensors else values.numpy()

    def _check_like_before(self, samples: Any, coefficients: Tensor) -> None:
        """Later samples come as the first ones did: arrays or tensors, the same signals."""
        if isinstance(samples, Tensor) != self._tensors:
            before, now = ("tensors", "NumPy") if self._tensors else ("NumPy arrays", "a tensor")
            raise TypeError(f"samples must be {before} as in the first update, got {now}")
        if isinstance(samples, Tensor) and samples.device != coefficients.device:
            raise ValueError(
                f"samples must be on {coefficients.device} as in the first update, got "
                f"{samples.device}"
            )
        signals = tuple(coefficients.shape[:-1])
        if tuple(samples.shape[:-1]) != signals:
            expected = ", ".join([*map(str, signals), "T"])
            raise ValueError(
                f"samples must have shape ({expected}) as in the first update, time last, got "
                f"{tuple(samples.shape)}; reset() makes room for other signals"
            )

    def _check_times(self, times: Any) -> Array:
        """Times as float64 (P,), finite and within what is remembered, give or take rounding."""
        if isinstance(times, Tensor):
            times = times.detach().cpu()
        times = np.asarray(times, dtype=np.float64)
        if times.ndim != 1:
            raise ValueError(
                f"times must be an array of shape (P,) or an integer, got shape {times.shape}; "
                "for a single time pass [time]"
            )
        start, end = self.remembered
        slack = 1e-9 * self.dt
        outside = ~((times >= start - slack) & (times <= end + slack))
        if outside.any():
            index = int(outside.argmax())
            raise ValueError(
                f"times must lie in the remembered past, from {start:g} to {end:g}, got "
                f"{times[index]:g} at index {index}"
            )
        return times


def _real_samples(samples: Any) -> Any:
    """Samples as a tensor or an array of real numbers, (..., T); a lone number is one sample."""
    if not isinstance(samples, Tensor):
        samples = np.asarray(samples)
        real = samples.dtype.kind in "biuf"
    elif samples.requires_grad and torch.is_grad_enabled():
        raise ValueError(
            "samples must not require a gradient, which a memory does not record; "
            "pass samples.detach()"
        )
    else:
        samples = samples.detach()
        real = not samples.is_complex()
    if not real:
        raise TypeError(f"samples must be real numbers, got {samples.dtype}")
    return samples if samples.ndim else samples.reshape(1)


def _check_finite(samples: Any) -> None:
    """Refuse NaN and infinity, which no later sample could ever drive out again."""
    if isinstance(samples, Tensor):
        # One pass where all is well: torch.isfinite takes ten times as long as a sum.
        finite = np.True_ if samples.sum().isfinite() else samples.isfinite().cpu().numpy()
    else:
        finite = np.isfinite(samples)
    if not finite.all():
        index = tuple(int(i) for i in np.argwhere(~finite)[0])
        raise ValueError(f"samples must be finite, got {samples[index]} at index {index}")


def _check_positive(name: str, value: float | None) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < math.inf:
        raise ValueError(f"{name} must be a positive number, got {value!r}")


def _blocks(samples: Any) -> Iterator[tuple[int, Tensor]]:
    """Where each block of time starts, and the block, (..., at most BLOCK), wide; at least one."""
    for start in range(0, max(1, samples.shape[-1]), BLOCK):
        block = samples[..., start : start + BLOCK]
        if isinstance(block, Tensor):
            yield start, block.to(wide(block.device))
        else:
            # A copy: torch takes no negative strides, foreign byte orders or read-only memory.
            yield start, torch.from_numpy(np.array(block, dtype=np.float64))
