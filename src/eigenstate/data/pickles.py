"""Pickles of plain values and NumPy arrays, read without executing what they ask for.

NumPy fills an array by whatever a pickle says, and a false size then ends the whole process. So
arrays are first stand-ins that keep what was said, and become arrays once it is checked.
"""

import pickle
import re
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from eigenstate.data.damage import damaged

# What a pickle of plain values may be made of.
PLAIN = (type(None), bool, int, float, complex, str, bytes, np.generic)


class Refused(ValueError):
    """A pickle asks for more than plain values."""


def load_plain(file: BinaryIO, path: Path) -> Any:
    """Load one pickle from `file`: numbers, texts and lists of them, an array, or a dictionary.

    Arrays may be the values of a dictionary, not deeper. Texts of Python 2 become strings.
    ValueError naming `path`: the pickle holds anything else, is cut short or is damaged.
    """
    try:
        value = _PlainUnpickler(file.read()).load()
        if isinstance(value, dict):
            value = {name: _finished(entry) for name, entry in value.items()}
            _check_plain(list(value), *value.values())
            return value
        value = _finished(value)
        _check_plain(value)
        return value
    except Refused as error:
        raise ValueError(f"{path}: refused: {error}; unpack the archive again") from None
    # A damaged pickle is a damaged program: it can fail in any way.
    except Exception as error:
        raise damaged(path, "pickle of plain values", error) from error


# The unpickler in Python, as the one in C allots memory for any number that a pickle mentions.
class _PlainUnpickler(pickle._Unpickler):
    """Knows NumPy's arrays and scalars and nothing else."""

    def __init__(self, data: bytes) -> None:
        super().__init__(BytesIO(data), encoding="latin1")  # which arrays of Python 2 need

    def find_class(self, module: str, name: str) -> Any:
        known = _KNOWN.get((module.replace("numpy._core", "numpy.core"), name))
        if known is None:
            raise Refused(f"it asks for {module}.{name}, which plain data never do")
        return known


class _Type:
    """A NumPy type: a kind and a size such as f8, then its byte order."""

    def __init__(self, code: str) -> None:
        if not re.fullmatch("[biufcSU][0-9]+|O[48]", code):
            raise ValueError(f"an array of the type {code!r}")
        self.code, self.order = code, "="

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.order = state[1]

    def finished(self) -> np.dtype:
        return np.dtype(self.order + self.code)


class _Array:
    """An array: version, shape, type, whether in Fortran's order, bytes or a list of objects."""

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, self.shape, self.type, self.fortran, self.data = state

    def finished(self) -> np.ndarray:
        if self.type.code.startswith("O"):
            flat = np.fromiter(self.data, dtype=object, count=len(self.data))
        else:
            flat = np.frombuffer(_bytes(self.data), self.type.finished()).copy()
        return flat.reshape(self.shape, order="F" if self.fortran else "C")


def _finished(value: Any) -> Any:
    return value.finished() if isinstance(value, _Array) else value


def _check_plain(*values: Any) -> None:
    """Raise Refused if a stand-in is left in values, or anything else but plain ones."""
    # Not by recursion: lists may hold themselves, and one list any number of times.
    left, seen = list(values), set[int]()
    while left:
        value = left.pop()
        if isinstance(value, PLAIN) or id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, np.ndarray):
            left += value.ravel().tolist() if value.dtype.hasobject else []
        elif isinstance(value, list | tuple):
            left += value
        elif isinstance(value, dict):
            left += [*value, *value.values()]
        elif isinstance(value, _Array):
            raise Refused("it holds an array that is no value of the outermost dictionary")
        else:
            raise Refused(f"it holds a {type(value).__name__.strip('_')}, which is no plain value")


def _new_type(code: str, align: bool, copy: bool) -> _Type:
    return _Type(code)


def _new_array(kind: type, shape: tuple[int, ...], code: str) -> _Array:
    """Return the empty array that a pickle then fills."""
    return _Array()


def _new_scalar(kind: _Type, data: bytes | str) -> Any:
    """Return the number whose bytes these are. ValueError: a scalar that holds an object."""
    return np.frombuffer(_bytes(data), kind.finished())[0]


def _bytes(data: bytes | str) -> bytes:
    return data.encode("latin1") if isinstance(data, str) else data


def _latin1(text: str, encoding: str) -> bytes:
    """How Python 3 writes bytes in the old protocols."""
    return text.encode("latin1")


_KNOWN = {
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _new_type,
    ("numpy.core.multiarray", "_reconstruct"): _new_array,
    ("numpy.core.multiarray", "scalar"): _new_scalar,
    ("_codecs", "encode"): _latin1,
}
