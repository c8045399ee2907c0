"""The linear recurrence x_k = a_k x_(k-1) + b_k, for all k."""

import torch
from torch import Tensor

from eigenstate.ops.selection import resolve
from eigenstate.systems.planes import wide


def linear_scan(
    a: Tensor,
    b: Tensor,
    state: Tensor | None = None,
    *,
    reverse: bool = False,
    backend: str | None = None,
) -> tuple[Tensor, Tensor]:
    """All states of x_k = a_k x_(k-1) + b_k, and the last one.

    Shapes: b (..., L, P), real or complex; a (P,) constant in time, or broadcastable to b with a
    time axis of L; state (..., P), zeros when None. With `reverse`, x_k = a_k x_(k+1) + b_k and
    the last state is that of k = 0.

    Returns `states` like b (16-bit data is computed in float32 and cast back) and `final` (..., P)
    in float64 or complex128 where the device has it: hand it back as `state` to go on. A
    multiplier of exactly 0 forgets: 0 · NaN counts as 0 there, so a NaN does not cross a reset.

    backend: "reference", "associative" or "cpu"; None takes the fastest for the device.
    Raises ValueError or TypeError before anything is computed.
    Source: Smith et al. 2023 (S5), section 2.2.
    """
    _check(a, b, state)
    is_complex = b.is_complex() or a.is_complex() or (state is not None and state.is_complex())
    batch, (length, modes) = b.shape[:-2], b.shape[-2:]
    rows, planes = batch.numel(), 2 if is_complex else 1
    b_planes = _planes(b, is_complex).reshape(rows, length, planes, modes)
    a_planes = _rows_of_multipliers(_planes(a, is_complex), b, is_complex)
    if state is None:
        state_planes = b_planes.new_zeros((rows, planes, modes), dtype=wide(b.device))
    else:
        state_planes = _planes(state, is_complex).reshape(rows, planes, modes)
    states, final = scan_planes(a_planes, b_planes, state_planes, reverse=reverse, backend=backend)
    states = states.reshape(*batch, length, planes, modes)
    final = final.reshape(*batch, planes, modes)
    if not is_complex:
        return states.squeeze(-2).to(b.dtype), final.squeeze(-2)
    return _complex(states), _complex(final)


def scan_planes(
    a: Tensor,
    b: Tensor,
    state: Tensor,
    *,
    reverse: bool = False,
    backend: str | None = None,
    overwrite: bool = False,
) -> tuple[Tensor, Tensor]:
    """The same recurrence on real planes, unchecked: what the layers call.

    b (B, L, C, P), state (B, C, P), a (1 or B, 1 or L, C, P), with C = 1 for real numbers and
    C = 2 for complex ones. The state is widened; states take b's dtype, float32 at least. With
    `overwrite` the caller has no more use for b, whose memory may become the states'.
    """
    work = torch.promote_types(b.dtype, torch.float32)
    wide_state = state.to(wide(b.device))
    a = a.to(torch.promote_types(a.dtype, torch.float32))
    return resolve(backend, b.device)(a, b.to(work), wide_state, reverse, overwrite)


def _planes(x: Tensor, is_complex: bool) -> Tensor:
    """(..., P) -> (..., C, P)."""
    if not is_complex:
        return x.unsqueeze(-2)
    if not x.is_complex():
        return torch.stack((x, torch.zeros_like(x)), -2)
    return torch.stack((x.real, x.imag), -2)


def _complex(planes: Tensor) -> Tensor:
    """(..., 2, P) -> complex (..., P)."""
    return torch.complex(*planes.unbind(-2))


def _rows_of_multipliers(a: Tensor, b: Tensor, is_complex: bool) -> Tensor:
    """Bring a (..., C, P) to (1 or rows, 1 or L, C, P)."""
    planes, modes = 2 if is_complex else 1, b.shape[-1]
    if a.dim() == 2:  # constant: (C, P)
        return a.expand(planes, modes).reshape(1, 1, planes, modes)
    if a.dim() == 3:  # shared by all rows: (L, C, P)
        return a.expand(-1, planes, modes).unsqueeze(0)
    full = (*b.shape[:-1], planes, modes)
    return a.expand(full).reshape(b.shape[:-2].numel(), *full[-3:])


def _check(a: Tensor, b: Tensor, state: Tensor | None) -> None:
    named = {"a": a, "b": b} | ({} if state is None else {"state": state})
    for name, x in named.items():
        if not isinstance(x, Tensor):
            raise TypeError(f"{name} must be a torch.Tensor, got {type(x).__name__}")
        if not (x.is_floating_point() or x.is_complex()):
            raise TypeError(f"{name} must be floating point or complex, got {x.dtype}")
        if x.device != b.device:
            raise ValueError(f"{name} must be on the device of b ({b.device}), got {x.device}")
    if b.dim() < 2:
        raise ValueError(f"b must have shape (..., length, modes), got {tuple(b.shape)}")
    length, modes = b.shape[-2:]
    fits = a.dim() == 1 or (1 < a.dim() <= b.dim() and a.shape[-2] == length)
    if not fits or not _broadcasts(a.shape, b.shape):
        raise ValueError(
            f"a must have shape ({modes},), constant in time, or broadcast to b "
            f"{tuple(b.shape)} with a time axis of {length}, got {tuple(a.shape)}"
        )
    expected = (*b.shape[:-2], modes)
    if state is not None and state.shape != expected:
        raise ValueError(f"state must have shape {expected}, got {tuple(state.shape)}")


def _broadcasts(shape: torch.Size, target: torch.Size) -> bool:
    pairs = zip(reversed(shape), reversed(target), strict=False)
    return len(shape) > 0 and all(have in (1, want) for have, want in pairs)
