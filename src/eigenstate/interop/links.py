"""Published arrays on one side, our tensors on the other: checked whole, then copied whole."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Array = NDArray[Any]
Arrays = dict[str, Array]
_NOTHING_DONE = "nothing was loaded"


class WeightsError(ValueError):
    """Weights that cannot be read, loaded or exported; lists every reason there is."""

    def __init__(self, what: str, problems: Iterable[str] = (), *, outcome: str = "") -> None:
        lines = [f"{what}:" if problems else what, *(f"  {problem}" for problem in problems)]
        super().__init__("\n".join([*lines, outcome] if outcome else lines))


@dataclass(frozen=True)
class Link:
    """Arrays that together make one or more of our tensors, and the way over and back.

    published: their names and shapes. load takes them, in this order and in double precision, and
    returns the arrays for `ours`; it raises ValueError with the reason where our tensors cannot
    hold the numbers. export takes ours and returns theirs.
    """

    published: Mapping[str, tuple[int, ...]]
    ours: tuple[Tensor, ...]
    load: Callable[..., Sequence[Array]]
    export: Callable[..., Sequence[Array]]
    is_complex: bool = False


def same(name: str, ours: Tensor) -> Link:
    """One array that is stored alike on both sides."""
    return Link({name: tuple(ours.shape)}, (ours,), lambda x: [x], lambda x: [x])


def moved(name: str, ours: Tensor, source: int, destination: int) -> Link:
    """One array with an axis elsewhere: `source` in theirs is `destination` in ours."""
    shape = np.moveaxis(np.empty(tuple(ours.shape)), destination, source).shape
    return Link(
        {name: shape},
        (ours,),
        lambda x: [np.moveaxis(x, source, destination)],
        lambda x: [np.moveaxis(x, destination, source)],
    )


def load(links: Sequence[Link], arrays: Arrays, what: str) -> None:
    """Copy the arrays into the tensors of the links.

    WeightsError: an entry is unknown, missing, misshapen, no number, a NaN or an infinity, or does
    not fit what it is loaded into. All such entries are listed, and nothing is loaded.
    """
    values, problems = convert(links, arrays)
    if problems:
        raise WeightsError(f"these weights do not fit {what}", problems, outcome=_NOTHING_DONE)
    with torch.no_grad():
        for tensor, value in values:
            tensor.copy_(value)


def convert(links: Sequence[Link], arrays: Arrays) -> tuple[list[tuple[Tensor, Tensor]], list[str]]:
    """Each of our tensors with its new value, and everything that is wrong with the arrays."""
    known = {name for link in links for name in link.published}
    problems = [f"{name}: unknown" for name in arrays if name not in known]
    values: list[tuple[Tensor, Tensor]] = []
    for link in links:
        found = _wrong(link, arrays)
        if not found:
            wide = np.complex128 if link.is_complex else np.float64
            try:
                new = link.load(*(arrays[name].astype(wide) for name in link.published))
                values += [_as(*pair) for pair in zip(link.ours, new, strict=True)]
            except ValueError as error:
                found = [f"{', '.join(link.published)}: {error}"]
        problems += found
    return values, problems


def export(links: Sequence[Link]) -> Arrays:
    """The published arrays, in the precision of our tensors."""
    arrays: Arrays = {}
    problems: list[str] = []
    for link in links:
        ours = [tensor.detach().cpu().double().numpy() for tensor in link.ours]
        double = link.ours[0].dtype == torch.float64
        kinds = ("complex64", "complex128") if link.is_complex else ("float32", "float64")
        try:
            theirs = link.export(*ours)
        except ValueError as error:
            problems.append(": ".join([*filter(None, [", ".join(link.published)]), str(error)]))
            continue
        for name, value in zip(link.published, theirs, strict=True):
            whole = np.issubdtype(value.dtype, np.integer)
            arrays[name] = np.array(value, None if whole else kinds[double], order="C")
    if problems:
        raise WeightsError("these weights have no such published form", problems)
    return arrays


def _wrong(link: Link, arrays: Arrays) -> list[str]:
    """What is wrong with a link's own entries, one line for each."""
    problems = []
    for name, shape in link.published.items():
        if name not in arrays:
            problems.append(f"{name}: missing, expected shape {shape}")
            continue
        array = arrays[name]
        if array.dtype.kind not in ("fiuc" if link.is_complex else "fiu"):
            kind = "numbers" if link.is_complex else "real numbers"
            problems.append(f"{name}: expected {kind}, got {array.dtype}")
        elif array.shape != shape:
            problems.append(f"{name}: expected shape {shape}, got {array.shape}")
        elif not np.isfinite(array).all():
            where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
            problems.append(f"{name}: holds {array[where]} at index {where}")
    return problems


def _as(tensor: Tensor, value: Array) -> tuple[Tensor, Tensor]:
    new = torch.from_numpy(np.array(value, np.float64, order="C"))
    new = new.to(tensor.dtype).to(tensor.device)  # not every device has float64
    if not new.isfinite().all():
        raise ValueError(f"too large for {tensor.dtype}")
    return tensor, new
