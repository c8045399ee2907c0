"""Arrays prepared from source files, kept as .npy files that are read by memory map.

A folder of the cache is complete or it is not there: it is written under another name and renamed.
Its name is a digest of what it came from (the names and contents of the source files, and how they
were read), and every array is compared with its checksum when it is opened.
"""

import contextlib
import hashlib
import json
import os
import shutil
import struct
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import numpy as np

from eigenstate.data.cache import cache_folder
from eigenstate.data.digests import content_digest

FORMAT = 1
INDEX = "index.json"
HEADER = 128  # bytes before the numbers of a .npy file: room for any length
DAY = 24 * 60 * 60


@dataclass(frozen=True)
class Prepared:
    """arrays, read-only memory maps by name, and the plain values that belong to them."""

    arrays: Mapping[str, np.ndarray]
    notes: Mapping[str, Any]


def prepared(
    name: str,
    sources: Iterable[Path],
    *,
    root: Path,
    settings: Mapping[str, Any],
    make: Callable[["ArrayWriter"], Mapping[str, Any]],
) -> Prepared:
    """Return what `make` wrote for these source files, or let it write first.

    `make` appends rows to named arrays and returns notes that JSON can hold. `settings` are plain
    values that change whenever `make` would write something else; `root` is the folder that the
    sources' names are relative to. A damaged folder is said on stderr and made again.
    OSError: the arrays could not be written, with the place and the reason. ValueError: a source
    changed while it was read.
    """
    sources = list(sources)
    told = json.dumps([FORMAT, {"name": name, **settings}], sort_keys=True)
    content = content_digest(sources, root)
    key = hashlib.sha256((told + content).encode()).hexdigest()
    folder = cache_folder() / f"{name}-{key[:20]}"
    if folder.exists():
        try:
            return _read(folder)
        except (OSError, ValueError, LookupError, TypeError, AttributeError, EOFError) as error:
            print(f"{folder}: unusable ({error}); preparing it again", file=sys.stderr)
        _remove(folder)

    def unchanged(writer: ArrayWriter) -> Mapping[str, Any]:
        notes = make(writer)
        if content_digest(sources, root) != content:
            raise ValueError(f"{root}: a file changed while it was read; start again")
        return notes

    _write(folder, unchanged)
    return _read(folder)


