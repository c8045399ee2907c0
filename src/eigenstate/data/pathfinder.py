"""Pathfinder and Path-X: are two dots on one dashed line? (Linsley et al., 2018).

Linsley et al., "Learning long-range spatial dependencies with horizontal gated recurrent units",
arXiv:1805.08315; as tasks of the Long Range Arena, Tay et al., arXiv:2011.04006, sections 2.2.5
and 2.2.6.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from eigenstate.data.array_texts import texts
from eigenstate.data.base import Splits, Task
from eigenstate.data.damage import damaged
from eigenstate.data.images import random_parts
from eigenstate.data.pickles import load_plain
from eigenstate.data.places import Wanted, find_folder
from eigenstate.data.png import read_gray
from eigenstate.data.prepared import ArrayWriter, prepared
from eigenstate.data.progress import Progress
from eigenstate.data.quantized import QuantizedSequences, Scaling

LEVEL = "curv_contour_length_14"  # the hard one of three, which all published results use
FIELDS = (
    "folder, file, number, label, continuity, contour length, distractor length, paddle length, "
    "thickness, margin, contrasts"
)
# The release holds one file of 0 bytes.
EMPTY = ("pathfinder32", "curv_baseline", "imgs/0", "sample_172.png")
CLASSES = ("apart", "connected")
SCALING = Scaling(255.0, np.array([0.5]), np.array([0.5]))  # -1 to 1
NPY = b"\x93NUMPY"


class _Picture(NamedTuple):
    path: Path
    label: int


def read_pathfinder(folder: Path) -> Splits:
    """Read pathfinder32/curv_contour_length_14 at or below `folder`: u (B, 1024, 1), -1 to 1.

    Pictures go row by row. The level's metadata, in the order of their numbers and lines, list the
    pictures; a folder that holds imgs and metadata itself is taken as the level. 80 % are learnt
    from, 10 % validate and 10 % test, at random by the published seed 42.
    Errors name the metadata file and line: not eleven fields, a label other than 0 or 1, a picture
    that is not there; or the picture: 0 bytes, cut short, another size.
    """
    return _read(Path(folder), 32)


def read_pathx(folder: Path) -> Splits:
    """Read pathfinder128/curv_contour_length_14: u (B, 16384, 1); otherwise `read_pathfinder`.

    The pictures stay on disk: 3.3 GB of them, read by memory map.
    """
    return _read(Path(folder), 128)


def _read(folder: Path, side: int) -> Splits:
    place = _level(folder, side)
    metadata = _metadata_files(place)
    pictures = [picture for path in metadata for picture in _pictures(place, path)]
    tenth = int(0.1 * len(pictures))
    if tenth == 0:
        raise ValueError(
            f"{place}: expected at least 10 pictures, to test on one of them, got {len(pictures)}"
        )
    stored = prepared(
        f"pathfinder{side}",
        [*metadata, *(picture.path for picture in pictures)],
        root=place,
        settings={},
        make=partial(_prepare, pictures, side),
    )
    arrays = stored.arrays
    whole = QuantizedSequences(
        arrays["pixels"], arrays["labels"], class_names=CLASSES, scaling=SCALING
    )
    parts = random_parts([len(pictures) - 2 * tenth, tenth, tenth])
    train, validation, test = (whole.subset(rows) for rows in parts)
    return Splits(train, test, validation)


def _level(folder: Path, side: int) -> Path:
    if (folder / "imgs").is_dir() and (folder / "metadata").is_dir():
        return folder
    wanted = Wanted(
        f"Pathfinder {side} x {side} pictures",
        (f"{LEVEL}/imgs", f"{LEVEL}/metadata"),
        named=(f"pathfinder{side}",),
    )
    return find_folder(folder, wanted) / LEVEL


def _metadata_files(place: Path) -> list[Path]:
    files = [path for path in (place / "metadata").glob("*.npy") if path.stem.isdecimal()]
    if not files:
        raise FileNotFoundError(
            f"{place / 'metadata'}: there is no file like 0.npy; unpack the archive again"
        )
    return sorted(files, key=lambda path: int(path.stem))


def _pictures(place: Path, path: Path) -> Iterator[_Picture]:
    """Yield the pictures that one metadata file lists."""
    for line, fields in enumerate(_lines(path), start=1):
        if len(fields) != FIELDS.count(",") + 1 or fields[3] not in ("0", "1"):
            raise ValueError(
                f"{path}, line {line}: expected 11 fields between blanks ({FIELDS}), the label 0 "
                f"or 1, got {' '.join(fields)[:80]!r}"
            )
        if (place.parent.name, place.name, fields[0], fields[1]) == EMPTY:
            continue
        picture = place / fields[0] / fields[1]
        if not picture.exists():
            raise FileNotFoundError(
                f"{path}, line {line}: names {picture}, which is not there; unpack the archive again"
            )
        yield _Picture(picture, int(fields[3]))


def _lines(path: Path) -> Iterator[Sequence[str]]:
    """Yield the fields of each line of a metadata file.

    Those of the release are plain text in spite of their name. Those of the generator are NumPy
    files of texts, either of a text type or pickled.
    """
    with path.open("rb") as file:
        start = file.read(len(NPY))
        file.seek(0)
        if start == NPY:
            yield from _rows(path, _read_npy(path))
            return
        if not start:
            raise ValueError(f"{path}: the file is empty; unpack the archive again")
        try:
            text = file.read().decode("ascii")
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{path}: expected lines of plain text or a NumPy file, got byte "
                f"0x{error.object[error.start]:02x} at {error.start}; unpack the archive again"
            ) from None
        yield from (line.split() for line in text.splitlines())


def _rows(path: Path, array: np.ndarray) -> list[list[str]]:
    """Return the fields of each row of a table of texts, or of each line of texts with blanks."""
    try:
        entries = texts(array)
    except Exception as error:
        raise damaged(path, "NumPy file of texts", error) from error
    if array.ndim == 2:
        width = array.shape[1]
        return [entries[row * width : (row + 1) * width] for row in range(len(array))]
    return [line.split() for entry in entries for line in entry.splitlines()]


def _read_npy(path: Path) -> np.ndarray:
    with path.open("rb") as file:
        try:
            # NumPy writes a later version only for columns with names.
            np.lib.format.read_magic(file)
            shape, _, dtype = np.lib.format.read_array_header_1_0(file)
            if not dtype.hasobject:
                file.seek(0)
                return np.load(file, allow_pickle=False)
        except Exception as error:
            raise damaged(path, "NumPy file", error) from error
        # What holds objects is a pickle, which is read by hands that execute nothing.
        array = load_plain(file, path)
    if not isinstance(array, np.ndarray) or array.shape != shape:
        raise ValueError(
            f"{path}: expected an array of shape {shape} in the NumPy file; unpack the archive again"
        )
    return array


def _prepare(pictures: Sequence[_Picture], side: int, writer: ArrayWriter) -> Mapping[str, Any]:
    with Progress("reading pictures", len(pictures)) as progress:
        for done, picture in enumerate(pictures):
            progress(done)
            pixels = read_gray(picture.path)
            if pixels.shape != (side, side):
                raise ValueError(
                    f"{picture.path}: expected {side} x {side} pixels, got {pixels.shape[1]} x "
                    f"{pixels.shape[0]}; the task for pictures of 128 x 128 is pathx, of 32 x 32 "
                    "pathfinder"
                )
            writer.append("pixels", pixels.reshape(1, side * side, 1))
            writer.append("labels", np.array([picture.label], dtype=np.int8))
    return {}


def _task(name: str, side: int, reader: Any) -> Task:
    return Task(
        name=name,
        summary=f"are two dots on one dashed line, in 200,000 pictures of {side} x {side} pixels",
        kind="classification",
        d_input=1,
        class_names=CLASSES,
        max_length=side * side,
        source=f"Long Range Arena pathfinder{side}, Linsley et al., arXiv:1805.08315",
        licence="Apache-2.0",
        reader=reader,
    )


PATHFINDER = _task("pathfinder", 32, read_pathfinder)
PATHX = _task("pathx", 128, read_pathx)
