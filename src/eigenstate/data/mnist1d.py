"""MNIST-1D: ten hand-drawn curves, padded, moved, tilted and buried in noise (Greydanus, 2020).

Generated, not downloaded: the published constants and the order in which its random numbers are
drawn give the official arrays to rounding. S. Greydanus and D. Kobak, "Scaling Down Deep Learning
with MNIST-1D", arXiv:2011.14439, section 3; constants from github.com/greydanus/mnist1d
(Apache-2.0).
"""

from dataclasses import replace
from functools import lru_cache

import numpy as np

from eigenstate.data.base import Splits, Task
from eigenstate.data.sequences import Sequences

TRAIN, TEST = 4000, 1000
SEED = 42
GRID = 72  # points of a signal before it is sampled at the length asked for
PADDING = 36, 60
SCALE = 0.4
TRANSLATION = 48
SMOOTH_NOISE, WHITE_NOISE = 0.25, 0.02
TILT = 0.75

# The digits 0 .. 9 as curves of 12 points.
STROKES = np.array(
    [
        [5, 6, 6.5, 6.75, 7, 7, 7, 7, 6.75, 6.5, 6, 5],
        [5, 3, 3, 3.4, 3.8, 4.2, 4.6, 5, 5.4, 5.8, 5, 5],
        [5, 6, 6.5, 6.5, 6, 5.25, 4.75, 4, 3.5, 3.5, 4, 5],
        [5, 6, 6.5, 6.5, 6, 5, 5, 6, 6.5, 6.5, 6, 5],
        [5, 4.4, 3.8, 3.2, 2.6, 2.6, 5, 5, 5, 5, 5, 5],
        [5, 3, 3, 3, 3, 5, 6, 6.5, 6.5, 6, 4.5, 5],
        [5, 4, 3.5, 3.25, 3, 3, 3, 3, 3.25, 3.5, 4, 5],
        [5, 7, 7, 6.6, 6.2, 5.8, 5.4, 5, 4.6, 4.2, 5, 5],
        [5, 4, 3.5, 3.5, 4, 5, 5, 4, 3.5, 3.5, 4, 5],
        [5, 4, 3.5, 3.5, 4, 5, 5, 5, 5, 4.7, 4.3, 5],
    ]
)


def load(length: int = 40) -> Splits:
    """Return the 4,000 training and 1,000 test sequences (length, 1).

    The same signals, labels and split at every length: two neighbours at length L are
    39 / (L - 1) intervals of the published length 40 apart, which is the `dt` to use there.
    ValueError: a length that is not a whole number of at least 2.
    """
    x, y = arrays(length)

    def part(rows: slice) -> Sequences:
        return Sequences(x[rows, :, None], y[rows], class_names=MNIST1D.class_names)

    return Splits(part(slice(TRAIN)), part(slice(TRAIN, None)))


@lru_cache(maxsize=4)
def arrays(length: int = 40) -> tuple[np.ndarray, np.ndarray]:
    """Return x (5000, length) in float64 and y (5000,), read-only, training rows first.

    Mean 0 and deviation 1 over the whole of x, as published. Beyond 72 points the signal between
    grid points is a straight line.
    """
    if isinstance(length, bool) or not isinstance(length, int) or length < 2:
        raise ValueError(f"length: expected a whole number of at least 2, got {length!r}")
    signals, y = _signals()
    x = np.stack([_resample(signal, length) for signal in signals])
    x = (x - x.mean()) / x.std()
    x.setflags(write=False)
    return x, y


@lru_cache(maxsize=1)
def _signals() -> tuple[np.ndarray, np.ndarray]:
    """Draw all signals (5000, 72) and their labels, shuffled, from a generator of their own."""
    rng = np.random.RandomState(SEED)
    strokes = _strokes()
    y = np.repeat(np.arange(len(strokes)), (TRAIN + TEST) // len(strokes))
    signals = np.stack([_signal(strokes[label], rng) for label in y])
    order = rng.permutation(len(y))
    signals, y = signals[order], y[order]
    signals.setflags(write=False)
    y.setflags(write=False)
    return signals, y


def _strokes() -> np.ndarray:
    """Standardise each stroke, let it start (and so end) at 0, and shrink it to a sixth."""
    strokes = STROKES - STROKES.mean(axis=1, keepdims=True)
    strokes /= strokes.std(axis=1, keepdims=True)
    return (strokes - strokes[:, :1]) / 6


def _signal(stroke: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """Hide one stroke (12,) in a signal (72,). The order of the random draws is the data's seed."""
    padding = PADDING[0] + int(rng.rand() * (PADDING[1] - PADDING[0] + 1))
    # The offset keeps the stroke's own zeros apart from the padding's, where noise goes.
    signal = _resample(np.pad(stroke + 1e-8, (0, padding)), GRID)
    signal *= 1 + SCALE * (rng.rand() - 0.5)
    signal = np.roll(signal, rng.randint(TRANSLATION))
    smooth = _SMOOTHING @ (SMOOTH_NOISE * rng.randn(GRID))
    white = WHITE_NOISE * rng.randn(GRID)
    tilt = TILT * (rng.rand() - 0.5)
    return np.where(signal == 0, smooth, signal) + white - tilt * np.linspace(-0.5, 0.5, GRID)


def _resample(signal: np.ndarray, length: int) -> np.ndarray:
    """Sample the straight lines through `signal` at `length` even points, ends included."""
    return np.interp(np.linspace(0, 1, length), np.linspace(0, 1, len(signal)), signal)


def _smoothing(size: int, sigma: float) -> np.ndarray:
    """Return the Gaussian filter as a matrix: cut at 4 sigma, edges mirrored (c b a | a b c)."""
    radius = int(4 * sigma + 0.5)
    offsets = np.arange(-radius, radius + 1)
    weights = np.exp(-0.5 * (offsets / sigma) ** 2)
    weights /= weights.sum()
    columns = (np.arange(size)[:, None] + offsets) % (2 * size)
    columns = np.minimum(columns, 2 * size - 1 - columns)
    matrix = np.zeros((size, size))
    np.add.at(matrix, (np.arange(size)[:, None], columns), weights)
    return matrix


_SMOOTHING = _smoothing(GRID, 2)

MNIST1D = Task(
    name="mnist1d",
    summary="which of ten curves is hidden in a noisy signal: 4,000 + 1,000 generated, 40 steps",
    kind="classification",
    d_input=1,
    class_names=tuple("0123456789"),
    max_length=40,
    source="MNIST-1D, S. Greydanus and D. Kobak, arXiv:2011.14439, generated by its constants",
    licence="Apache-2.0",
    standardize=True,
    loader=load,
)


def mnist1d_at(length: int) -> Task:
    """Return the task at another rate: the same signals in `length` samples.

    ValueError: a length below 2.
    """
    if length < 2:
        raise ValueError(f"length: expected a whole number of at least 2, got {length!r}")
    return replace(
        MNIST1D,
        name=f"mnist1d-{length}",
        summary=MNIST1D.summary.replace("40 steps", f"{length} steps"),
        max_length=length,
        loader=lambda: load(length),
    )
