"""A user's own series: .ts, .npz, .csv or .parquet, one file or a training and a test file."""

import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from eigenstate.data.series import Kind, Series, split_by_group
from eigenstate.data.tables import Columns, read_table
from eigenstate.data.ts_file import read_ts

ENDINGS = (".ts", ".npz", ".csv", ".parquet")
HELD_OUT = 0.2
# What can be asked of a user's own files, by the name of the task.
OWN: dict[str, Kind] = {"classify": "classification", "regress": "regression"}


def read_own(path: Path, *, kind: Kind, columns: Columns | None = None) -> Series:
    """Read one file by its ending: `read_ts`, `read_npz` or `read_table`.

    FileNotFoundError: no such file. ValueError: another ending, and what those readers refuse.
    """
    path = Path(path)
    if path.suffix not in ENDINGS:
        raise ValueError(f"data: expected a file ending in {', '.join(ENDINGS)}, got {path}")
    if not path.is_file():
        raise FileNotFoundError(f"data: no such file: {path}")
    if path.suffix == ".ts":
        return read_ts(path, kind)
    if path.suffix == ".npz":
        return read_npz(path, kind)
    return read_table(path, kind, columns or Columns())


def read_own_parts(
    path: Path, *, kind: Kind, seed: int, columns: Columns | None = None
) -> tuple[Series, Series]:
    """Return what to learn from and what to test on.

    A folder holds one file ending in _TRAIN and one in _TEST (NAME_TRAIN.ts, NAME_TEST.ts). Of a
    single file a fifth of the groups is held out by `seed`.
    FileNotFoundError, ValueError: neither; and what `read_own` and `split_by_group` refuse.
    """
    path = Path(path)
    if path.is_dir():
        train, test = (_the_one(path, part) for part in ("TRAIN", "TEST"))
        return (
            read_own(train, kind=kind, columns=columns),
            read_own(test, kind=kind, columns=columns),
        )
    series = read_own(path, kind=kind, columns=columns)
    return split_by_group(series, held_out=HELD_OUT, seed=seed)


def read_npz(path: Path, kind: Kind) -> Series:
    """Read arrays saved by numpy.savez.

    X        (N, L, C) or (N, L), each series at the start of its row; or, all one after another,
             (sum of lengths, C) with lengths. NaN is a missing value.
    lengths  (N,), optional: all L by default
    times    shaped like X without its channels, rising, optional
    y        (N,) classes or numbers; a regression's may be (N, D), or X's shape with D for C and NaN
             where nothing is asked; a number for each series is asked at its last sample. Optional.
    groups   (N,), optional: series of one group stay in one part of a split
    ValueError: another array, object arrays (which would need pickle), shapes that do not fit,
    times that do not rise, infinite values.
    """
    arrays = _load(path)
    x = _real(path, "X", arrays["X"])
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
        times = _cut(_shaped(path, "times", arrays["times"], x.shape[:-1]), lengths, stacked)
        _check_rising(path, times)
    labels, targets = None, None
    if "y" in arrays:
        y = arrays["y"]
        if kind == "classification":
            labels = tuple(map(str, _shaped(path, "y", y, (count,)).tolist()))
        else:
            targets = _targets(path, _real(path, "y", y), x, lengths, stacked)
    groups = names
    if "groups" in arrays:
        groups = tuple(map(str, _shaped(path, "groups", arrays["groups"], (count,)).tolist()))
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


def _the_one(folder: Path, part: str) -> Path:
    found = sorted(
        p for p in folder.iterdir() if p.stem.endswith(f"_{part}") and p.suffix in ENDINGS
    )
    if len(found) == 1:
        return found[0]
    wanted = ", ".join(f"*_{part}{ending}" for ending in ENDINGS)
    if not found:
        raise FileNotFoundError(f"data: found no {wanted} in {folder}")
    raise ValueError(f"data: expected one file like {wanted} in {folder}, got {len(found)}")


def _load(path: Path) -> dict[str, np.ndarray]:
    known = ("X", "lengths", "times", "y", "groups")
    try:
        # A handle of our own: NumPy leaves the one it opens open if the archive is damaged.
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            strange = sorted(set(stored.files) - set(known))
            if strange or "X" not in stored.files:
                raise ValueError(f"expected the arrays X and perhaps {', '.join(known[1:])}, "
                                 f"got {sorted(stored.files)}")  # fmt: skip
            return {name: stored[name] for name in stored.files}
    except (ValueError, OSError, EOFError, AttributeError, zipfile.BadZipFile) as error:
        hint = ""
        if "allow_pickle" in str(error):
            error, hint = ValueError("an array of objects"), (
                "; save series of unequal length one after another, with their lengths"
            )  # fmt: skip
        raise ValueError(f"{path}: not usable: {error}{hint}") from None


def _real(path: Path, name: str, array: np.ndarray) -> np.ndarray:
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{path}: expected real numbers in {name}, got {array.dtype}")
    return array.astype(np.float64)


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
    if x.ndim == 2 and given.sum() != len(x):
        raise ValueError(f"{path}: expected lengths with the sum {len(x)}, got {given.sum()}")
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


def _check_rising(path: Path, times: tuple[np.ndarray, ...]) -> None:
    for i, series in enumerate(times):
        back = np.flatnonzero(~(np.diff(series) > 0))
        if len(back):
            raise ValueError(
                f"{path}, series {i}: time {series[back[0] + 1]:g} at step {back[0] + 1} is not "
                f"later than the one before, {series[back[0]]:g}"
            )
