"""The definition: a loop over time, differentiated by autograd."""

import torch
from torch import Tensor

from eigenstate.ops.affine import apply


def scan(
    a: Tensor, b: Tensor, state: Tensor, reverse: bool, overwrite: bool = False
) -> tuple[Tensor, Tensor]:
    """x_k = a_k x_(k-1) + b_k, one sample after the other (from the end when reversed)."""
    length = b.shape[1]
    states = []
    for k in reversed(range(length)) if reverse else range(length):
        multiplier = a[:, k if a.shape[1] > 1 else 0].to(state.dtype)
        state = apply(multiplier, state, b[:, k].to(state.dtype))
        states.append(state.to(b.dtype))
    if not states:
        return b.clone(), state.clone()
    return torch.stack(states[::-1] if reverse else states, 1), state
