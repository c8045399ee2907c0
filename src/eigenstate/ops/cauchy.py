"""S4's own kernel: the generating function of a DPLR system at the roots of unity.

K^(z) = C~ (I - Ā z)^-1 B̄ is a sum over modes for the diagonal part, corrected for the low rank by
the Woodbury identity; an inverse FFT turns L values into the response. Written without the factor
2/(1+z) of the paper, which is infinite at z = -1. Source: Gu et al. 2022 (S4), section 3, appendix
C.3.
"""

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from eigenstate.systems.eager import transformed

# Complex numbers in one table of frequencies, features and modes: 16 MiB.
_TABLE = 1 << 20


def cauchy_response(
    step: Tensor, rates: Tensor, low_rank: Tensor, b: Tensor, c: Tensor, length: int
) -> Tensor:
    """The response (H, length) from c~ = C (I - Ā^length), formed a piece of frequencies at a time.

    step (H,), rates, b and c (2, H, P), low_rank (2, R, H, P), all wide.
    """
    if length == 0:
        return step.new_zeros(step.shape[0], 0)
    poles, b, c = (_with_conjugates(x) for x in (rates, b, c))  # (H, N)
    p = _with_conjugates(low_rank)  # (R, H, N)
    lefts = torch.cat((c.unsqueeze(0), p.conj()))  # (1 + R, H, N)
    rights = torch.cat((b.unsqueeze(0), p))
    weights = (lefts.unsqueeze(1) * rights.unsqueeze(0)).flatten(0, 1)  # ((1 + R)², H, N)
    angles = torch.arange(length // 2 + 1, dtype=step.dtype, device=step.device)
    angles = angles * (-2 * torch.pi / length)
    roots = torch.complex(angles.cos(), angles.sin())
    pieces = []
    for z in roots.split(max(1, _TABLE // poles.numel())):
        if torch.is_grad_enabled() and not transformed():
            pieces.append(
                checkpoint(_generating_function, z, step, poles, weights, use_reentrant=False)
            )
        else:
            pieces.append(_generating_function(z, step, poles, weights))
    return torch.fft.irfft(torch.cat(pieces).T, n=length)


def _generating_function(z: Tensor, step: Tensor, poles: Tensor, weights: Tensor) -> Tensor:
    """K^ at frequencies z (F,): (F, H)."""
    gain = (1 + z).unsqueeze(-1) * step  # (F, H)
    table = 1 / (2 * (1 - z)[:, None, None] - gain.unsqueeze(-1) * poles)  # (F, H, N)
    sums = torch.einsum("fhn,khn->fhk", table, weights)
    size = int(weights.shape[0] ** 0.5)
    sums = sums.unflatten(-1, (size, size))  # (F, H, 1 + R, 1 + R)
    small = gain[..., None, None] * sums[..., 1:, 1:]
    small = small + torch.eye(size - 1, dtype=small.dtype, device=small.device)
    correction = torch.linalg.solve(small, sums[..., 1:, :1])
    correction = (sums[..., :1, 1:] @ correction).squeeze(-1).squeeze(-1)
    return 2 * step * (sums[..., 0, 0] - gain * correction)


def _with_conjugates(planes: Tensor) -> Tensor:
    """(2, ..., P) -> complex (..., 2P): each stored mode and its conjugate."""
    half = torch.complex(planes[0], planes[1])
    return torch.cat((half, half.conj()), -1)
