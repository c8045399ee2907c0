"""The one place where a layer's arguments are checked: what was wrong, what came, what to do."""

import difflib
import math
from collections.abc import Iterable

import torch
from torch import Tensor

from eigenstate.systems.eager import readable


def check_choice(name: str, value: object, choices: Iterable[str]) -> None:
    """Raise ValueError unless value is one of the choices, with the nearest one as a hint."""
    choices = list(choices)
    if value not in choices:
        near = difflib.get_close_matches(str(value), choices, 1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"{name} must be one of {choices}, got {value!r}{hint}")


def check_count(name: str, value: object, least: int = 1) -> None:
    """Raise unless value is an integer of at least `least`."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {value}")


def check_flag(name: str, value: object) -> None:
    """Raise TypeError unless value is True or False."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, got {value!r}")


def check_options(value: object, kind: type) -> None:
    """Raise TypeError unless value is of the layer's own options class."""
    if not isinstance(value, kind):
        raise TypeError(f"options must be of class {kind.__name__}, got {type(value).__name__}")


def check_sizes(d_model: int, d_state: int, blocks: int, halves: bool) -> None:
    """Raise unless all are counts and d_state divides into blocks, of pairs if stored in halves."""
    for name, value in (("d_model", d_model), ("d_state", d_state), ("blocks", blocks)):
        check_count(name, value)
    unit = (2 if halves else 1) * blocks
    if d_state % unit:
        reasons = ["blocks"] if blocks > 1 else []
        if halves:
            reasons.append("one of each conjugate pair is stored")
        got = f"d_state={d_state}" + (f", blocks={blocks}" if blocks > 1 else "")
        raise ValueError(f"d_state must be divisible by {unit} ({'; '.join(reasons)}), got {got}")


def check_timescales(dt_min: float, dt_max: float) -> None:
    """Raise unless both are numbers and 0 < dt_min <= dt_max."""
    for name, value in (("dt_min", dt_min), ("dt_max", dt_max)):
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise TypeError(f"{name} must be a number, got {value!r}")
    if not 0 < dt_min <= dt_max < math.inf:
        raise ValueError(f"need 0 < dt_min <= dt_max, got dt_min={dt_min}, dt_max={dt_max}")


def check_input(u: Tensor, axes: str, size: int, like: Tensor, width: str = "d_model") -> None:
    """u must be a floating tensor of shape (*axes, width) in the layer's precision and place."""
    if not isinstance(u, Tensor):
        raise TypeError(f"u must be a torch.Tensor, got {type(u).__name__}")
    rank = axes.count(",") + 2
    if u.dim() != rank or u.shape[-1] != size:
        hint = ""
        if u.dim() == 3 and rank == 3 and u.shape[1] == size:
            hint = "; if the channels come first, pass u.transpose(1, 2)"
        expected = f"({axes}, {width}={size})"
        raise ValueError(f"u must have shape {expected}, got {tuple(u.shape)}{hint}")
    if not u.is_floating_point():
        raise TypeError(f"u must be floating point, got {u.dtype}; pass u.float()")
    if (u.dtype == torch.float64) != (like.dtype == torch.float64):
        raise TypeError(
            f"u must match the layer's precision: the layer is {like.dtype}, u is {u.dtype}; "
            f"pass u.to({like.dtype}) or call layer.to({u.dtype})"
        )
    check_device("u", u, like.device)


def check_device(name: str, x: Tensor, device: torch.device) -> None:
    """Raise ValueError unless x lies on the device."""
    if x.device != device:
        raise ValueError(f"{name} must be on the layer's device {device}, got {x.device}")


def check_state(state: Tensor, shape: tuple[int, ...], device: torch.device) -> None:
    """A state is a real floating tensor of exactly the layer's shape."""
    if not isinstance(state, Tensor):
        raise TypeError(f"state must be a torch.Tensor or None, got {type(state).__name__}")
    if tuple(state.shape) != shape:
        raise ValueError(
            f"state must have shape {shape} (batch, real and imaginary, modes), "
            f"got {tuple(state.shape)}"
        )
    if not state.is_floating_point():
        raise TypeError(f"state must be real floating point, got {state.dtype}")
    check_device("state", state, device)


def check_dt(dt: Tensor | float, shapes: list[tuple[int, ...]], device: torch.device) -> None:
    """dt has one of the shapes; its values are `check_intervals`' business."""
    if isinstance(dt, Tensor):
        if not any(_same(dt.shape, shape) for shape in shapes):
            expected = ", ".join(str(shape) for shape in shapes)
            raise ValueError(f"dt must have one of the shapes {expected}, got {tuple(dt.shape)}")
        if dt.is_complex() or dt.dtype == torch.bool:
            raise TypeError(f"dt must be real numbers, got {dt.dtype}")
        check_device("dt", dt, device)
    elif isinstance(dt, bool) or not isinstance(dt, (int, float)):
        raise TypeError(f"dt must be a number or a torch.Tensor, got {type(dt).__name__}")
    elif not 0 <= dt < math.inf:
        raise ValueError(f"dt must be finite and at least 0, got {dt}")


def _same(shape: torch.Size, expected: tuple[int, ...]) -> bool:
    # Number by number: a traced size answers `==` where a tuple of them does not answer `in`.
    return len(shape) == len(expected) and all(
        have == want for have, want in zip(shape, expected, strict=True)
    )


def check_intervals(dt: Tensor, valid: Tensor | None, name: str = "dt") -> None:
    """Every interval outside pads must be finite and at least 0; name the first that is not."""
    if not readable(dt):
        return
    bad = ~(torch.isfinite(dt) & (dt >= 0))
    if valid is not None:
        bad = bad & valid
    if bad.any():
        index = tuple(bad.nonzero()[0].tolist())
        where = f" at index {index}" if index else ""
        value = dt.expand(bad.shape)[index].item()
        raise ValueError(f"{name} must be finite and at least 0, got {value}{where}")


def check_resets(resets: Tensor, shape: tuple[int, int], device: torch.device) -> None:
    """resets is a boolean tensor of shape (B, L)."""
    if not isinstance(resets, Tensor) or resets.dtype != torch.bool:
        got = resets.dtype if isinstance(resets, Tensor) else type(resets).__name__
        raise TypeError(f"resets must be a boolean tensor, got {got}")
    if tuple(resets.shape) != shape:
        raise ValueError(
            f"resets must have shape {shape} (batch, length), got {tuple(resets.shape)}"
        )
    check_device("resets", resets, device)


def check_lengths(lengths: Tensor, batch: int, length: int) -> None:
    """lengths is an integer tensor of shape (B,) with values from 1 to L."""
    integer = isinstance(lengths, Tensor) and not (
        lengths.is_floating_point() or lengths.is_complex() or lengths.dtype == torch.bool
    )
    if not integer:
        got = lengths.dtype if isinstance(lengths, Tensor) else type(lengths).__name__
        raise TypeError(f"lengths must be a tensor of integers, got {got}")
    if tuple(lengths.shape) != (batch,):
        raise ValueError(
            f"lengths must have shape ({batch},), one per row, got {tuple(lengths.shape)}"
        )
    if not readable(lengths):
        return
    lengths = lengths.to(torch.int64)  # a small type could not be compared with a large length
    bad = (lengths < 1) | (lengths > length)
    if bad.any():
        index = int(bad.nonzero()[0])
        raise ValueError(
            f"lengths must lie between 1 and the length of u, {length}; "
            f"got {int(lengths[index])} at index {index}"
        )
