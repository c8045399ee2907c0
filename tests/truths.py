"""Independent answers in NumPy and SciPy, slow and plain; nothing here comes from the package.

Complex numbers are complex128 here. The layers keep real planes (an axis of length 2 before the
mode axis): `planes` and `merge` go from one to the other.
"""

from itertools import pairwise

import mpmath
import numpy as np
import scipy.linalg


def merge(planes, axis=-2):
    """Real planes (..., 2, P) to complex (..., P)."""
    real, imaginary = np.moveaxis(array(planes), axis, 0)
    return real + 1j * imaginary


def planes(values, axis=-2):
    """Complex (..., P) to real planes (..., 2, P)."""
    return np.stack([np.real(values), np.imag(values)], axis=axis)


def array(values):
    """A tensor or anything array-like, as a NumPy array of at least double precision."""
    values = values.detach().numpy() if hasattr(values, "detach") else np.asarray(values)
    return values.astype(np.result_type(values.dtype, np.float64))


def error(got, expected):
    """Largest difference in units of the largest expected value (infinite if a NaN differs)."""
    got, expected = array(got), array(expected)
    if got.shape != expected.shape:
        raise AssertionError(f"shape {got.shape} instead of {expected.shape}")
    if got.size == 0:
        return 0.0
    difference = np.abs(got - expected)
    both_nan = np.isnan(got) & np.isnan(expected)
    difference = np.where(both_nan, 0.0, difference)
    scale = np.nanmax(np.where(np.isfinite(expected), np.abs(expected), 0.0))
    worst = np.max(np.where(np.isnan(difference), np.inf, difference))
    return worst / scale if scale > 0 else worst


def slope(function, x, direction, h=1e-3):
    """d/ds function(x + s direction) at 0: eighth-order central differences, good to ~1e-11."""
    weights = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
    return (
        sum(
            weight * (function(x + k * h * direction) - function(x - k * h * direction))
            for k, weight in weights.items()
        )
        / h
    )


# Systems: Gu et al. 2020 (HiPPO), appendix D; Gu et al. 2022 (S4), section 3.


def legs(size):
    """HiPPO-LegS, entry by entry: A (N, N), B (N,)."""
    A, B = np.zeros((size, size)), np.zeros(size)
    for n in range(size):
        B[n] = np.sqrt(2 * n + 1)
        for k in range(n):
            A[n, k] = -np.sqrt(2 * n + 1) * np.sqrt(2 * k + 1)
        A[n, n] = -(n + 1)
    return A, B


def legs_low_rank(size):
    """The p for which A + p pᵀ is normal."""
    return np.array([np.sqrt(n + 0.5) for n in range(size)])


def phi1(z):
    """(eᶻ - 1) / z with 60 digits, 1 at 0."""
    with mpmath.workdps(60):
        z = mpmath.mpc(complex(z))
        return complex(mpmath.expm1(z) / z) if z != 0 else 1.0 + 0j


def zoh(pole, step):
    """a = exp(λΔ), gain = ∫₀^Δ exp(λs) ds: the quotient where it is safe, a power series elsewhere.

    Fast enough for whole layers; the tests hold it against `phi1` and `dense_zoh`.
    """
    pole, step = np.broadcast_arrays(np.asarray(pole, complex), step)
    z = pole * step
    small = np.abs(z) < 1
    near, far = np.where(small, z, 0), np.where(small, 1, z)
    series, term = np.zeros_like(z), np.ones_like(z)
    for k in range(1, 20):
        term = term / k
        series, term = series + term, term * near
    return np.exp(z), step * np.where(small, series, (np.exp(far) - 1) / far)


def bilinear(pole, step):
    """(1 - λΔ/2) [a, gain] = [1 + λΔ/2, Δ], solved."""
    pole, step = np.broadcast_arrays(np.asarray(pole, complex), step)
    left = (1 - pole * step / 2)[..., None, None]
    right = np.stack([1 + pole * step / 2, step], axis=-1)[..., None, :]
    answer = np.linalg.solve(left, right)
    return answer[..., 0, 0], answer[..., 0, 1]


def dense_zoh(A, B, step):
    """Ā, B̄ of a dense system from the exponential of [[A, B], [0, 0]] Δ."""
    n, m = B.shape
    system = np.zeros((n + m, n + m), np.result_type(A, B))
    system[:n, :n], system[:n, n:] = A, B
    answer = scipy.linalg.expm(system * step)
    return answer[:n, :n], answer[:n, n:]