class ArrayWriter:
    """Named arrays that grow along their first axis in .npy files; a full disk is an OSError."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._growing: dict[str, _Growing] = {}

    def append(self, name: str, rows: np.ndarray) -> None:
        """Add rows (n, ...) to the array `name`; all have one dtype and one shape per row."""
        with _storing(self.folder.parent):
            if name not in self._growing:
                path = self.folder / f"{name}.npy"
                self._growing[name] = _Growing(
                    path.open("wb"), dtype=rows.dtype, row=rows.shape[1:]
                )
            self._growing[name].append(rows)

    def finish(self, notes: Mapping[str, Any]) -> None:
        """Complete all files, and last the index: dtype, shape and checksum of each array."""
        with _storing(self.folder.parent):
            arrays = {name: growing.finish() for name, growing in self._growing.items()}
            with (self.folder / INDEX).open("w", encoding="utf-8") as file:
                json.dump({"arrays": arrays, "notes": dict(notes)}, file)
                file.flush()
                os.fsync(file.fileno())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for growing in self._growing.values():
            # What `finish` did not flush is given up, and closing must not hide why.
            with contextlib.suppress(OSError):
                growing.file.close()


class _Growing:
    """One .npy file. Its header is written last, when the number of rows is known."""

    def __init__(self, file: BinaryIO, *, dtype: np.dtype, row: tuple[int, ...]) -> None:
        self.file, self.dtype, self.row = file, dtype, row
        self.count, self.checksum = 0, 0
        file.write(bytes(HEADER))

    def append(self, rows: np.ndarray) -> None:
        if rows.dtype != self.dtype or rows.shape[1:] != self.row:
            expected = ", ".join(["n", *map(str, self.row)])
            raise ValueError(
                f"rows: expected {self.dtype} of shape ({expected}), "
                f"got {rows.dtype} of shape {rows.shape}"
            )
        data = np.ascontiguousarray(rows).tobytes()
        self.file.write(data)
        self.checksum = zlib.crc32(data, self.checksum)
        self.count += len(rows)

    def finish(self) -> dict[str, Any]:
        shape = (self.count, *self.row)
        self.file.seek(0)
        self.file.write(_header(self.dtype.str, shape))
        self.file.flush()
        os.fsync(self.file.fileno())
        return {"dtype": self.dtype.str, "shape": list(shape), "crc32": self.checksum}


def _header(dtype: str, shape: Sequence[int]) -> bytes:
    """Return the start of a .npy file, version 1.0: magic, length of the text, the text."""
    fields = {"descr": dtype, "fortran_order": False, "shape": tuple(shape)}
    start = b"\x93NUMPY\x01\x00" + struct.pack("<H", HEADER - 10)
    return start + repr(fields).encode().ljust(HEADER - 11) + b"\n"


def _read(folder: Path) -> Prepared:
    """Open a folder and compare every array with what its index says."""
    index = json.loads((folder / INDEX).read_text(encoding="utf-8"))
    arrays: dict[str, np.ndarray] = {}
    for name, stated in index["arrays"].items():
        path = folder / f"{name}.npy"
        try:
            with path.open("rb") as file:
                start = file.read(HEADER)
        except FileNotFoundError:
            raise ValueError(f"{name}.npy is missing") from None
        # A header must not be interpreted before it is known to be whole.
        if start != _header(stated["dtype"], stated["shape"]):
            raise ValueError(f"{name}.npy has another shape or type")
        array = np.load(path, mmap_mode="r", allow_pickle=False)
        if zlib.crc32(array) != stated["crc32"]:
            raise ValueError(f"the checksum of {name}.npy is wrong")
        arrays[name] = array
    return Prepared(arrays, index["notes"])


def _write(folder: Path, make: Callable[[ArrayWriter], Mapping[str, Any]]) -> None:
    with _storing(folder.parent):
        folder.parent.mkdir(parents=True, exist_ok=True)
        temporary = _new_temporary(folder)
        _remove_leftovers(folder.parent)
    try:
        with ArrayWriter(temporary) as writer:
            writer.finish(make(writer))
        with _storing(folder.parent):
            _put_in_place(temporary, folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _new_temporary(folder: Path) -> Path:
    """Make a folder that no other process has, here or on a machine that shares the disk."""
    return Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".tmp", dir=folder.parent))


def _remove(folder: Path) -> None:
    """Remove a damaged folder, unless another process has just done so."""
    with _storing(folder.parent):
        aside = _new_temporary(folder)
        with contextlib.suppress(FileNotFoundError):
            os.rename(folder, aside / "damaged")
        shutil.rmtree(aside)


@contextlib.contextmanager
def _storing(cache: Path) -> Iterator[None]:
    """Say of an OSError where it happened and what to do, unlike those of the source files."""
    try:
        yield
    except OSError as error:
        raise OSError(
            error.errno,
            f"the prepared data could not be stored ({error.strerror or error}); make room, or "
            "let XDG_CACHE_HOME name a folder that has it",
            str(cache),
        ) from error


def _put_in_place(temporary: Path, folder: Path) -> None:
    try:
        os.rename(temporary, folder)
    except OSError:
        if not (folder / INDEX).exists():  # else another process was quicker, with the same arrays
            raise


def _remove_leftovers(parent: Path) -> None:
    """Remove what processes killed more than a day ago left behind."""
    for leftover in parent.glob(".*.tmp"):
        if leftover.is_dir() and time.time() - leftover.stat().st_mtime > DAY:
            shutil.rmtree(leftover, ignore_errors=True)
