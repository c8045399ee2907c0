"""HiPPO-LegS, its normal part and the eigenbasis in which S5 starts."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
ComplexArray = NDArray[np.complex128]


def legs(order: int) -> tuple[Array, Array]:
    """HiPPO-LegS, the memory that weights the whole past equally: A (N, N) and B (N,).

    A[n, k] = -sqrt((2n+1)(2k+1)) for n > k, -(n+1) for n = k, 0 above; B[n] = sqrt(2n+1).
    Source: Gu et al. 2020, "HiPPO", Theorem 2.
    """
    _check_order(order)
    root = np.sqrt(2 * np.arange(order) + 1.0)
    lower = np.tril(np.outer(root, root), -1)
    return -lower - np.diag(np.arange(order) + 1.0), root


def legs_low_rank(order: int) -> Array:
    """The vector p (N,) for which LegS + p p^T is normal: p[n] = sqrt(n + 1/2).

    Source: Smith et al. 2023 (S5), section 4.2.
    """
    _check_order(order)
    return np.sqrt(np.arange(order) + 0.5)


def legs_normal(order: int) -> Array:
    """HiPPO-N (N, N), the normal part of LegS: A + p p^T = -I/2 + a skew-symmetric matrix.

    Source: Smith et al. 2023 (S5), section 4.2 and appendix B.1.
    """
    dynamics, _ = legs(order)
    p = legs_low_rank(order)
    return dynamics + np.outer(p, p)


def eigenbasis(order: int) -> tuple[ComplexArray, ComplexArray]:
    """Poles (N,) and unitary V (N, N) with HiPPO-N = V diag(poles) V^*, imaginary parts ascending.

    The skew-symmetric part S gives a Hermitian -iS, so a symmetric eigensolver finds an exactly
    unitary V, which LegS itself does not have (the condition of its eigenbasis is 1e19 at N = 32).
    """
    normal = legs_normal(order)
    diagonal = np.diag(normal)
    frequencies, basis = np.linalg.eigh(-1j * (normal - np.diag(diagonal)))
    return diagonal.mean() + 1j * frequencies, basis


def _check_order(order: int) -> None:
    if order < 1:
        raise ValueError(f"order must be at least 1, got {order}")
