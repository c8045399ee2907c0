"""Tables of a user: one row a sample, in csv or parquet. The one door to pyarrow.

The columns are id, time, any number of channels, and label; `Columns` gives them other names.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from eigenstate.data.array_texts import NO_NUMBER, as_text, is_missing, is_number, missing
from eigenstate.data.damage import damaged
from eigenstate.data.series import Kind, Series
from eigenstate.data.times import check_rising, digits, exact
from eigenstate.data.utf8 import first_fault

TICKS = {"s": 1, "ms": 1e3, "us": 1e6, "ns": 1e9}  # in a second


@dataclass(frozen=True)
class Columns:
    """Which column is what.

    Without a column `time` samples are one interval apart; without `label` nothing is asked.
    `group` names a column whose series stay in one part of a split; by default each id is its own.
    `channels` are all other columns, in their order, unless they are named here.
    """

    id: str = "id"
    time: str = "time"
    label: str = "label"
    group: str | None = None
    channels: Sequence[str] | None = None


@dataclass(frozen=True)
class _Table:
    """The columns of one file, and how to speak of one of its rows."""

    path: Path
    first_row: int  # 2 under a csv header, 0 in a parquet file
    columns: dict[str, Any]  # of pyarrow

    def at(self, row: int) -> str:
        return f"{self.path}, row {row + self.first_row}"


def read_table(path: Path, kind: Kind, columns: Columns, *, labelled: bool = True) -> Series:
    """Read a .csv or .parquet file; a csv has a header and commas.

    Rows of one id are one series, in their order. A time is a number, or a date, a duration or a
    time of the day (in seconds). An empty field, ? or NaN is a missing value. A class must be the
    same in all rows of an id; a regression's label is asked where it stands, and nothing where it
    is empty. Without `labelled`, the label is not looked at.
    ValueError naming file and row (a csv's header is row 1): not a table, a row of another width,
    a column that is missing or no number, an id, a time or a class that is missing, a time that is
    infinite or not later than the one before, a class that changes.
    """
    classes = [columns.label] * (labelled and kind == "classification")
    texts = [columns.id, columns.group, *classes]
    table = _read_parquet(path) if path.suffix == ".parquet" else _read_csv(path, texts)
    count = len(next(iter(table.columns.values()))) if table.columns else 0
    if count == 0:
        raise ValueError(f"{path}: expected at least one row below the column names, got none")
    rows = _rows_of(table, columns.id)
    names = _channels(table, columns)
    values = np.stack([_numbers(table, name) for name in names], axis=1)  # (rows, C)
    groups = _constant(table, rows, columns.group) if columns.group is not None else tuple(rows)
    labels, targets = None, None
    if labelled and columns.label in table.columns:
        if kind == "classification":
            labels = _constant(table, rows, columns.label)
        else:
            numbers = _numbers(table, columns.label)[:, None]
            targets = tuple(numbers[where] for where in rows.values())
    return Series(
        names=tuple(f"{path}, {columns.id} {name!r}" for name in rows),
        ids=tuple(rows),
        groups=groups,
        channels=names,
        values=tuple(values[where] for where in rows.values()),
        times=_times(table, rows, columns) if columns.time in table.columns else None,
        labels=labels,
        targets=targets,
    )


# --- files ----------------------------------------------------------------------------------------


def _read_csv(path: Path, texts: Sequence[str | None]) -> _Table:
    pyarrow = _pyarrow()
    if path.stat().st_size == 0:
        raise ValueError(f"{path}: the file is empty")
    convert = pyarrow.csv.ConvertOptions(
        null_values=NO_NUMBER,
        strings_can_be_null=False,  # a class may be called None
        column_types={name: pyarrow.string() for name in texts if name is not None},
    )
    read = pyarrow.csv.ReadOptions(use_threads=False)  # and so errors name their row
    parse = pyarrow.csv.ParseOptions(newlines_in_values=True)
    try:
        table = pyarrow.csv.read_csv(path, read, parse, convert)
        names = table.column_names
    except (pyarrow.ArrowException, UnicodeDecodeError) as error:
        why = f"{error}"
        if "straddling" in why:  # two of the blocks of a megabyte in which it reads
            why = "a quote never ends, or a row is longer than a megabyte"
        raise first_fault(path) or ValueError(f"{path}: not a table: {why}") from None
    if "\0" in "".join(names) or any(map(pyarrow.types.is_binary, table.schema.types)):
        raise first_fault(path) or ValueError(f"{path}: not a table of text")
    return _table(path, 2, names, table.columns)


def _read_parquet(path: Path) -> _Table:
    pyarrow = _pyarrow()
    try:
        # Not read_table: that reads folders of files, and gives columns to folder names.
        table = pyarrow.parquet.ParquetFile(path).read()
        table.validate(full=True)  # its texts, which are otherwise decoded where they are used
        names = table.column_names
    except Exception as error:
        raise damaged(path, "parquet file", error, "write it again") from error
    return _table(path, 0, names, table.columns)


def _table(path: Path, first_row: int, names: Sequence[str], columns: Sequence[Any]) -> _Table:
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"{path}: the columns {repeated} come more than once; rename them")
    return _Table(path, first_row, dict(zip(names, columns, strict=True)))


def _pyarrow() -> Any:
    try:
        import pyarrow.compute
        import pyarrow.csv
        import pyarrow.parquet
    except ImportError:
        raise ImportError("tables need pyarrow: pip install 'eigenstate[data]'") from None
    return pyarrow


# --- columns --------------------------------------------------------------------------------------


def _channels(table: _Table, columns: Columns) -> tuple[str, ...]:
    named = {name: getattr(columns, name) for name in ("id", "time", "label")}
    used = {*named.values(), columns.group} - {None}
    names = tuple(name for name in table.columns if name not in used)
    if columns.channels is not None:
        names = tuple(columns.channels)
        absent = [name for name in names if name not in table.columns]
        if absent:
            raise ValueError(
                f"{table.path}: the channels {absent} are not among its columns "
                f"{list(table.columns)}"
            )
        for role, name in named.items():
            if name in names:
                raise ValueError(
                    f"{table.path}: the column {name!r} cannot be a channel and the {role}; take "
                    "it out of the channels"
                )
    if not names:
        raise ValueError(
            f"{table.path}: expected a column for each channel beside {sorted(used)}, got only "
            f"{list(table.columns)}"
        )
    return names


def _numbers(table: _Table, name: str) -> np.ndarray:
    """Return a column as float64, NaN where it is empty."""
    pyarrow, column = _pyarrow(), table.columns[name]
    kind = column.type
    if pyarrow.types.is_null(kind):
        return np.full(len(column), np.nan)
    number = pyarrow.types.is_integer(kind) or pyarrow.types.is_floating(kind)
    if number or pyarrow.types.is_boolean(kind) or pyarrow.types.is_decimal(kind):
        # Unsafe is a whole number that float64 rounds.
        return column.cast(pyarrow.float64(), safe=False).to_numpy(zero_copy_only=False)
    values = _spelled(table, name)
    # Numbers to Python alone, such as 1_000, are left if nothing else is.
    bad = [i for i, x in enumerate(values) if not is_number(x)] or range(len(values))
    row, got = bad[0], values[bad[0]]
    raise ValueError(
        f"{table.at(row)}: expected a number in the column {name!r}, got {got!r}; correct it, or "
        "say which columns are the channels and which is the label"
    )


def _texts(table: _Table, name: str) -> list[str]:
    """Return ids, groups or classes as texts. ValueError: one that is missing."""
    values = _spelled(table, name)
    for row, value in enumerate(values):
        if is_missing(value):
            raise missing(f"{table.at(row)}: the column {name!r}", value)
    return [str(value) for value in values]


def _spelled(table: _Table, name: str) -> list[Any]:
    """Return a column as values of Python, moments and bytes as texts."""
    pyarrow, column = _pyarrow(), table.columns[name]
    try:
        if pyarrow.types.is_temporal(column.type):
            column = column.cast(pyarrow.string())
        return [as_text(x) if isinstance(x, bytes) else x for x in column.to_pylist()]
    except (pyarrow.ArrowException, UnicodeDecodeError) as error:
        raise ValueError(f"{table.path}: the column {name!r} is no text: {error}") from None


def _rows_of(table: _Table, column: str) -> dict[str, np.ndarray]:
    """Return the rows of each id, ids in the order in which they first come."""
    names = list(table.columns)
    if column not in names:
        apart = len(names) == 1 and (";" in names[0] or "\t" in names[0])
        raise ValueError(
            f"{table.path}: expected a column {column!r} that says which series a row belongs to, "
            f"got the columns {names}" + "; columns have commas between them" * apart
        )
    rows: dict[str, list[int]] = {}
    for row, name in enumerate(_texts(table, column)):
        rows.setdefault(name, []).append(row)
    return {name: np.array(where) for name, where in rows.items()}


def _constant(table: _Table, rows: dict[str, np.ndarray], name: str) -> tuple[str, ...]:
    """Return one text for each id, the same in all of its rows."""
    if name not in table.columns:
        raise ValueError(f"{table.path}: expected a column {name!r}, got {list(table.columns)}")
    texts = _texts(table, name)
    for series, where in rows.items():
        for row in where:
            if texts[row] != texts[where[0]]:
                raise ValueError(
                    f"{table.at(int(row))}: expected {texts[where[0]]!r} in the column {name!r}, "
                    f"as in the rows before of {series!r}, got {texts[row]!r}"
                )
    return tuple(texts[where[0]] for where in rows.values())


def _times(table: _Table, rows: dict[str, np.ndarray], columns: Columns) -> tuple[np.ndarray, ...]:
    times = _seconds(table, columns.time)
    bad = np.flatnonzero(np.isnan(times))
    if len(bad):
        raise ValueError(f"{table.at(int(bad[0]))}: the column {columns.time!r} holds no time")
    for series, where in rows.items():
        _check_rising(table, columns, times, series, where)
    return tuple(times[where] for where in rows.values())


def _check_rising(
    table: _Table, columns: Columns, times: np.ndarray, series: str, where: np.ndarray
) -> None:
    """Check the times of one series, the rows `where`; a message spells dates as they are."""
    pyarrow, column = _pyarrow(), table.columns[columns.time]

    def at(k: int) -> str:
        return f"{table.at(int(where[k]))}, {columns.id} {series!r}"

    def said(k: int) -> str:
        row = int(where[k])
        if pyarrow.types.is_temporal(column.type) and not pyarrow.types.is_duration(column.type):
            return column.slice(row, 1).cast(pyarrow.string())[0].as_py()
        return digits(times, row)

    check_rising(times[where], at, said)


def _seconds(table: _Table, name: str) -> np.ndarray:
    """Return numbers, or seconds: since midnight, or since the first of dates; NaN if empty."""
    pyarrow, column = _pyarrow(), table.columns[name]
    types = pyarrow.types
    if types.is_date(column.type):
        column = column.cast(pyarrow.timestamp("ms"))
    kind = column.type
    if types.is_integer(kind) and not column.null_count:
        return exact(column.to_numpy(), f"{table.path}, column {name!r}")
    if types.is_time(kind):
        # 32 bits hold seconds and milliseconds of a day, and have no cast to 64.
        since = column.cast(pyarrow.int32() if types.is_time32(kind) else pyarrow.int64())
    elif types.is_timestamp(kind) or types.is_duration(kind):
        whole = column.cast(pyarrow.int64())
        try:
            # As whole numbers: nanoseconds since 1970 do not fit a float.
            since = pyarrow.compute.subtract_checked(whole, pyarrow.compute.min(whole))
        except pyarrow.ArrowInvalid:
            raise ValueError(
                f"{table.path}: the times in the column {name!r} are too far apart to be counted "
                f"in {kind.unit}; save them in a larger unit"
            ) from None
    else:
        return _numbers(table, name)
    numbers = since.cast(pyarrow.float64(), safe=False).to_numpy(zero_copy_only=False)
    return numbers / TICKS[kind.unit]
