"""Gradients that are to be differentiated once more, of an operator whose backward is written by hand."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor


def gradients_again(
    function: Callable[..., Tensor | tuple[Tensor, ...]],
    inputs: Sequence[Tensor],
    grads: Tensor | tuple[Tensor, ...],
    needed: Sequence[bool],
) -> tuple[Tensor | None, ...]:
    """The gradients of `function`, the definition of an operator, as autograd records them.

    One for each input, None where it is not needed. Inputs are taken by views, so that only the way
    through this operator counts: one may depend on another, as when a layer is applied to its own
    output.
    """
    views = [x.view_as(x) for x in inputs]
    wanted = [x for x, need in zip(views, needed, strict=True) if need]
    found = iter(torch.autograd.grad(function(*views), wanted, grads, create_graph=True))
    return tuple(next(found) if need else None for need in needed)
