"""Checks at the public edge of a model, before any work, and what a model does with pads."""

from collections.abc import Sequence

import torch
from torch import Tensor

from eigenstate.layers.checks import check_device, check_input, check_lengths
from eigenstate.ops.steps import mask
from eigenstate.systems.eager import readable


def check_samples(u: Tensor, size: int, like: Tensor, width: str = "d_model") -> None:
    """u is one sample a row, (B, size), of the type and on the device of the model's weights."""
    check_channels(u, "batch", size, like, width)


def check_sequences(
    u: Tensor, size: int, like: Tensor, lengths: Tensor | None, width: str = "d_model"
) -> None:
    """u is (B, L, size), of the type and on the device of the weights; lengths fit it."""
    check_channels(u, "batch, length", size, like, width)
    if lengths is not None:
        check_lengths(lengths, *u.shape[:2])


def check_channels(u: Tensor, axes: str, size: int, like: Tensor, width: str) -> None:
    """u is (axes, size), of the type and on the device of the weights."""
    check_input(u, axes, size, like, width)
    _check_dtype(u, like)


def check_images(u: Tensor, axes: str, side: int, like: Tensor) -> None:
    """u is (axes, side, side), of the type and on the device of the weights."""
    _check_tensor(u, "u")
    rank = axes.count(",") + 3
    if u.dim() != rank or u.shape[-2:] != (side, side):
        raise ValueError(f"u must have shape ({axes}, {side}, {side}), got {tuple(u.shape)}")
    if not u.is_floating_point():
        raise TypeError(f"u must be floating point, got {u.dtype}; pass u.float() / 255 for bytes")
    check_device("u", u, like.device)
    _check_dtype(u, like)


def check_tokens(u: Tensor, axes: str, device: torch.device, name: str = "u") -> None:
    """u is (axes) of integers; `check_ids` looks at their values."""
    _check_tensor(u, name)
    if u.is_floating_point() or u.is_complex() or u.dtype == torch.bool:
        raise TypeError(
            f"{name} must be token ids, a tensor of integers, got {u.dtype}; pass {name}.long()"
        )
    if u.dim() != axes.count(",") + 1:
        raise ValueError(f"{name} must have shape ({axes}), got {tuple(u.shape)}")
    check_device(name, u, device)


def check_ids(u: Tensor, n_tokens: int, name: str = "u") -> None:
    """Every token id is from 0 to n_tokens - 1; name the first that is not."""
    if not readable(u):
        return
    u = u.to(torch.int64)  # a small type could not be compared with a large vocabulary
    bad = (u < 0) | (u >= n_tokens)
    if bad.any():
        index = tuple(bad.nonzero()[0].tolist())
        raise ValueError(
            f"{name} must hold token ids from 0 to {n_tokens - 1} (n_tokens={n_tokens}), "
            f"got {int(u[index])} at index {index}"
        )


def check_states(state: Sequence[Tensor] | None, count: int, bidirectional: bool) -> None:
    """A state is None, or one tensor for each layer; the layers check those."""
    if state is None:
        return
    if bidirectional:
        raise ValueError(
            "state must be None for a bidirectional model: its backward half starts in the "
            "future, so there is no state to continue from; build it with bidirectional=False"
        )
    if not isinstance(state, (list, tuple)) or len(state) != count:
        got = f"{len(state)} of them" if isinstance(state, (list, tuple)) else type(state).__name__
        raise ValueError(f"state must be a list of {count} tensors, one for each layer, got {got}")


def check_share(name: str, p: object) -> None:
    """A share of what is dropped, 0 <= p < 1."""
    if not (isinstance(p, (int, float)) and 0 <= p < 1):
        raise ValueError(f"{name} must be at least 0 and below 1, got {p!r}")


def without_pads(x: Tensor, lengths: Tensor | None) -> Tensor:
    """x (B, L, ...) with zeros past each row's length: selected, so that no NaN there survives."""
    if lengths is None:
        return x
    valid = mask(lengths.to(x.device), x.shape[1])  # (B, L)
    return torch.where(valid.reshape(*valid.shape, *(1 for _ in x.shape[2:])), x, 0)


def _check_tensor(u: Tensor, name: str) -> None:
    if not isinstance(u, Tensor):
        raise TypeError(f"{name} must be a torch.Tensor, got {type(u).__name__}")


def _check_dtype(u: Tensor, like: Tensor) -> None:
    if u.dtype != like.dtype and not torch.is_autocast_enabled(u.device.type):
        raise TypeError(
            f"u must be {like.dtype} like the model's weights, got {u.dtype}; "
            f"pass u.to({like.dtype}) or call model.to({u.dtype})"
        )
