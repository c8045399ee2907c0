"""Affine maps x -> a x + b over modes: how one acts on a state, and how two compose."""

import torch
from torch import Tensor

from eigenstate.systems.planes import multiply


def product(a: Tensor, x: Tensor) -> Tensor:
    """a x, real (one plane) or complex (two planes on axis -2)."""
    return a * x if a.shape[-2] == 1 else multiply(a, x)


def apply(a: Tensor, x: Tensor, b: Tensor) -> Tensor:
    """a x + b, where a multiplier of exactly 0 forgets x even if x is NaN or infinite."""
    zero = (a == 0).all(-2, keepdim=True)
    return product(a, torch.where(zero & ~x.isfinite(), 0.0, x)) + b
