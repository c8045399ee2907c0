"""Scans whose multipliers change from sample to sample, in memory that does not store them.

The multipliers of a whole sequence would take 16 bytes for each sample and mode, and their
gradients as much again. A tile of time is small, so multipliers are formed tile by tile and formed
once more in the backward pass; between tiles only the state is kept.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from eigenstate.ops.scan import scan_planes
from eigenstate.ops.steps import Steps
from eigenstate.systems.eager import transformed
from eigenstate.systems.planes import multiply

Rule = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]
Tile = Callable[..., tuple[Tensor, Tensor]]

# Samples times modes of one tile: its float64 planes take 1 MiB and stay in the cache.
_TILE = 1 << 16


def masked_scan(
    a: Tensor, b: Tensor, state: Tensor, steps: Steps, reverse: bool
) -> tuple[Tensor, Tensor]:
    """A constant multiplier a (2, P) with resets and pads: b (B, L, 2, P), state (B, 2, P)."""

    def tile(b, state, _, resets, valid, a):
        return scan_planes(select(a, resets, valid), b, state, reverse=reverse)

    return in_tiles(tile, b, state, steps, (a,), reverse, b.shape[-1])


def timed_scan(
    rule: Rule,
    poles: Tensor,
    timescale: Tensor,
    v: Tensor,
    state: Tensor,
    steps: Steps,
    reverse: bool,
) -> tuple[Tensor, Tensor]:
    """One interval per sample: the projected input v (B, L, 2, P) is scaled by each mode's gain.

    gain(Δ dt_k) ∘ (B u_k) equals the discretised matrix times u_k, which would take a factor H
    more memory. poles (2, P), timescale (P,), both wide.
    """

    def tile(v, state, dt, resets, valid, poles, timescale):
        a, gain = rule(poles, dt.unsqueeze(-1) * timescale)  # (B, T, 2, P)
        b = multiply(gain.to(v.dtype), v)
        a = select(a, resets, valid)
        return scan_planes(a, b, state, reverse=reverse, overwrite=True)

    return in_tiles(tile, v, state, steps, (poles, timescale), reverse, v.shape[-1])


def select(a: Tensor, resets: Tensor | None, valid: Tensor | None) -> Tensor:
    """Multipliers a (2, P) or (B, T, 2, P) with resets and pads worked in: (1 or B, 1 or T, 2, P).

    0 at a reset; 1 at a pad, which with the input 0 there changes nothing.
    """
    if resets is not None:
        a = torch.where(resets[..., None, None], 0.0, a)
    if valid is not None:
        one = torch.tensor([[1.0], [0.0]], dtype=a.dtype, device=a.device)
        a = torch.where(valid[..., None, None], a, one)
    return a if a.dim() == 4 else a[None, None]


def in_tiles(
    tile: Tile,
    v: Tensor,
    state: Tensor,
    steps: Steps,
    parameters: tuple[Tensor, ...],
    reverse: bool,
    modes: int,
) -> tuple[Tensor, Tensor]:
    """Run `tile(v, state, dt, resets, valid, *parameters)` over pieces of time, state in hand.

    It returns something of v's shape and the next state, and holds about 16 bytes for each sample
    of v and each of the `modes` of a sample.
    """
    samples = (steps.dt, steps.resets, steps.valid)
    rows, length = v.shape[:2]
    size = max(16, _TILE // max(1, rows * modes))
    # A graph being traced or transformed gets one plain expression and does its own planning.
    if length <= size or transformed():
        return tile(v, state, *samples, *parameters)
    return _Tiled.apply(tile, size, reverse, v, state, *samples, *parameters)


class _Tiled(Function):
    """Run `tile` over consecutive pieces of time; run it again, piece by piece, for gradients."""

    @staticmethod
    def forward(ctx: Any, tile, size, reverse, v, state, dt, resets, valid, *parameters):
        samples = (dt, resets, valid)
        pieces = [slice(i, i + size) for i in range(0, v.shape[1], size)]
        x, states = torch.empty_like(v, memory_format=torch.contiguous_format), []
        for piece in reversed(pieces) if reverse else pieces:
            states.append(state)
            x[:, piece], state = tile(v[:, piece], state, *_cut(samples, piece), *parameters)
        ctx.tile, ctx.pieces = tile, pieces if reverse else pieces[::-1]
        ctx.save_for_backward(v, *samples, *parameters, *states)
        ctx.parameters = len(parameters)
        return x, state

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_x, grad_state):
        v, dt, resets, valid, *rest = ctx.saved_tensors
        parameters, states = rest[: ctx.parameters], rest[ctx.parameters :]
        grad_v = torch.empty_like(v)
        grad_dt = torch.zeros_like(dt) if ctx.needs_input_grad[5] else None
        sums = [torch.zeros_like(p) for p in parameters]
        for piece, state in zip(ctx.pieces, reversed(states), strict=True):
            inputs = [_leaf(t) for t in (v[:, piece], state, *_cut((dt,), piece), *parameters)]
            with torch.enable_grad():
                masks = _cut((resets, valid), piece)
                outputs = ctx.tile(*inputs[:3], *masks, *inputs[3:])
            wanted = [t for t in inputs if t is not None]
            grads = torch.autograd.grad(outputs, wanted, (grad_x[:, piece], grad_state))
            grad_v[:, piece], grad_state = grads[:2]
            if grad_dt is not None:
                grad_dt[:, piece] = grads[2]
            for total, grad in zip(sums, grads[-len(sums) :], strict=True):
                total += grad
        return None, None, None, grad_v, grad_state, grad_dt, None, None, *sums


def _cut(samples: tuple[Tensor | None, ...], piece: slice) -> list[Tensor | None]:
    return [None if s is None else s[:, piece] for s in samples]


def _leaf(x: Tensor | None) -> Tensor | None:
    return None if x is None else x.detach().requires_grad_()
