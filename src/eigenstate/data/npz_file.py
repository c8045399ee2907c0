"""A user's own arrays, saved by numpy.savez."""

from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from eigenstate.data.array_texts import is_missing, missing, texts
from eigenstate.data.damage import damaged
from eigenstate.data.series import Kind, Series
from eigenstate.data.times import check_rising, exact

KNOWN = ("X", "lengths", "times", "y", "groups")
ARCHIVE = (b"PK\x03\x04", b"PK\x05\x06")
ONE_ARRAY = b"\x93NUMPY"
ADVICE = "save it again with numpy.savez"


def read_npz(path: Path, kind: Kind, *, labelled: bool = True) -> Series:
    """Read arrays saved by numpy.savez.

    X        (N, L, C) or (N, L), each series at the start of its row; or, all one after another,
             (sum of lengths, C) with lengths. NaN is a missing value.
    lengths  (N,), optional: all L by default
    times    shaped like X without its channels, real and rising, optional
    y        (N,) classes or numbers; a regression's may be (N, D), or X's shape with D for C and NaN
             where nothing is asked; a number for each series is asked at its last sample. Optional.
    groups   (N,), optional: series of one group stay in one part of a split
    Without `labelled`, y is not looked at.
    ValueError naming the file, and the array or the series: not such an archive, damaged, another
    array, object arrays (which would need pickle), types or shapes that do not fit, times that do
    not rise, a class or a group that is missing.
    """
    arrays = _load(path, labelled)
    x = _numbers(path, "X", arrays["X"])
    stacked = x.ndim == 3 or "lengths" not in arrays
    if x.ndim == 2 and stacked:
        x = x[:, :, None]
    if x.ndim not in (2, 3) or 0 in x.shape:
        raise ValueError(
            f"{path}: expected X of shape (series, length, channels), or (sum of lengths, "
            f"channels) with lengths, got {x.shape}"
        )
    lengths = _lengths(path, x, arrays.get("lengths"))
    count = len(lengths)
    names = tuple(f"{path}, series {i}" for i in range(count))
    times = None
    if "times" in arrays:
        times = _shaped(path, "times", _real(path, "times", arrays["times"]), x.shape[:-1])
        times = tuple(map(exact, _cut(times, lengths, stacked), names))
        for name, series in zip(names, times, strict=True):
            check_rising(series, at=partial("{}, sample {}".format, name))
    labels, targets = None, None
    if "y" in arrays and kind == "classification":
        labels = _texts(path, "y", arrays["y"], count)
    elif "y" in arrays:
        targets = _targets(path, _numbers(path, "y", arrays["y"]), x, lengths, stacked)
    groups = names
    if "groups" in arrays:
        groups = _texts(path, "groups", arrays["groups"], count)
    return Series(
        names=names,
        ids=tuple(map(str, range(count))),
        groups=groups,
        channels=tuple(f"channel {c}" for c in range(x.shape[-1])),
        values=_cut(x, lengths, stacked),
        times=times,
        labels=labels,
        targets=targets,
    )


def _load(path: Path, labelled: bool) -> dict[str, np.ndarray]:
    # A handle of our own: NumPy leaves the one it opens open if the archive is damaged.
    with path.open("rb") as file:
        _check_archive(path, file)
        try:
            stored = np.load(file, allow_pickle=False)
        except Exception as error:
            raise damaged(path, "npz file", error, ADVICE) from error
        if "X" not in stored.files or not set(KNOWN).issuperset(stored.files):
            raise ValueError(
                f"{path}: expected the arrays X and perhaps {', '.join(KNOWN[1:])}, "
                f"got {sorted(stored.files)}"
            )
        names = [name for name in stored.files if labelled or name != "y"]
        return {name: _array(path, stored, name) for name in names}


def _check_archive(path: Path, file: BinaryIO) -> None:
    start = file.read(len(ONE_ARRAY))
    file.seek(0)
    if not start.startswith(ARCHIVE):
        got = "one array, saved by numpy.save" if start == ONE_ARRAY else "another kind of file"
        raise ValueError(f"{path}: expected arrays saved by numpy.savez, got {got}; {ADVICE}")


