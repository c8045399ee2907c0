"""The texts in an array of a file."""

import sys

import numpy as np

MISSING = ("", "?", "NaN", "nan")


def texts(array: np.ndarray) -> list[str]:
    """Return every entry as a text, row by row: a text as it is, bytes by UTF-8, a number's digits.

    ValueError: a letter that does not exist, or bytes that are not UTF-8.
    """
    if array.dtype.kind == "U" and array.size:
        # NumPy takes any four bytes for a letter, and Python fails over false ones much later.
        native = np.ravel(array).astype(array.dtype.newbyteorder("="))
        highest = int(native.view(np.uint32).max())
        if highest > sys.maxunicode:
            raise ValueError(f"a text with the letter 0x{highest:x}, which Unicode does not have")
    return [as_text(entry) for entry in array.ravel().tolist()]


def as_text(value: object) -> str:
    """Return one entry as a text. ValueError: bytes that are not UTF-8."""
    return value.decode() if isinstance(value, bytes) else str(value)


def is_missing(value: object) -> bool:
    """Whether nothing stands where a class, an id or a group is asked: None, empty, ? or NaN."""
    return value is None or as_text(value) in MISSING
