"""The msgpack files that JAX's flax writes: nested dicts of arrays.

An array is an extension of type 1, a scalar one of type 3, whose content is again msgpack: shape,
name of the dtype, and the numbers in row order. An array beyond a gibibyte is a dict that holds it
in pieces.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from eigenstate.interop.links import Array

_ARRAY, _SCALAR = 1, 3
_IN_PIECES = "__msgpack_chunked_array__"
_KINDS = "fiucb"  # numbers and truth values; nothing that could hold an object


def decode(data: bytes) -> dict[str, Any]:
    """The nested dict in the bytes of a file. ValueError, TypeError: they are something else."""
    msgpack = _door()
    try:
        # By default no part may be longer than the data themselves.
        tree = msgpack.unpackb(data, raw=False, strict_map_key=False, ext_hook=_array)
    except (msgpack.exceptions.UnpackException, UnicodeDecodeError) as error:
        raise ValueError(f"not msgpack, or cut short: {error or type(error).__name__}") from None
    if not isinstance(tree, dict):
        raise TypeError(f"expected a dict of arrays, got {type(tree).__name__}")
    return _joined(tree)


def encode(tree: Mapping[str, Any]) -> bytes:
    """The bytes of a nested dict of arrays, each below a gibibyte."""
    msgpack = _door()

    def extension(x: object) -> object:
        if not isinstance(x, np.ndarray):
            raise TypeError(f"expected numpy arrays, got {type(x).__name__}")
        content = msgpack.packb((x.shape, x.dtype.name, x.tobytes()), use_bin_type=True)
        return msgpack.ExtType(_ARRAY, content)

    return msgpack.Packer(default=extension, strict_types=True).pack(tree)


def _array(code: int, content: bytes) -> Array | complex:
    msgpack = _door()
    if code not in (_ARRAY, _SCALAR):
        raise ValueError(f"unknown msgpack extension {code}")
    shape, name, numbers = msgpack.unpackb(content, raw=False)
    if name == "bfloat16":  # numpy has no such type: it is the upper half of a float32
        halves = np.frombuffer(numbers, np.uint16).astype(np.uint32)
        return (halves << 16).view(np.float32).reshape(shape)
    try:
        dtype = np.dtype(name)
    except TypeError:
        raise ValueError(f"unknown dtype {name!r}") from None
    if dtype.kind not in _KINDS:
        raise ValueError(f"arrays must hold numbers, got dtype {name!r}")
    return np.frombuffer(numbers, dtype).reshape(shape)


def _joined(tree: Any) -> Any:
    """The tree with arrays in pieces put together."""
    if not isinstance(tree, dict):
        return tree
    if _IN_PIECES not in tree:
        return {key: _joined(value) for key, value in tree.items()}
    shape, pieces = (tree[part] for part in ("shape", "chunks"))
    whole = np.concatenate([pieces[str(i)] for i in range(len(pieces))])
    return whole.reshape([shape[str(i)] for i in range(len(shape))])


def _door():
    try:
        import msgpack
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "msgpack files need the package msgpack: pip install 'eigenstate[weights]'"
        ) from None
    return msgpack
