"""A whole time-invariant system with diagonal dynamics as one operator on the CPU.

    x_k = a ∘ x_(k-1) + B̄ u_k,  y_k = C x_k + D ∘ u_k

Taken apart, it is two dense products, a scan and a feedthrough, each with memory of its own for
its result and its gradient. Touching new memory costs as much as the scan itself, so here the
states take the place of the projected input, their gradient that of the states' gradient, and the
feedthrough is added where it is wanted.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.nn import functional as F

from eigenstate.ops.again import gradients_again
from eigenstate.ops.backends import cpu
from eigenstate.ops.differentiable import scan
from eigenstate.ops.feedthrough import sum_of_products
from eigenstate.systems.eager import full_precision


def system(
    u: Tensor, a: Tensor, B: Tensor, C: Tensor, D: Tensor, state: Tensor
) -> tuple[Tensor, Tensor]:
    """u (B, L, H), a (2, P), B (2P, H), C (H, 2P), D (H,), state (B, 2, P) -> y, final state."""
    return _System.apply(u, a, B, C, D, state)


def composed(
    u: Tensor, a: Tensor, B: Tensor, C: Tensor, D: Tensor, state: Tensor
) -> tuple[Tensor, Tensor]:
    """The same, part by part: the definition, and what is differentiated twice."""
    b = F.linear(u, B).unflatten(-1, (2, -1))
    x, final = scan(a[None, None], b, state, False)
    return torch.addcmul(F.linear(x.flatten(-2), C), D, u), final


class _System(Function):
    @staticmethod
    def forward(ctx: Any, u, a, B, C, D, state):
        b = F.linear(u, B).unflatten(-1, (2, -1))
        x, final = cpu.forward(a[None, None], b, state, reverse=False, overwrite=True)
        ctx.save_for_backward(u, a, B, C, D, state, x)
        return F.linear(x.flatten(-2), C).addcmul_(D, u), final

    @staticmethod
    def backward(ctx: Any, grad_y, grad_final):
        with full_precision(grad_y.device):
            return _System._gradients(ctx, grad_y, grad_final)

    @staticmethod
    def _gradients(ctx: Any, grad_y, grad_final):
        *inputs, x = ctx.saved_tensors
        if torch.is_grad_enabled():  # to be differentiated again
            return gradients_again(composed, inputs, (grad_y, grad_final), ctx.needs_input_grad)
        u, a, B, C, D, state = inputs
        flat_u, flat_y, flat_x = u.flatten(0, 1), grad_y.flatten(0, 1), x.flatten(0, 1).flatten(1)
        grad_x = F.linear(grad_y, C.T).unflatten(-1, (2, -1))
        grad_a, grad_b, grad_state = cpu.adjoint(
            a[None, None], x, state, grad_x, grad_final, reverse=False, overwrite=True
        )
        flat_b = grad_b.flatten(0, 1).flatten(1)
        grad_u = None
        if ctx.needs_input_grad[0]:
            grad_u = F.linear(flat_b, B.T).addcmul_(flat_y, D).view_as(u)
        grad_D = sum_of_products(flat_y, flat_u)
        return grad_u, grad_a[0, 0], flat_b.T @ flat_u, flat_y.T @ flat_x, grad_D, grad_state
