"""The hand-written scan as an operator autograd, `torch.func` and `torch.compile` understand.

Eager code calls the kernels at once; a compiled graph sees the custom operators
`eigenstate::scan` and `eigenstate::scan_adjoint`. Forward-mode differentiation raises: the
Function has no `jvp`, and a custom operator alone would return zero tangents without a word.
"""

import torch
from torch import Tensor
from torch.autograd import Function

from eigenstate.ops.affine import product
from eigenstate.ops.backends import cpu
from eigenstate.systems.eager import in_memory, transformed
from eigenstate.systems.planes import conjugate

Three = tuple[Tensor, Tensor, Tensor]


@torch.library.custom_op("eigenstate::scan", mutates_args=())
def scan_op(a: Tensor, b: Tensor, state: Tensor, reverse: bool) -> tuple[Tensor, Tensor]:
    """`cpu.forward` as one node of a graph."""
    return cpu.forward(a, b, state, reverse)


@scan_op.register_fake
def _(a: Tensor, b: Tensor, state: Tensor, reverse: bool) -> tuple[Tensor, Tensor]:
    contiguous = torch.contiguous_format
    return (
        torch.empty_like(b, memory_format=contiguous),
        torch.empty_like(state, memory_format=contiguous),
    )


@torch.library.custom_op("eigenstate::scan_adjoint", mutates_args=())
def adjoint_op(
    a: Tensor, x: Tensor, state: Tensor, grad_x: Tensor, grad_final: Tensor, reverse: bool
) -> Three:
    """`cpu.adjoint` as one node of a graph."""
    return cpu.adjoint(a, x, state, grad_x, grad_final, reverse)


@adjoint_op.register_fake
def _(
    a: Tensor, x: Tensor, state: Tensor, grad_x: Tensor, grad_final: Tensor, reverse: bool
) -> Three:
    contiguous = torch.contiguous_format
    return (
        torch.empty_like(a, memory_format=contiguous),
        torch.empty_like(grad_x, memory_format=contiguous),
        torch.empty_like(grad_final, memory_format=contiguous),
    )


def scan(
    a: Tensor, b: Tensor, state: Tensor, reverse: bool, overwrite: bool = False
) -> tuple[Tensor, Tensor]:
    """The recurrence of `eigenstate.ops.backends` by the CPU kernels, differentiable.

    With `overwrite`, b may be used up where no gradient is recorded.
    """
    recorded = torch.is_grad_enabled() and any(x.requires_grad for x in (a, b, state))
    if recorded or transformed() or not in_memory(b):
        return _Scan.apply(a, b, state, reverse)
    return cpu.forward(a, b, state, reverse, overwrite)


class _Scan(Function):
    @staticmethod
    def forward(a, b, state, reverse):
        return (cpu.forward if in_memory(b) else scan_op)(a, b, state, reverse)

    @staticmethod
    def setup_context(ctx, inputs, output):
        a, _, state, ctx.reverse = inputs
        ctx.save_for_backward(a, output[0], state)

    @staticmethod
    def backward(ctx, grad_x, grad_final):
        a, x, state = ctx.saved_tensors
        if not in_memory(x):
            gradient = adjoint_op
        elif torch.is_grad_enabled():  # this backward pass may itself be differentiated
            gradient = _adjoint_formula
        else:
            gradient = cpu.adjoint
        return *gradient(a, x, state, grad_x, grad_final, ctx.reverse), None

    @staticmethod
    def vmap(info, in_dims, a, b, state, reverse):
        size = info.batch_size
        b, state = _fold(b, in_dims[1], size), _fold(state, in_dims[2], size)
        x, final = _Scan.apply(_fold_multiplier(a, in_dims[0], size, b), b, state, reverse)
        return (_unfold(x, size), _unfold(final, size)), (0, 0)


def _adjoint_formula(
    a: Tensor, x: Tensor, state: Tensor, grad_x: Tensor, grad_final: Tensor, reverse: bool
) -> Three:
    """The gradients of `cpu.adjoint` written with the scan itself, so differentiable again."""
    if x.shape[1] == 0:
        return torch.zeros_like(a), grad_x, grad_final
    first = -1 if reverse else 0
    against = conjugate(a) if a.shape[-2] == 2 else a
    # The multiplier at k is a_(k+1); the one at the end meets a zero state, so any value will do.
    shifted = against if a.shape[1] == 1 else against.roll(1 if reverse else -1, 1)
    rest = x.shape[1] - 1
    ends = torch.nn.functional.pad(
        grad_final.unsqueeze(1), (0, 0, 0, 0, *((0, rest) if reverse else (rest, 0)))
    )
    g = grad_x.to(grad_final.dtype) + ends
    grad_b, _ = _Scan.apply(shifted, g, torch.zeros_like(state), not reverse)
    start = state.unsqueeze(1).to(g.dtype)
    body = x.to(g.dtype)
    before = torch.cat((body[:, 1:], start) if reverse else (start, body[:, :-1]), 1)
    grad_a = product(conjugate(before) if a.shape[-2] == 2 else before, grad_b)
    grad_a = grad_a.sum_to_size((grad_a.shape[0] if a.shape[0] > 1 else 1, *a.shape[1:]))
    grad_state = product(against[:, 0 if a.shape[1] == 1 else first], grad_b[:, first])
    return grad_a.to(a.dtype), grad_b.to(grad_x.dtype), grad_state


def _fold(x: Tensor, dim: int | None, size: int) -> Tensor:
    """Merge a vmapped axis into the rows: (V, B, ...) -> (V B, ...)."""
    moved = x.expand(size, *x.shape) if dim is None else x.movedim(dim, 0)
    return moved.flatten(0, 1)


def _unfold(x: Tensor, size: int) -> Tensor:
    return x.unflatten(0, (size, x.shape[0] // size))


def _fold_multiplier(a: Tensor, dim: int | None, size: int, b: Tensor) -> Tensor:
    """Multipliers may be shared by all rows; a vmapped axis of their own ends that."""
    if dim is None and a.shape[0] == 1:
        return a
    moved = a.expand(size, *a.shape) if dim is None else a.movedim(dim, 0)
    rows = b.shape[0] // size
    return moved.expand(size, rows, *moved.shape[2:]).flatten(0, 1)
