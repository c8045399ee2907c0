"""Causal convolution by FFT, and the shift that makes ragged rows end together."""

import torch
from torch import Tensor

from eigenstate.systems.eager import readable


def causal_convolution(u: Tensor, kernel: Tensor) -> Tensor:
    """y_k = Σ_(j ≤ k) K_(k-j) u_j for each feature: u (B, L, H), kernel (H, L) -> y (B, L, H).

    Any L, and never circular: both are padded to at least 2L - 1. The transform runs in float32 or
    wider and the result has u's dtype, float32 at least. A NaN or infinity at sample k of a
    feature makes its outputs from k on NaN, and none before. Source: Gu et al. 2022 (S4), 2.4.
    """
    length = u.shape[1]
    work = torch.promote_types(u.dtype, torch.float32)
    u = u.to(work)
    if u.numel() == 0:
        return u + kernel.sum().to(work)  # nothing to transform, but still a graph
    # The transform would spread a NaN over all time, backward too. A sum is finite only if all is.
    spoilt = not readable(u) or not bool(u.sum().isfinite())
    signal = torch.where(u.isfinite(), u, 0.0) if spoilt else u
    size = fast_length(2 * length - 1)
    spectrum = torch.fft.rfft(signal.transpose(1, 2), n=size)  # (B, H, F)
    spectrum = spectrum * torch.fft.rfft(kernel.to(work), n=size)
    y = torch.fft.irfft(spectrum, n=size)[..., :length].transpose(1, 2)
    return torch.where(_spoilt(u), torch.nan, y) if spoilt else y


def _spoilt(u: Tensor) -> Tensor:
    """True from the first NaN or infinity of each feature on: (B, L, H)."""
    time = torch.arange(u.shape[1], device=u.device).unsqueeze(-1)
    first = torch.where(u.isfinite(), u.shape[1], time).amin(1, keepdim=True)
    return time >= first


def align_right(u: Tensor, lengths: Tensor) -> Tensor:
    """Move each row's samples to the end and zeros to the front: (B, L, H) and (B,)."""
    length = u.shape[1]
    source = torch.arange(length, device=u.device) - (length - lengths.unsqueeze(1))  # (B, L)
    index = source.clamp(min=0).unsqueeze(-1).expand_as(u)
    return torch.where((source >= 0).unsqueeze(-1), u.gather(1, index), 0.0)


def fast_length(size: int) -> int:
    """The least even number from `size` on with no prime factor above 5."""
    size += size % 2
    while True:
        rest = size
        for prime in (2, 3, 5):
            while rest % prime == 0:
                rest //= prime
        if rest == 1:
            return size
        size += 2
