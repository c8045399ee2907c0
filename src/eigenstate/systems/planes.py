"""Complex arithmetic on real planes: an axis of length 2 (real, imaginary) before the modes.

Complex tensors lose their imaginary part in casts and are refused by mixed precision, fused
optimisers and exporters, so the whole package computes on real numbers instead.
"""

import torch
from torch import Tensor


def multiply(x: Tensor, y: Tensor, dim: int = -2) -> Tensor:
    """The complex product of two arrays of planes that lie along `dim`."""
    x_re, x_im = x.unbind(dim)
    y_re, y_im = y.unbind(dim)
    return torch.stack((x_re * y_re - x_im * y_im, x_re * y_im + x_im * y_re), dim)


def conjugate(x: Tensor, dim: int = -2) -> Tensor:
    """The complex conjugate of an array of planes that lie along `dim`."""
    re, im = x.unbind(dim)
    return torch.stack((re, -im), dim)


def wide(device: torch.device) -> torch.dtype:
    """The widest floating dtype of a device: what states and per-mode numbers are formed in."""
    return torch.float32 if device.type == "mps" else torch.float64