def _array(path: Path, stored: Any, name: str) -> np.ndarray:
    try:
        array = stored[name]
    except Exception as error:
        if "allow_pickle" not in str(error):
            raise damaged(path, f"array {name}", error, ADVICE) from error
        hint = f"save numbers or texts, such as {name}.astype(str)"
        if name == "X":
            hint = "save series of unequal length one after another, with their lengths"
        raise ValueError(f"{path}: {name} is an array of objects; {hint}") from error
    if isinstance(array, np.ndarray):
        return array
    raise ValueError(f"{path}: expected an array {name}, got bytes; {ADVICE}")


def _real(path: Path, name: str, array: np.ndarray) -> np.ndarray:
    if array.dtype.kind not in "biuf":
        hint = ""
        if array.dtype.kind in "mM":
            hint = "; save seconds: (t - t.min()) / numpy.timedelta64(1, 's')"
        raise ValueError(f"{path}: expected real numbers in {name}, got {array.dtype}{hint}")
    return array


def _numbers(path: Path, name: str, array: np.ndarray) -> np.ndarray:
    return _real(path, name, array).astype(np.float64)


def _texts(path: Path, name: str, array: np.ndarray, count: int) -> tuple[str, ...]:
    """Return one text for each series."""
    if array.dtype.kind not in "biufSU":
        raise ValueError(f"{path}: expected numbers or texts in {name}, got {array.dtype}")
    array = _shaped(path, name, array, (count,))
    try:
        entries = texts(array)
    except ValueError as error:
        raise damaged(path, f"array {name}", error, ADVICE) from error
    for i, entry in enumerate(entries):
        if is_missing(entry):
            raise missing(f"{path}, series {i}: {name}", entry)
    return tuple(entries)


def _shaped(path: Path, name: str, array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    if array.shape != shape:
        raise ValueError(f"{path}: expected {name} of shape {shape}, got {array.shape}")
    return array


def _lengths(path: Path, x: np.ndarray, given: np.ndarray | None) -> np.ndarray:
    if given is None:
        return np.full(len(x), x.shape[1])
    if given.dtype.kind not in "iu" or given.ndim != 1 or (given < 1).any():
        raise ValueError(f"{path}: expected lengths of at least 1, one for each series, whole")
    if x.ndim == 3 and (len(given) != len(x) or (given > x.shape[1]).any()):
        raise ValueError(f"{path}: expected {len(x)} lengths of at most {x.shape[1]}")
    total = sum(given.tolist())  # which cannot overflow
    if x.ndim == 2 and total != len(x):
        hint = ""
        if len(given) == len(x) and (given <= x.shape[1]).all():
            hint = "; padded series of one channel are saved as X[:, :, None]"
        raise ValueError(f"{path}: expected lengths with the sum {len(x)}, got {total}{hint}")
    return given.astype(np.int64)


def _cut(array: np.ndarray, lengths: np.ndarray, stacked: bool) -> tuple[Any, ...]:
    """Return the array of each series, without what is behind its end."""
    if stacked:
        return tuple(row[:length] for row, length in zip(array, lengths, strict=True))
    return tuple(np.split(array, np.cumsum(lengths)[:-1]))


def _targets(
    path: Path, y: np.ndarray, x: np.ndarray, lengths: np.ndarray, stacked: bool
) -> tuple[np.ndarray, ...]:
    count = len(lengths)
    if y.shape[: x.ndim - 1] == x.shape[:-1] and y.ndim == x.ndim:
        return _cut(y, lengths, stacked)
    if y.ndim not in (1, 2) or len(y) != count:
        raise ValueError(
            f"{path}: expected y of shape ({count},), ({count}, outputs), or "
            f"({', '.join(map(str, x.shape[:-1]))}, outputs), got {y.shape}"
        )
    numbers = y.reshape(count, -1)
    targets = tuple(np.full((length, numbers.shape[1]), np.nan) for length in lengths)
    for target, number in zip(targets, numbers, strict=True):
        target[-1] = number
    return targets
