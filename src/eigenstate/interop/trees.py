"""Weights as they come, in a dict or a file, nested or flat, and as they leave."""

import os
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import torch

from eigenstate.files import replace_file
from eigenstate.interop.flax_file import decode, encode
from eigenstate.interop.links import Arrays, WeightsError

_COLLECTIONS = ("params", "batch_stats")
_SUFFIXES = ".npz or .msgpack"


class Variables(NamedTuple):
    """Arrays of one model, flat or nested: parameters, and batch statistics where it has them."""

    params: dict[str, Any]
    batch_stats: dict[str, Any] | None = None


Source = Mapping[Any, Any] | Variables | str | os.PathLike[str]


def read_weights(source: Source) -> Variables:
    """Parameters and batch statistics of a file, a dict or `Variables`, by flat names.

    A file is .npz or .msgpack, as flax writes it. Where the top level has `params`, that and
    `batch_stats` are taken, and whatever else a training state holds (step, optimiser) is left
    alone. Flat names are joined by "/"; "." is understood too.
    WeightsError: the file is missing, damaged or of another kind.
    """
    if isinstance(source, Variables):
        source = {name: tree for name, tree in source._asdict().items() if tree is not None}
    if not isinstance(source, (Mapping, str, os.PathLike)):
        raise TypeError(
            f"weights must be a dict, Variables or the path of a file, got {type(source).__name__}"
        )
    arrays = flatten(source if isinstance(source, Mapping) else _read(Path(source)))
    if not any(name.startswith("params/") for name in arrays):
        return Variables(arrays)
    params, statistics = (select(arrays, f"{part}/") for part in _COLLECTIONS)
    return Variables(params, statistics or None)


def write_weights(
    path: str | os.PathLike[str],
    params: Mapping[Any, Any],
    batch_stats: Mapping[Any, Any] | None = None,
) -> None:
    """Write parameters and batch statistics to .npz or .msgpack; the file is whole or not there.

    An .npz has flat names ("params/encoder/kernel"), a .msgpack is nested as flax has it.
    WeightsError: another suffix.
    """
    path = Path(path)
    tree = {"params": params} | ({"batch_stats": batch_stats} if batch_stats else {})
    flat = flatten(tree)
    strange = [
        f"{name}: expected numbers, got {x.dtype}" for name, x in flat.items() if _strange(x)
    ]
    if strange:
        raise WeightsError(
            "these weights cannot be written", strange, outcome="nothing was written"
        )
    if path.suffix == ".npz":
        replace_file(path, lambda file: np.savez(file, **cast("dict[str, Any]", flat)))
    elif path.suffix == ".msgpack":
        data = encode(nest(flat))
        replace_file(path, lambda file: file.write(data))
    else:
        raise WeightsError(f"{path}: a file of weights must end in {_SUFFIXES}")


def flatten(tree: Mapping[Any, Any], separator: str = "/") -> Arrays:
    """Every array of a dict by its flat name. WeightsError: two have one name, or are none."""
    arrays: Arrays = {}
    wrong: list[str] = []

    def walk(branch: Mapping[Any, Any], above: tuple[str, ...]) -> None:
        for key, value in branch.items():
            parts = key if isinstance(key, tuple) else str(key).replace(".", "/").split("/")
            place = (*above, *map(str, parts))
            if isinstance(value, Mapping):
                walk(value, place)
                continue
            name = separator.join(place)
            wrong.extend([f"{name}: there twice"] if name in arrays else [])
            try:
                arrays[name] = _array(value)
            except (ValueError, TypeError, RuntimeError) as error:
                wrong.append(f"{name}: not an array: {error}")

    walk(tree, ())
    if wrong:
        raise WeightsError("these weights cannot be read", wrong)
    return arrays


def nest(arrays: Mapping[str, Any]) -> dict[str, Any]:
    """A flat dict as a nested one: {"a/b": x} -> {"a": {"b": x}}."""
    tree: dict[str, Any] = {}
    for name, value in arrays.items():
        *above, last = name.split("/")
        branch = tree
        for part in above:
            branch = branch.setdefault(part, {})
        branch[last] = value
    return tree


def select(arrays: Arrays, prefix: str) -> Arrays:
    """The entries whose names begin with the prefix, without it."""
    return {
        name.removeprefix(prefix): value
        for name, value in arrays.items()
        if name.startswith(prefix)
    }


def _read(path: Path) -> Mapping[str, Any]:
    if path.suffix not in (".npz", ".msgpack"):
        raise WeightsError(f"{path}: a file of weights must end in {_SUFFIXES}")
    try:
        if path.suffix == ".msgpack":
            return decode(path.read_bytes())
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            return dict(arrays)
    except FileNotFoundError:
        raise WeightsError(f"{path}: no such file") from None
    except (
        OSError,
        EOFError,
        LookupError,
        TypeError,
        ValueError,
        RuntimeError,
        zipfile.BadZipFile,
        zlib.error,
    ) as error:
        raise WeightsError(f"{path}: damaged, or no {path.suffix} file: {error}") from None


def _strange(array: np.ndarray) -> bool:
    return array.dtype.kind not in "fiuc"


def _array(value: Any) -> np.ndarray:
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu().resolve_conj().resolve_neg()
        value = (value.float() if value.dtype == torch.bfloat16 else value).numpy()
    return np.asarray(value)
