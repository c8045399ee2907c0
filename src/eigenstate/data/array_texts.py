"""The texts in an array or a column of a file, and those that say that nothing is there."""

import sys

import numpy as np

MISSING = ("", "?", "NaN", "nan")
# Where a number is asked, more words say so; a class may be called None.
NO_NUMBER = ["", "?", "NA", "N/A", "NaN", "nan", "null", "NULL", "None"]


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


def missing(what: str, value: object) -> ValueError:
    """Return the error to raise where `what` has to be there and `value`, a missing one, stands."""
    got = "is empty" if value in (None, "", b"") else f"holds {value!r}, a missing value"
    return ValueError(f"{what} {got}; fill it in")


def is_number(value: object) -> bool:
    """Whether a number can be read from a value, or nothing stands there."""
    if value is None or value in NO_NUMBER:
        return True
    try:
        float(str(value))
    except ValueError:
        return False
    return True
