"""How N coefficients of the past take in a block of new samples, exactly and in a few products.

Samples are held: each is the input's value from its own beginning to its end. Neither way walks
from sample to sample, and in neither can rounding grow: both project, and a projection shrinks.
"""

import math
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from eigenstate.systems.bases import legendre, legendre_integral
from eigenstate.systems.hippo import legs, matrices
from eigenstate.systems.planes import wide

# Samples per product: its weights (BLOCK, N) still fit a cache, and joining costs little beside it.
BLOCK = 8192
# A past that recedes by less than this over N² is moved by a series of at most 13 terms.
_SMALL_SHARE = 0.5
_NEGLIGIBLE = 1e-17


def grow(coefficients: Tensor, count: int, block: Tensor) -> Tensor:
    """LegS: (..., N) of `count` samples and a block (..., T) -> (..., N) of count + T samples.

    LegS needs no recurrence: coefficients of two adjoining stretches of time determine those of
    both together, and of the block by itself they are fixed weights. Both stretches are polynomials
    of degree below N, so that N Gauss-Legendre nodes on each integrate exactly.
    This is x' = (A x + B u) / t of Gu et al. 2020, section 3, solved for held samples.
    """
    order, length = coefficients.shape[-1], block.shape[-1]
    own = block @ _block_weights(order, length).to(block)
    if count == 0:
        return own
    nodes, _ = _nodes(order)
    share = length / (count + length)  # of the block, in the new whole
    if share * order**2 < _SMALL_SHARE:
        old = _recede(coefficients, math.log1p(length / count))
    else:
        old = (1 - share) * _stretch(coefficients, share + (1 - share) * nodes)
    return old + share * _stretch(own, share * nodes)


def _stretch(coefficients: Tensor, ages: Tensor) -> Tensor:
    """The coefficients of a stretch in a new whole, where its nodes have these ages: (..., N)."""
    order = coefficients.shape[-1]
    _, weighted = _nodes(order)
    return coefficients @ weighted.to(coefficients) @ legendre(order, ages).to(coefficients)


def _recede(coefficients: Tensor, time: float) -> Tensor:
    """exp(A time) x for a short logarithmic time, by its series.

    The past hardly moves when little is added. This computes the move, whose rounding is as small
    as itself; `_stretch` would round the whole, as often as a sample comes alone.
    """
    order = coefficients.shape[-1]
    step = (_legs_transposed(order) * time).to(coefficients)
    moved = term = coefficients @ step
    size, j = time * order**2, 2
    while size > _NEGLIGIBLE:
        term = term @ step / j
        moved = moved + term
        size, j = size * time * order**2 / j, j + 1
    return coefficients + moved


def slide(coefficients: Tensor, block: Tensor, measure: str, window: float) -> Tensor:
    """LegT, FouT, LagT: (..., N) and a block (..., T), T <= BLOCK -> (..., N), T samples later.

    window: its length in samples. x_k = Ā x_(k-1) + B̄ u_k with the exact Ā and B̄ of held samples
    becomes Ā^T x plus one product with the rows Ā^j B̄.
    """
    length = block.shape[-1]
    powers, rows = _held(measure, coefficients.shape[-1], window, block.device)
    for bit, power in enumerate(powers):
        if length >> bit & 1:
            coefficients = coefficients @ power
    return coefficients + block @ rows[BLOCK - length :]


def step_matrices(measure: str, order: int, window: float) -> tuple[Tensor, Tensor]:
    """Ā (N, N) and B̄ (N,) of one held sample, for a window of so many samples.

    Both at once, from the exponential of [[A, B], [0, 0]] times the step.
    """
    A, B = matrices(measure, order)
    # The published LegT and FouT have a window of length 2, LagT one of length 1.
    step = (1 if measure == "lagt" else 2) / window
    system = np.zeros((order + 1, order + 1))
    system[:order, :order], system[:order, order] = A * step, B * step
    held = torch.linalg.matrix_exp(torch.from_numpy(system))
    return held[:order, :order], held[:order, order]


@lru_cache(maxsize=8)
def _held(
    measure: str, order: int, window: float, device: torch.device
) -> tuple[list[Tensor], Tensor]:
    """(Ā^(2^i))^T for 2^i <= BLOCK, and the rows Ā^j B̄ for j = BLOCK-1, ..., 0 (oldest first)."""
    a, b = step_matrices(measure, order, window)
    powers, rows = [a.T], b.unsqueeze(0)
    while len(rows) < BLOCK:
        rows = torch.cat((rows @ powers[-1], rows))
        powers.append(powers[-1] @ powers[-1])
    dtype = wide(device)
    return [power.to(device, dtype) for power in powers], rows.to(device, dtype)


@lru_cache(maxsize=8)
def _legs_transposed(order: int) -> Tensor:
    """A^T of LegS, for rows of coefficients: (N, N)."""
    return torch.from_numpy(legs(order)[0]).T.contiguous()


@lru_cache(maxsize=8)
def _block_weights(order: int, length: int) -> Tensor:
    """The coefficients of a block by itself are block @ these: ∫ φ_n over each sample, (T, N)."""
    edges = torch.from_numpy(np.linspace(1, 0, length + 1))
    return -torch.diff(legendre_integral(order, edges), dim=0)


@lru_cache(maxsize=8)
def _nodes(order: int) -> tuple[Tensor, Tensor]:
    """N Gauss-Legendre nodes as ages (N,), and φ_n at node q times q's weight: (N, N) by [n, q].

    The latter is the inverse of φ at the nodes. Formed as such it leaves a stretch that fills the
    whole as it is, to the last digit.
    """
    ages = torch.from_numpy((1 - np.polynomial.legendre.leggauss(order)[0]) / 2)
    return ages, torch.linalg.inv(legendre(order, ages))
