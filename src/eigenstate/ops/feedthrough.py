"""y + D ∘ u without a temporary of the size of y, forward or backward."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from eigenstate.systems.eager import transformed

# Numbers in one piece of the product summed for the gradient of D: half a mebibyte, in the cache.
_PIECE = 1 << 17


def add_feedthrough(y: Tensor, D: Tensor, u: Tensor) -> Tensor:
    """y + D ∘ u for y and u (..., H) and D (H,); y, whose memory is reused, must not be a leaf."""
    if transformed():
        return torch.addcmul(y, D, u)
    return _Feedthrough.apply(y, D, u)


class _Feedthrough(Function):
    @staticmethod
    def forward(ctx: Any, y, D, u):
        ctx.save_for_backward(D, u)
        ctx.mark_dirty(y)
        return y.addcmul_(D, u)

    @staticmethod
    def backward(ctx: Any, grad):
        D, u = ctx.saved_tensors
        grad_D = grad_u = None
        if ctx.needs_input_grad[1]:
            grad_D = sum_of_products(grad.flatten(0, -2), u.flatten(0, -2))
        if ctx.needs_input_grad[2]:
            grad_u = grad * D
        return grad, grad_D, grad_u


def sum_of_products(x: Tensor, y: Tensor) -> Tensor:
    """Σ_i x_i ∘ y_i over rows: (R, H) -> (H,)."""
    if torch.is_grad_enabled():  # to be differentiated again: one expression
        return (x * y).sum(0)
    rows = max(1, _PIECE // max(1, x.shape[1]))
    total = x.new_zeros(x.shape[1])
    for x_piece, y_piece in zip(x.split(rows), y.split(rows), strict=True):
        total += (x_piece * y_piece).sum(0)
    return total
