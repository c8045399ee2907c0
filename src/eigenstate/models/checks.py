"""Checks at the public edge of a model, before any work, and what a model does with pads."""

from collections.abc import Sequence

import torch
from torch import Tensor

from eigenstate.layers.checks import check_input, check_lengths, mask


def check_samples(u: Tensor, size: int, like: Tensor, width: str = "d_model") -> None:
    """u is one sample a row, (B, size), of the type and on the device of the model's weights."""
    check_input(u, "batch", size, like, width)
    _check_dtype(u, like)


def check_sequences(
    u: Tensor, size: int, like: Tensor, lengths: Tensor | None, width: str = "d_model"
) -> None:
    """u is (B, L, size), of the type and on the device of the weights; lengths fit it."""
    check_input(u, "batch, length", size, like, width)
    _check_dtype(u, like)
    if lengths is not None:
        check_lengths(lengths, *u.shape[:2])


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


def without_pads(x: Tensor, lengths: Tensor | None) -> Tensor:
    """x (B, L, H) with zeros past each row's length: selected, so that no NaN there survives."""
    if lengths is None:
        return x
    valid = mask(lengths.to(x.device), x.shape[1])  # (B, L)
    return torch.where(valid.unsqueeze(-1), x, 0.0)


def _check_dtype(u: Tensor, like: Tensor) -> None:
    if u.dtype != like.dtype and not torch.is_autocast_enabled(u.device.type):
        raise TypeError(
            f"u must be {like.dtype} like the model's weights, got {u.dtype}; "
            f"pass u.to({like.dtype}) or call model.to({u.dtype})"
        )
