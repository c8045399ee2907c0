"""Diagonal-plus-low-rank systems on real planes, by the bilinear rule.

A = diag(λ) - Σ_r p_r p_r^* acts on modes and their conjugates together, of which one half is
stored; on the stored half p^* x counts twice its real part, so with q = (Re p, Im p) and the state
as a real vector (Re x, Im x) the correction is the symmetric -2 Σ_r q_r q_r^T.
Source: Gu et al. 2022 (S4), section 3 and appendix C.
"""

import torch
from torch import Tensor

from eigenstate.systems.planes import multiply


def dplr_step(x: Tensor, driven: Tensor, step: Tensor, rates: Tensor, low_rank: Tensor) -> Tensor:
    """(I - s/2 A)^-1 ((I + s/2 A) x + s B u) by the Woodbury identity, in O(N) per feature.

    Written as (I - s/2 A)^-1 (2 x + s B u) - x, which loses nothing to a large step and leaves x
    alone at s = 0. x and driven = B u (B, 2, H, P); step s (H,) or (B, H); rates (2, H, P);
    low_rank (2, R, H, P).
    """
    s = step[..., None, :, None]  # (..., 1, H, 1)
    right = 2 * x + s * driven
    inverse = _resolvent(rates, s)  # (..., 2, H, P)
    y = multiply(inverse, right, dim=-3)
    q = multiply(inverse.unsqueeze(-3), low_rank, dim=-4)  # (..., 2, R, H, P)
    # One small matrix for each feature: I + s q^T E q, R by R.
    small = torch.einsum("crhp,...cqhp->...hrq", low_rank, q) * step[..., None, None]
    small = small + torch.eye(small.shape[-1], dtype=s.dtype, device=s.device)
    along = torch.einsum("crhp,bchp->bhr", low_rank, y).unsqueeze(-1)
    weights = torch.linalg.solve(small, along).squeeze(-1) * step.unsqueeze(-1)  # (B, H, R)
    rank = torch.einsum("crhp,bhr->bchp" if q.dim() == 4 else "bcrhp,bhr->bchp", q, weights)
    return y - rank - x


def dplr_dense(step: Tensor, rates: Tensor, low_rank: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """The discretised matrix (H, N, N) and input (H, N) on real vectors (Re x, Im x), N = 2P."""
    re, im = (torch.diag_embed(plane) for plane in rates)  # (H, P, P)
    A = torch.cat((torch.cat((re, -im), -1), torch.cat((im, re), -1)), -2)
    q = low_rank.permute(2, 1, 0, 3).flatten(-2)  # (H, R, N)
    A = A - 2 * q.transpose(-1, -2) @ q
    half = step[:, None, None] / 2 * A
    one = torch.eye(A.shape[-1], dtype=A.dtype, device=A.device)
    vector = step[:, None] * b.transpose(0, 1).flatten(-2)  # (H, N)
    twice = (2 * one).expand_as(A)
    both = torch.linalg.solve(one - half, torch.cat((twice, vector.unsqueeze(-1)), -1))
    return both[..., :-1] - one, both[..., -1]


def _resolvent(rates: Tensor, s: Tensor) -> Tensor:
    """1 / (1 - s λ/2) as planes (..., 2, H, P)."""
    re, im = (rates * s / 2).unbind(-3)
    size = (1 - re) ** 2 + im**2
    return torch.stack(((1 - re) / size, im / size), -3)
