"""HiPPO matrices as a normal matrix minus a low rank, which is how S4 can diagonalise them.

A = V (diag(poles) - Σ_r p_r p_r^*) V^* with a unitary V, where A's own eigenvectors are too nearly
parallel to compute with. Source: Gu et al. 2022 (S4), Theorem 1 and appendix C.
"""

from typing import NamedTuple

import numpy as np

from eigenstate.systems.hippo import Array, ComplexArray, matrices, unitary_eigenbasis

# A basis of condition c costs log10(c) of float64's 16 digits; past 8 there are fewer left than
# float32 has.
_WORST_CONDITION = 1e8


class DiagonalPlusLowRank(NamedTuple):
    """A = V (diag(poles) - P^T conj(P)) V^* and the input vector, in the basis V.

    poles (N,), imaginary parts ascending; P (R, N), one row per rank; B (N,); V (N, N), unitary.
    Mode N-1-k is the conjugate of mode k in each of them.
    """

    poles: ComplexArray
    P: ComplexArray
    B: ComplexArray
    V: ComplexArray


def correction(measure: str, order: int) -> Array:
    """P (R, N), real, for which A + P^T P is skew-symmetric plus a multiple of I.

    legs: R = 1, P[n] = sqrt(n + 1/2). legt: R = 2, the same values, odd n in the first row and even
    n in the second. lagt: R = 1, P[n] = sqrt(1/2). fout: R = 1, P = B.
    Source: Gu et al. 2022 (S4), appendix C.1, and Gu et al. 2023, "How to Train Your HiPPO".
    """
    _, B = matrices(measure, order)
    if measure == "fout":
        return B[None]
    if measure == "lagt":
        return np.full((1, order), np.sqrt(0.5))
    root = np.sqrt(np.arange(order) + 0.5)
    if measure == "legs":
        return root[None]
    odd = np.arange(order) % 2 == 1
    return np.stack([np.where(odd, root, 0.0), np.where(odd, 0.0, root)])


def normal_part(measure: str, order: int) -> Array:
    """A + P^T P (N, N): skew-symmetric plus -I/2 for legs, skew-symmetric for the others."""
    A, _ = matrices(measure, order)
    P = correction(measure, order)
    return A + P.T @ P


def dplr(measure: str, order: int) -> DiagonalPlusLowRank:
    """The measure's A and B in the eigenbasis of its normal part. ValueError: unknown measure."""
    _, B = matrices(measure, order)
    poles, V = unitary_eigenbasis(normal_part(measure, order))
    adjoint = V.conj().T
    return DiagonalPlusLowRank(poles, correction(measure, order) @ V.conj(), adjoint @ B, V)


def diagonalize(A: Array | ComplexArray) -> tuple[ComplexArray, ComplexArray]:
    """Poles (N,) and V (N, N) with A = V diag(poles) V^-1, if numbers can carry it.

    ValueError: the condition number of V is above 1e8, as for LegS from N = 13 on and for LagT,
    which has one eigenvector.
    """
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise ValueError(f"A must be a square matrix, got shape {A.shape}")
    if not np.isfinite(A).all():
        raise ValueError("A must be finite, got NaN or infinity")
    poles, V = np.linalg.eig(A)
    condition = np.linalg.cond(V)
    if not condition <= _WORST_CONDITION:
        raise ValueError(
            f"A must have well-separated eigenvectors to be diagonalised, got an eigenbasis of "
            f"condition number {condition:.1e} (at most {_WORST_CONDITION:.0e}), which would cost "
            f"{min(16, round(np.log10(min(condition, 1e16))))} of 16 digits; for a HiPPO matrix "
            "use dplr(measure, order), whose basis is unitary"
        )
    return poles.astype(np.complex128), V.astype(np.complex128)