def dense_bilinear(A, B, step):
    """Ā, B̄ of a dense system by solving (I - AΔ/2) [Ā B̄] = [I + AΔ/2, BΔ]."""
    eye = np.eye(len(A))
    answer = np.linalg.solve(eye - A * step / 2, np.hstack([eye + A * step / 2, B * step]))
    return answer[:, : len(A)], answer[:, len(A) :]


# The recurrence.


def recurrence(a, b, state=None, reverse=False):
    """x_k = a_k x_(k-1) + b_k, one sample after another; b (..., L, P), a broadcastable to it.

    A multiplier of exactly 0 forgets whatever came before, NaN included.
    """
    b = np.asarray(b)
    dtype = np.result_type(a, b, np.float64, *([] if state is None else [state]))
    a = np.broadcast_to(a, b.shape)
    x = np.zeros((*b.shape[:-2], b.shape[-1]), dtype) if state is None else np.array(state, dtype)
    states = np.zeros(b.shape, dtype)
    for k in reversed(range(b.shape[-2])) if reverse else range(b.shape[-2]):
        x = np.where(a[..., k, :] == 0, 0, a[..., k, :] * x) + b[..., k, :]
        states[..., k, :] = x
    return states, x


# The S5 layer: Smith, Warrington, Linderman 2023, sections 3 and 4 and appendix B.


def s5(parameters, settings, u, state=None, dt=None, resets=None, lengths=None):
    """The whole layer: y (B, L, H), final state (B, P), trajectory (B, L, P), complex.

    parameters: arrays by the layer's names. Every row is cut at its resets and at its own
    length, and every piece is run alone: nothing can pass from one to another.
    """
    state = None if state is None else merge(state)
    return in_runs(_S5(parameters, settings), array(u), state, dt, resets, lengths)


def in_runs(system, u, state=None, dt=None, resets=None, lengths=None):
    """Cut every row into uninterrupted pieces and let `system.run` each of them."""
    batch, length, _ = u.shape
    dt = array(1.0 if dt is None else dt)
    rate = dt if dt.ndim == 0 else 1.0  # the gap after a piece's last sample
    dt = np.broadcast_to(dt, (batch, length))
    resets = np.zeros((batch, length), bool) if resets is None else np.asarray(resets)
    y, states = np.zeros(u.shape), np.zeros((batch, length, system.modes), complex)
    final = np.zeros((batch, system.modes), complex) if state is None else np.array(state)
    for row in range(batch):
        end = length if lengths is None else int(lengths[row])
        cuts = [0, *(k for k in range(1, end) if resets[row, k]), end]
        for start, stop in pairwise(cuts):
            piece = slice(start, stop)
            if start < stop and resets[row, start]:
                final[row] = 0
            y[row, piece], states[row, piece], final[row] = system.run(
                u[row, piece], dt[row, piece], rate, final[row]
            )
    return y, final, states


class _S5:
    def __init__(self, parameters, settings):
        values = {name: array(value) for name, value in parameters.items()}
        real, imaginary = values["spectrum.poles"]
        real = {
            "exp": lambda x: -np.exp(x),
            "clip": lambda x: np.minimum(x, -1e-4),
            "free": lambda x: x,
        }[settings["stability"]](real)
        self.poles = real + 1j * imaginary
        self.modes = len(real)
        self.timescale = np.exp(values["spectrum.log_timescale"])  # (P,) or (1,)
        self.B = values["B"][0] + 1j * values["B"][1]  # (P, H)
        self.C = merge(values["C"])  # (H, P)
        self.C_reverse = merge(values["C_reverse"]) if "C_reverse" in values else None
        self.D = values["D"]
        self.factor = 2 if settings["conjugate"] else 1
        self.discretize = {"zoh": zoh, "bilinear": bilinear}[settings["discretization"]]

    def run(self, u, dt, rate, state):
        """One uninterrupted piece: u (L, H), dt (L,), state (P,)."""
        if len(u) == 0:
            return u, np.zeros((0, self.modes)), state
        projected = u @ self.B.T
        a, gain = self.discretize(self.poles, self.timescale * dt[:, None])
        states, final = recurrence(a, gain * projected, state)
        y = self.factor * (states @ self.C.T).real + u * self.D
        if self.C_reverse is not None:
            # The gap after a sample is the backward direction's interval; the last has none.
            after = np.append(dt[1:], rate)
            a, gain = self.discretize(self.poles, self.timescale * after[:, None])
            back, _ = recurrence(a, gain * projected, reverse=True)
            y = y + self.factor * (back @ self.C_reverse.T).real
        return y, states, final
