"""Mean 0 and deviation 1 for every feature over all samples of a batch, in few passes over memory.

Written as one expression, autograd touches the samples some twenty-five times, which costs more
than the scan of a layer. Here they are taken in pieces that stay in the cache. (torch's own batch
norm sums a long batch one sample after another in float32: with 256,000 of them it is off by 2e-4.)
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from eigenstate.ops.again import gradients_again
from eigenstate.ops.steps import mask
from eigenstate.systems.eager import in_memory, transformed

# Numbers in one piece: half a mebibyte, in the cache.
_PIECE = 1 << 17


def standardize(
    x: Tensor, weight: Tensor, bias: Tensor, lengths: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """x (B, L, H), weight and bias (H,), lengths (B,) -> y (B, L, H), mean (H,), variance (H,).

    y = (x - mean) / sqrt(variance + eps) * weight + bias with the mean and the biased variance of
    the samples before each row's length; whatever x holds after it, y is 0 there.
    """
    if transformed() or not in_memory(x) or x.device.type != "cpu":
        return composed(x, weight, bias, lengths, eps)
    return _Standardize.apply(x, weight, bias, lengths, eps)


def composed(
    x: Tensor, weight: Tensor, bias: Tensor, lengths: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """The definition, and what is differentiated twice."""
    if lengths is None:
        valid, count = torch.ones((), dtype=torch.bool, device=x.device), x.shape[0] * x.shape[1]
    else:
        valid, count = mask(lengths.to(x.device), x.shape[1])[..., None], lengths.sum()
    x = torch.where(valid, x, 0.0)
    mean = x.sum((0, 1)) / count
    difference = torch.where(valid, x - mean, 0.0)
    variance = difference.square().sum((0, 1)) / count
    y = difference * torch.rsqrt(variance + eps) * weight
    return torch.where(valid, y + bias, 0.0), mean, variance


class _Standardize(Function):
    @staticmethod
    def forward(ctx: Any, x, weight, bias, lengths, eps):
        pieces = list(_pieces(x, lengths))
        flat = x.flatten(0, 1)  # (B L, H)
        count = sum(piece.stop - piece.start for piece in pieces)
        mean, variance = x.new_zeros(2, x.shape[2])
        for piece in pieces:
            mean += flat[piece].sum(0)
        mean /= count
        for piece in pieces:
            variance += (flat[piece] - mean).square_().sum(0)
        variance /= count
        inverse = torch.rsqrt(variance + eps)
        scale = inverse * weight
        y = torch.empty_like(flat) if lengths is None else torch.zeros_like(flat)
        for piece in pieces:
            torch.addcmul(bias, flat[piece] - mean, scale, out=y[piece])
        ctx.save_for_backward(x, weight, bias, lengths, mean, inverse)
        ctx.pieces, ctx.count, ctx.eps = pieces, count, eps
        ctx.mark_non_differentiable(mean, variance)
        return y.view_as(x), mean, variance

    @staticmethod
    def backward(ctx: Any, grad, _mean, _variance):
        x, weight, bias, lengths, mean, inverse = ctx.saved_tensors
        if torch.is_grad_enabled():  # to be differentiated again

            def values(x, weight, bias):
                return composed(x, weight, bias, lengths, ctx.eps)[0]

            needed = ctx.needs_input_grad[:3]
            return *gradients_again(values, (x, weight, bias), grad, needed), None, None
        flat, grad = x.flatten(0, 1), grad.flatten(0, 1)
        grad_weight, grad_bias = x.new_zeros(2, x.shape[2])
        for piece in ctx.pieces:
            grad_bias += grad[piece].sum(0)
            grad_weight += ((flat[piece] - mean) * grad[piece]).sum(0)
        grad_weight *= inverse
        # A sample moves the mean, by offset, and the variance, by slope (x - mean).
        scale = inverse * weight
        offset, slope = -scale * grad_bias / ctx.count, -scale * inverse * grad_weight / ctx.count
        grad_x = torch.empty_like(flat) if lengths is None else torch.zeros_like(flat)
        for piece in ctx.pieces:
            handed = torch.addcmul(offset, flat[piece] - mean, slope)
            torch.addcmul(handed, grad[piece], scale, out=grad_x[piece])
        return grad_x.view_as(x), grad_weight, grad_bias, None, None


def _pieces(x: Tensor, lengths: Tensor | None) -> Iterator[slice]:
    """Where the valid samples of x (B, L, H) stand among its B L samples, piece by piece."""
    batch, length, features = x.shape
    size = max(1, _PIECE // max(1, features))
    if lengths is None:
        rows = [(0, batch * length)]
    else:
        rows = [(row * length, row * length + n) for row, n in enumerate(lengths.tolist())]
    for start, stop in rows:
        for first in range(start, stop, size):
            yield slice(first, min(first + size, stop))
