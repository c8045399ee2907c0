"""Times of the samples of a series, in units that they share."""

from collections.abc import Callable

import numpy as np

# Of two whole numbers below this in size, the difference is an int64.
LARGEST = 2**62


def exact(times: np.ndarray) -> np.ndarray:
    """Return times as int64 where they are whole, and as float64 otherwise.

    float64 alone would merge times such as nanoseconds since 1970, and the types of fewer bits or
    without a sign cannot hold the gap between two of theirs.
    """
    whole = times.dtype.kind in "biu" and (
        times.size == 0 or max(abs(int(times.min())), abs(int(times.max()))) < LARGEST
    )
    return times.astype(np.int64 if whole else np.float64)


def digits(times: np.ndarray, k: int) -> str:
    """Return all digits of the time at `k`: two that differ look different."""
    return repr(times[k].item()).removesuffix(".0")


def check_rising(
    times: np.ndarray, at: Callable[[int], str], said: Callable[[int], str] | None = None
) -> None:
    """Check the times (L,) of one series; `at(k)` names a sample, `said(k)` its time.

    ValueError naming the sample: a time that is not finite, or not later than the one before.
    """
    said = said or (lambda k: digits(times, k))
    for k in np.flatnonzero(~np.isfinite(times)).tolist():
        raise ValueError(f"{at(k)}: expected a finite time, got {said(k)}; correct or drop it")
    for k in (1 + np.flatnonzero(times[1:] <= times[:-1])).tolist():
        raise ValueError(
            f"{at(k)}: the time {said(k)} is not later than the one before it, {said(k - 1)}; "
            "sort the samples and drop repeated ones"
        )
