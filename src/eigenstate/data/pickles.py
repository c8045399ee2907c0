"""Pickles of plain values and NumPy arrays, read without executing what they ask for."""

import pickle
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np


def load_plain(file: BinaryIO, path: Path) -> Any:
    """Load one pickle from `file`: numbers, texts, lists, dictionaries and arrays.

    Texts of Python 2 become strings. ValueError naming `path`: the pickle asks for anything else,
    is cut short or is damaged.
    """
    try:
        return _ArrayUnpickler(file).load()
    except pickle.UnpicklingError as error:
        raise ValueError(f"{path}: refused or damaged: {error}; unpack the archive again") from None
    # A damaged pickle is a damaged program: it can fail in any of these ways.
    except (ArithmeticError, AttributeError, EOFError, LookupError, MemoryError, TypeError,
            ValueError) as error:  # fmt: skip
        raise ValueError(
            f"{path}: cut short or damaged ({type(error).__name__}: {error}); "
            "unpack the archive again"
        ) from None


class _ArrayUnpickler(pickle.Unpickler):
    """Knows NumPy's arrays and scalars and nothing else."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__(file, encoding="latin1")  # which arrays of Python 2 need

    def find_class(self, module: str, name: str) -> Any:
        known = _KNOWN.get((module.replace("numpy._core", "numpy.core"), name))
        if known is None:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}, which plain data never do")
        return known


def _new_array(kind: type, shape: tuple[int, ...], code: str) -> np.ndarray:
    """Return the empty array that a pickle then fills."""
    return np.empty(0, dtype="b")


def _new_scalar(dtype: np.dtype, data: bytes | str) -> Any:
    """Return the number whose bytes these are. ValueError: a scalar that holds an object."""
    if dtype.hasobject:
        raise ValueError("a scalar of objects")
    return np.frombuffer(data.encode("latin1") if isinstance(data, str) else data, dtype)[0]


def _latin1(text: str, encoding: str) -> bytes:
    """How Python 3 writes bytes in the old protocols."""
    return text.encode("latin1")


_KNOWN = {
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    ("numpy.core.multiarray", "_reconstruct"): _new_array,
    ("numpy.core.multiarray", "scalar"): _new_scalar,
    ("_codecs", "encode"): _latin1,
}
