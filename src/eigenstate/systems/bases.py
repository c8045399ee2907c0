"""The functions that HiPPO coefficients multiply, and their integrals.

The past is u(t - age θ) = Σ_n x[n] φ_n(age), with θ the length of the window: the whole past for
LegS, the width of what slides for the others. The φ are orthonormal on ages 0 (now) to 1, those of
LagT on 0 to infinity. So x[n] = ∫ u φ_n over the ages.
"""

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor


def legendre(order: int, ages: Tensor) -> Tensor:
    """sqrt(2n+1) P_n(1 - 2 age): ages (T,), from 0 to 1 -> (T, N)."""
    return _legendre_polynomials(order, ages) * _legendre_norms(order)


def legendre_integral(order: int, ages: Tensor) -> Tensor:
    """∫ from 0 to each age of `legendre`: (T,) -> (T, N).

    The integral of P_n is (P_(n+1) - P_(n-1)) / (2n+1), and P_1 for n = 0.
    """
    values = _legendre_polynomials(order + 1, ages)
    below = torch.cat((torch.ones_like(values[:, :1]), values[:, :-2]), 1)
    return (below - values[:, 1:]) / (2 * _legendre_norms(order))


def fourier(order: int, ages: Tensor) -> Tensor:
    """1, 0, then sqrt 2 cos(2π k age) and sqrt 2 sin(2π k age) for k = 1, ...: (T,) -> (T, N)."""
    angles = _angles(order, ages)
    pairs = torch.stack((angles.cos(), angles.sin()), -1).flatten(-2)  # (T, N)
    pairs[:, 2:] *= math.sqrt(2)
    return pairs


def fourier_integral(order: int, ages: Tensor) -> Tensor:
    """∫ from 0 to each age of `fourier`: (T,) -> (T, N)."""
    angles = _angles(order, ages)[:, 1:]
    frequencies = 2 * math.pi * torch.arange(1, order // 2, dtype=ages.dtype, device=ages.device)
    waves = torch.stack((angles.sin(), 1 - angles.cos()), -1) / frequencies.unsqueeze(-1)
    first = torch.stack((ages, torch.zeros_like(ages)), -1)
    return torch.cat((first, math.sqrt(2) * waves.flatten(-2)), 1)


def laguerre(order: int, ages: Tensor) -> Tensor:
    """exp(-age/2) L_n(age), the Laguerre functions: ages (T,), from 0 on -> (T, N).

    n L_n = (2n - 1 - age) L_(n-1) - (n - 1) L_(n-2).
    """
    # The decay comes in N equal parts, one at each n: taken at once it would underflow before L_n
    # has grown (from age 1490 on, which an order of 400 still resolves).
    part = torch.exp(-ages / (2 * order))
    columns = [part, part**2 * (1 - ages)][:order]
    for n in range(2, order):
        last, before = columns[-1], columns[-2]
        columns.append(part * ((2 * n - 1 - ages) * last - (n - 1) * part * before) / n)
    remaining = torch.arange(order - 1, -1, -1, dtype=ages.dtype, device=ages.device)
    return torch.stack(columns, 1) * part.unsqueeze(1) ** remaining


def laguerre_integral(order: int, ages: Tensor) -> Tensor:
    """∫ from 0 to each age of `laguerre`: (T,) -> (T, N).

    From (l_n - l_(n-1))' = -(l_n + l_(n-1))/2: I_n = -I_(n-1) - 2 (l_n - l_(n-1)).
    """
    values = laguerre(order, ages)
    rises = torch.diff(values, dim=1, prepend=torch.ones_like(values[:, :1]))
    signs = 1.0 - 2.0 * (torch.arange(order, dtype=ages.dtype, device=ages.device) % 2)
    return -2 * signs * torch.cumsum(signs * rises, 1)


BASES: dict[str, tuple[Callable[[int, Tensor], Tensor], Callable[[int, Tensor], Tensor]]] = {
    "legs": (legendre, legendre_integral),
    "legt": (legendre, legendre_integral),
    "lagt": (laguerre, laguerre_integral),
    "fout": (fourier, fourier_integral),
}


def _legendre_polynomials(order: int, ages: Tensor) -> Tensor:
    """P_n(1 - 2 age): (T,) -> (T, N), as one product and with no loop over n.

    P_n(cos ω) = Σ_j g_j g_(n-j) cos((n - 2j) ω) with g_j = binom(2j, j)/4^j: positive weights that
    sum to 1, so that rounding stays where it is.
    """
    angles = 2 * torch.asin(ages.sqrt())  # cos ω = 1 - 2 age
    multiples = torch.arange(order, dtype=ages.dtype, device=ages.device)
    return torch.cos(angles.unsqueeze(1) * multiples) @ _cosine_weights(order)


@lru_cache(maxsize=8)
def _cosine_weights(order: int) -> Tensor:
    """Column n holds the weights of cos(k ω), k = 0, ..., N-1, in P_n: (N, N)."""
    j = np.arange(1, order)
    g = np.cumprod(np.concatenate([[1.0], (2 * j - 1) / (2 * j)]))
    weights = np.zeros((order, order))
    for n in range(order):
        np.add.at(weights[:, n], abs(n - 2 * np.arange(n + 1)), g[: n + 1] * g[n::-1])
    return torch.from_numpy(weights)


def _legendre_norms(order: int) -> Tensor:
    """sqrt(2n+1), the (N,) that makes P_n orthonormal on a window of length 1."""
    return torch.from_numpy(np.sqrt(2 * np.arange(order) + 1.0))


def _angles(order: int, ages: Tensor) -> Tensor:
    """2π k age for k = 0, ..., N/2 - 1: (T,) -> (T, N/2)."""
    frequencies = 2 * math.pi * torch.arange(order // 2, dtype=ages.dtype, device=ages.device)
    return ages.unsqueeze(1) * frequencies
