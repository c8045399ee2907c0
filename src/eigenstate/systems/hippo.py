"""The four HiPPO memories as matrices, and the eigenbasis in which S5 starts.

A HiPPO memory keeps the coefficients x of the past on N basis functions by x' = A x + B u; which
past, and with what weight, is the measure. All of it is float64, in closed form.
"""

import difflib
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
ComplexArray = NDArray[np.complex128]


def legs(order: int) -> tuple[Array, Array]:
    """HiPPO-LegS, the memory that weights the whole past equally: A (N, N) and B (N,).

    A[n, k] = -sqrt((2n+1)(2k+1)) for n > k, -(n+1) for n = k, 0 above; B[n] = sqrt(2n+1).
    As a memory it runs in logarithmic time: x' = (A x + B u) / t.
    Source: Gu et al. 2020, "HiPPO", Theorem 2.
    """
    _check_order(order)
    root = _roots(order)
    lower = np.tril(np.outer(root, root), -1)
    return -lower - np.diag(np.arange(1.0, order + 1)), root


def legt(order: int) -> tuple[Array, Array]:
    """HiPPO-LegT, a sliding window of length 2: A (N, N) and B (N,).

    A[n, k] = -sqrt((2n+1)(2k+1))/2 · (1 for n >= k, (-1)^(n-k) above); B[n] = sqrt(2n+1)/2.
    For a window of length θ both are multiplied by 2/θ.
    Source: Gu et al. 2020, "HiPPO", Theorem 1, on orthonormal polynomials.
    """
    _check_order(order)
    root = _roots(order)
    parity = (-1.0) ** np.arange(order)
    signs = np.where(np.tri(order, dtype=bool), 1.0, np.outer(parity, parity))
    return -np.outer(root, root) * signs / 2, root / 2


def lagt(order: int) -> tuple[Array, Array]:
    """HiPPO-LagT, an exponentially fading window: A (N, N) and B (N,).

    A[n, k] = -1 for n > k, -1/2 for n = k, 0 above; B[n] = 1. For a window in which the weight
    exp(-age/θ) fades by e, both are multiplied by 1/θ.
    Source: Gu et al. 2020, "HiPPO", appendix D.2, with α = 0 and β = 1.
    """
    _check_order(order)
    return np.eye(order) / 2 - np.tri(order), np.ones(order)


def fout(order: int) -> tuple[Array, Array]:
    """HiPPO-FouT, a sliding window of length 2 in sines and cosines: A (N, N) and B (N,).

    B = (1, 0, sqrt 2, 0, sqrt 2, ...) are the functions' values now: a constant, an idle place in
    lieu of a sine of frequency 0, then cosine and sine of frequency k/2. A = F - B B^T, where F
    turns each pair by πk: F[2k, 2k+1] = -πk, F[2k+1, 2k] = πk. For a window of length θ both are
    multiplied by 2/θ.
    Source: Gu et al. 2023, "How to Train Your HiPPO". ValueError: an odd order.
    """
    _check_order(order)
    if order % 2:
        raise ValueError(
            f"order must be even for 'fout', whose functions come as cosine and sine, got {order}"
        )
    values = np.zeros(order)
    values[::2] = np.sqrt(2.0)
    values[0] = 1.0
    turns = np.zeros(order - 1)
    turns[::2] = np.pi * np.arange(order // 2)
    return np.diag(turns, -1) - np.diag(turns, 1) - np.outer(values, values), values


MEASURES: dict[str, Callable[[int], tuple[Array, Array]]] = {
    "legs": legs,
    "legt": legt,
    "lagt": lagt,
    "fout": fout,
}


def matrices(measure: str, order: int) -> tuple[Array, Array]:
    """A (N, N) and B (N,) of the measure: "legs", "legt", "lagt" or "fout". ValueError: another."""
    if measure not in MEASURES:
        near = difflib.get_close_matches(str(measure).lower(), MEASURES, 1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"measure must be one of {list(MEASURES)}, got {measure!r}{hint}")
    return MEASURES[measure](order)


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

    LegS itself has no such V (the condition of its eigenbasis is 1e19 at N = 32).
    """
    return unitary_eigenbasis(legs_normal(order))


def unitary_eigenbasis(normal: Array) -> tuple[ComplexArray, ComplexArray]:
    """Poles (N,) and unitary V (N, N) of a matrix that is skew-symmetric plus a multiple of I.

    The skew-symmetric part S gives a Hermitian -iS, so a symmetric eigensolver finds an exactly
    unitary V. Imaginary parts ascend, and mode N-1-k is the conjugate of mode k: with an even N
    the first half says everything.
    """
    half = len(normal) // 2
    diagonal = np.diag(normal)
    skew = normal - np.diag(diagonal)
    frequencies, basis = np.linalg.eigh(-1j * skew)
    frequencies, basis = frequencies[:half], basis[:, :half]
    # A frequency of 0 is its own conjugate. Two such modes (FouT) span a real plane, from which the
    # solver takes any two vectors, where a conjugate pair needs (a - ib)/√2; one is simply real.
    idle = len(normal) - np.linalg.matrix_rank(skew)
    still = np.linalg.svd(skew)[2][len(normal) - idle :]  # (idle, N)
    if idle == 2:
        frequencies[-1], basis[:, -1] = 0.0, (still[0] - 1j * still[1]) / np.sqrt(2.0)
    middle = still.T if idle == 1 else basis[:, :0]
    imaginary = np.concatenate([frequencies, np.zeros(middle.shape[1]), -frequencies[::-1]])
    poles = diagonal.mean() + 1j * imaginary
    return poles, np.hstack([basis, middle, basis[:, ::-1].conj()])


def _roots(order: int) -> Array:
    """sqrt(2n+1), the norms that make Legendre polynomials orthonormal: (N,)."""
    return np.sqrt(np.arange(1, 2 * order, 2, dtype=np.float64))


def _check_order(order: int) -> None:
    if order < 1:
        raise ValueError(f"order must be at least 1, got {order}")
