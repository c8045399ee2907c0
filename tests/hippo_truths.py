"""Independent answers about HiPPO, and signals to remember: NumPy and SciPy, sample by sample."""

import numpy as np
import scipy.special
import truths

from eigenstate.systems import hippo


def functions(measure, order, ages):
    """φ_n by SciPy and by name: (T, N)."""
    n, ages = np.arange(order), np.asarray(ages, float)[:, None]
    if measure in ("legs", "legt"):
        return np.sqrt(2 * n + 1) * scipy.special.eval_legendre(n, 1 - 2 * ages)
    if measure == "lagt":
        return np.exp(-ages / 2) * scipy.special.eval_laguerre(n, ages)
    turns = np.where(n % 2, np.sin(2 * np.pi * (n // 2) * ages), np.cos(np.pi * n * ages))
    return turns * np.where(n < 2, 1, np.sqrt(2))


def legs_stepwise(samples, order):
    """x' = (A x + B u)/t is time-invariant in log t: one matrix exponential for each sample."""
    A, B = hippo.legs(order)
    x = np.eye(order)[0] * samples[0]  # all that is known of one held sample is its mean
    for k in range(1, len(samples)):
        a, b = truths.dense_zoh(A, B[:, None], np.log((k + 1) / k))
        x = a @ x + b[:, 0] * samples[k]
    return x


def stepwise(measure, samples, order, window):
    """One exact step of held input after the other."""
    A, B = hippo.matrices(measure, order)
    a, b = truths.dense_zoh(A, B[:, None], (1 if measure == "lagt" else 2) / window)
    x = np.zeros(order)
    for sample in samples:
        x = a @ x + b[:, 0] * sample
    return x


def noise(*shape):
    return np.random.default_rng(0).normal(size=shape)


def waves(signals, length, cycles):
    """Noise of unit variance with up to so many cycles over the whole length."""
    draw = np.random.default_rng(1).normal(size=(2, signals, cycles))
    spectrum = np.zeros((signals, length // 2 + 1), complex)
    spectrum[:, 1 : cycles + 1] = draw[0] + 1j * draw[1]
    signal = np.fft.irfft(spectrum, length)
    return signal / signal.std(axis=1, keepdims=True)


def relative(y, expected):
    return np.sqrt(np.mean((y - expected) ** 2, -1) / np.mean(expected**2, -1))
