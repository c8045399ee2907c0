"""How code runs: as written, traced, transformed, or under mixed precision."""

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor
from torch.autograd import forward_ad


def transformed() -> bool:
    """Inside `torch.func` transforms, forward-mode differentiation or a graph being traced.

    There values and memory must not be looked at.
    """
    # torch's own autograd.Function asks the same private questions; there are no public ones.
    return (
        torch.compiler.is_compiling()
        or torch._C._are_functorch_transforms_active()
        or forward_ad._current_level >= 0
    )


def readable(x: Tensor) -> bool:
    """Whether the values of x may be looked at: not while transformed, nor where there are none."""
    return not transformed() and in_memory(x) and x.device.type != "meta"


def in_memory(x: Tensor) -> bool:
    """Whether the memory of x is there to be read: not while traced or when its shape is faked."""
    return type(x) in (Tensor, torch.nn.Parameter) and not torch.compiler.is_compiling()


def full_precision(device: torch.device) -> AbstractContextManager[object]:
    """Leave mixed precision, which would round the input of a scan to 16 bits."""
    if torch.amp.is_autocast_available(device.type):
        return torch.autocast(device.type, enabled=False)
    return nullcontext()
