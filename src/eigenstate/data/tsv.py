"""Rows of a tab-separated file without quoting, each error with its file and line."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from eigenstate.data.progress import Progress


def read_rows(
    path: Path, columns: Sequence[str], *, header: bool
) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number, fields) for every line of `path`, one field for each of `columns`.

    With `header` the first line has to name the columns. A tab always ends a field and a line
    feed a row: quotes mean nothing here, so nothing a csv parser knows is needed.
    ValueError: an empty file, another header, another number of fields, bytes that are not UTF-8.
    """
    size = path.stat().st_size
    if size == 0:
        raise ValueError(f"{path}: the file is empty; unpack the archive again")
    count, done = 0, 0
    with path.open("rb") as file, Progress(f"reading {path.name}, bytes", size) as progress:
        for number, line in enumerate(file, start=1):
            done += len(line)
            progress(done)
            fields = _decode(path, number, line).rstrip("\r\n").split("\t")
            if header and number == 1:
                _check_header(path, fields, columns)
                continue
            if len(fields) != len(columns):
                raise ValueError(
                    f"{path}, line {number}: expected {len(columns)} fields between tabs "
                    f"({', '.join(columns)}), got {len(fields)}; the file may be cut short or "
                    "of another kind"
                )
            count += 1
            yield number, fields
    if count == 0:
        raise ValueError(f"{path}: there is no row below the header; unpack the archive again")


def _check_header(path: Path, fields: Sequence[str], columns: Sequence[str]) -> None:
    if list(fields) != list(columns):
        raise ValueError(
            f"{path}, line 1: expected the column names {list(columns)}, got {list(fields)[:9]}; "
            "put the columns in this order under this header"
        )


def _decode(path: Path, number: int, line: bytes) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path}, line {number}: byte {error.start + 1} of the line, "
            f"0x{line[error.start]:02x}, is not UTF-8; save the file as UTF-8"
        ) from None
