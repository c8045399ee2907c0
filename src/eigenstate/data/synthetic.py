"""Small tasks that ask for memory and nothing else, drawn in memory: same seed, same numbers.

Defaults are those of the S4 experiments, A. Gu et al., arXiv:2111.00396 and arXiv:2206.12037; the
copying and the adding task are S. Hochreiter and J. Schmidhuber's, Neural Computation 9(8), 1997,
in the form of M. Arjovsky et al., arXiv:1511.06464.
"""

import numpy as np

from eigenstate.data.targets import StepTargets


def copy(
    count: int, *, seed: int, noise: int = 100, memorize: int = 10, n_tokens: int = 10
) -> StepTargets:
    """Show `memorize` tokens, then `noise` blanks; then ask for the tokens, one at each marker.

    u (noise + 2 memorize,) of n_tokens tokens: 0 blank, n_tokens - 1 the marker, and in between
    what has to be remembered. Targets are asked at the last `memorize` steps. Chance: one right
    in n_tokens - 2.
    """
    return _copy(count, seed, (noise, memorize, n_tokens), selective=False)


def selective_copy(
    count: int, *, seed: int, noise: int = 100, memorize: int = 10, n_tokens: int = 10
) -> StepTargets:
    """As `copy`, but the tokens stand at random places among the blanks, in order."""
    return _copy(count, seed, (noise, memorize, n_tokens), selective=True)


def adding(count: int, *, seed: int, length: int = 1000) -> StepTargets:
    """Ask, at the last step, for the sum of the two marked numbers.

    u (length, 2): numbers uniform in 0 .. 1, and a 1 beside two of them, one in each half. Answering
    1 always has a mean squared error of 1 / 6.
    """
    _check("count", count, 1)
    _check("length", length, 2)
    rng = np.random.default_rng(seed)
    half, rows = length // 2, np.arange(count)
    u = np.zeros((count, length, 2), np.float32)
    u[:, :, 0] = rng.random((count, length), np.float32)
    marked = rng.integers(0, half, count), rng.integers(half, length, count)
    total = np.zeros((count, 1, 1), np.float32)
    for place in marked:
        u[rows, place, 1] = 1
        total[:, 0, 0] += u[rows, place, 0]
    return StepTargets(u, total)


def delay(
    count: int, *, seed: int, length: int = 4000, lag: int = 1000, band: float = 0.5
) -> StepTargets:
    """Ask, at every step, for the input `lag` steps before; for 0 at the first `lag` steps.

    u (length, 1) is noise of root mean square 0.5 without frequencies above `band`, as a share of
    half the sampling rate.
    """
    _check("lag", lag, 0)
    u = _noise(count, seed, length, band)
    target = np.zeros_like(u)
    target[:, lag:] = u[:, : max(length - lag, 0)]
    return StepTargets(u, target)


def reconstruct(
    count: int, *, seed: int, length: int = 1024, window: int = 512, band: float = 0.5
) -> StepTargets:
    """Ask, at the last step, for the last `window` inputs at once: targets (1, window), in order.

    u (length, 1) is noise as for `delay`.
    """
    u = _noise(count, seed, length, band)
    _check("window", window, 1, length)
    return StepTargets(u, u[:, None, length - window :, 0])


def _copy(count: int, seed: int, sizes: tuple[int, int, int], *, selective: bool) -> StepTargets:
    noise, memorize, n_tokens = sizes
    _check("count", count, 1)
    _check("noise", noise, 0)
    _check("memorize", memorize, 1)
    _check("n_tokens", n_tokens, 3)
    rng = np.random.default_rng(seed)
    tokens = rng.integers(1, n_tokens - 1, (count, memorize))
    u = np.zeros((count, noise + 2 * memorize), np.int64)
    u[:, noise + memorize :] = n_tokens - 1
    places = np.tile(np.arange(memorize), (count, 1))
    if selective:
        # The first of a random order are a set of places without repetition.
        order = rng.random((count, noise + memorize)).argsort(axis=1)
        places = np.sort(order[:, :memorize], axis=1)
    np.put_along_axis(u, places, tokens, axis=1)
    return StepTargets(u, tokens)


def _noise(count: int, seed: int, length: int, band: float) -> np.ndarray:
    """Return white noise (count, length, 1) with what lies above the band taken away."""
    _check("count", count, 1)
    _check("length", length, 1)
    if not 0 < band <= 1:
        raise ValueError(f"band: expected a share of half the sampling rate, 0 to 1, got {band}")
    white = np.random.default_rng(seed).standard_normal((count, length))
    spectrum = np.fft.rfft(white)
    kept = np.fft.rfftfreq(length) <= band / 2
    # Each frequency carries a sine and a cosine, save the first and, of an even length, the last.
    weights = np.full(len(kept), 2.0)
    weights[0] = 1
    if length % 2 == 0:
        weights[-1] = 1
    power = (weights * kept).sum() / length
    noise = np.fft.irfft(spectrum * kept, length) * (0.5 / np.sqrt(power))
    return noise[:, :, None].astype(np.float32)


def _check(name: str, value: int, least: int, most: int | None = None) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{name}: expected a whole number of at least {least}, got {value!r}")
    if most is not None and value > most:
        raise ValueError(f"{name}: expected at most {most}, got {value}")
