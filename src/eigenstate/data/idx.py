"""The idx format of MNIST: whole numbers of one byte, in a file or in a gzip of it."""

import gzip
import math
import zlib
from pathlib import Path

import numpy as np

GZIP = b"\x1f\x8b"
UNSIGNED_BYTES = 0x08


def read_idx(path: Path, ndim: int) -> np.ndarray:
    """Return the array in `path`, uint8 with `ndim` axes.

    Two zero bytes, the type (8 is uint8), the number of axes, each axis as four bytes with the
    highest first, then the values. ValueError: an empty file, cut short, longer than it says, a
    damaged gzip, another type or number of axes.
    """
    data = _read_bytes(path)
    start = 4 + 4 * ndim
    if len(data) < start or data[:3] != bytes([0, 0, UNSIGNED_BYTES]) or data[3] != ndim:
        raise ValueError(
            f"{path}: expected an idx file of unsigned bytes with {ndim} axes, got one that starts "
            f"with {data[:4].hex(' ')}; download it again"
        )
    shape = tuple(np.frombuffer(data, dtype=">u4", count=ndim, offset=4).tolist())
    size = math.prod(shape)
    if len(data) - start != size:
        raise ValueError(
            f"{path}: expected {size:,} values for its shape {shape}, got {len(data) - start:,}; "
            "download it again"
        )
    return np.frombuffer(data, dtype=np.uint8, offset=start).reshape(shape)


def _read_bytes(path: Path) -> bytes:
    data = path.read_bytes()
    if not data:
        raise ValueError(f"{path}: the file is empty; download it again")
    if data[:2] != GZIP:
        return data
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{path}: a damaged gzip file: {error}; download it again") from None
