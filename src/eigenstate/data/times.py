"""Times of the samples of a series, in units that they share."""

from collections.abc import Callable

import numpy as np

# Whole numbers below this in size are an int64.
LARGEST = 2**63
# Of numbers above this in size, float64 holds not even the whole ones.
CROWDED = 2**53


def exact(times: np.ndarray, what: str) -> np.ndarray:
    """Return times as int64 where they are whole, and as float64 otherwise; `what` names them.

    float64 alone would merge times such as nanoseconds since 1970, and the types of fewer bits or
    without a sign cannot hold the gap between two of theirs. Times that are no int64 are counted
    from the least of them. ValueError: gaps that are no int64 either.
    """
    if times.dtype.kind not in "biu" or times.size == 0:
        return times.astype(np.float64)
    least, most = int(times.min()), int(times.max())
    if most - least >= LARGEST:
        raise ValueError(
            f"{what}: times from {least} to {most} are too large to be subtracted; count them in "
            "a larger unit"
        )
    return (times - times.min() if most >= LARGEST else times).astype(np.int64)


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
    bad = np.flatnonzero(~np.isfinite(times))
    if len(bad):
        k = int(bad[0])
        raise ValueError(f"{at(k)}: expected a finite time, got {said(k)}; correct or drop it")
    bad = 1 + np.flatnonzero(times[1:] <= times[:-1])
    if len(bad):
        k = int(bad[0])
        advice = "sort the samples and drop repeated ones"
        if times.dtype.kind == "f" and times[k] == times[k - 1] and abs(times[k]) >= CROWDED:
            advice = "times this large cannot be told apart: subtract the first from all"
        raise ValueError(
            f"{at(k)}: the time {said(k)} is not later than the one before it, {said(k - 1)}; "
            f"{advice}"
        )
