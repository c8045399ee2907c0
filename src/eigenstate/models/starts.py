"""How the plain matrices of a model start: those of encoder, gates and heads, not of the layers."""

import math

import torch
from torch import nn

from eigenstate.layers.checks import check_choice

# The deviation of a standard normal that is cut at two deviations.
_CUT = 0.87962566103423978
STARTS = ("torch", "lecun")


@torch.no_grad()
def start_matrices(model: nn.Module, how: str) -> None:
    """Draw every nn.Linear and nn.Conv2d of `model` anew.

    "torch" leaves them as PyTorch draws them, uniform with variance 1 / (3 fan_in), biases too.
    "lecun": weights normal with variance 1 / fan_in, cut at two deviations, and biases 0, as Flax
    does by default and so the S5 paper's official code.
    """
    check_choice("matrices", how, STARTS)
    if how == "torch":
        return
    for module in model.modules():
        if isinstance(module, (nn.Linear, nn.Conv2d)):
            fan_in = module.weight[0].numel()
            std = 1 / (_CUT * math.sqrt(fan_in))
            nn.init.trunc_normal_(module.weight, std=std, a=-2 * std, b=2 * std)
            if module.bias is not None:
                module.bias.zero_()
