"""Pathfinder as files: the folders, pictures and metadata of the Long Range Arena release.

Of the release's three levels only the hardest is written, the one that the task is posed on.
"""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from eigenstate.data.pathfinder_pictures import DISTRACTOR, LEVELS, PATH, draw
from eigenstate.data.png import write_gray
from eigenstate.data.progress import Progress
from eigenstate.data.workers import in_order

PUBLISHED = 200_000
LEVEL = f"curv_contour_length_{PATH}"
BATCH = 1000  # pictures in a folder
CHUNK = 20  # pictures handed to a worker at a time


def write_pathfinder(
    folder: Path, *, size: int, seed: int, count: int = PUBLISHED, workers: int = 1
) -> None:
    """Write `count` pictures of 32 x 32 or 128 x 128 to `folder`.

    curv_contour_length_14/imgs/<b>/sample_<i>.png, and for each folder b its metadata/<b>.npy:
    text, one line for each picture, the fourth field of which is the label. Picture i depends on
    `seed` and i alone. The metadata of a folder are written after its pictures.
    """
    level = folder / LEVEL
    (level / "metadata").mkdir(parents=True)
    chunks = list(_chunks(count))
    work = partial(_write_chunk, level, size=size, seed=seed)
    lines: list[str] = []
    with (
        closing(in_order(work, chunks, workers=workers)) as written,
        Progress("Pathfinder pictures", count) as progress,
    ):
        for chunk, new in zip(chunks, written, strict=True):
            lines += new
            done = chunk.start + len(new)
            progress(done)
            if done % BATCH == 0 or done == count:
                path = level / "metadata" / f"{chunk.start // BATCH}.npy"
                path.write_text("".join(lines), encoding="ascii")
                lines = []


@dataclass(frozen=True)
class _Chunk:
    start: int
    stop: int


def _chunks(count: int) -> Iterator[_Chunk]:
    for start in range(0, count, CHUNK):
        yield _Chunk(start, min(start + CHUNK, count))


def _write_chunk(level: Path, chunk: _Chunk, *, size: int, seed: int) -> list[str]:
    """Draw and write pictures start .. stop - 1, all of one batch; return their metadata."""
    constants = LEVELS[size]
    images = f"imgs/{chunk.start // BATCH}"
    (level / images).mkdir(parents=True, exist_ok=True)
    lines = []
    for number in range(chunk.start, chunk.stop):
        picture = draw(constants, np.random.RandomState([seed, number]))
        index = number % BATCH
        name = f"sample_{index}.png"
        write_gray(level / images / name, picture.image)
        fields = [images, name, index, picture.label, constants.continuity, PATH, DISTRACTOR]
        fields += [constants.paddle_length, constants.thickness, picture.margin, 1]
        lines.append(" ".join(map(str, fields)) + "\n")
    return lines
