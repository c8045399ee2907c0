"""What follows the layer of a block: GELU, and the published gates."""

import torch
from torch import Tensor, nn

from eigenstate.layers.checks import check_choice, check_options
from eigenstate.models.dropout import TiedDropout
from eigenstate.models.options import BlockOptions

ACTIVATIONS = {
    # name: (does the value have its own matrix?, is there a gate?)
    "gelu": (False, False),
    "full_glu": (True, True),
    "half_glu1": (False, True),
    "half_glu2": (False, True),
}


class Activation(nn.Module):
    """The nonlinearity of an S5 block, with x = drop(gelu(y)); y, result (..., H):

    gelu       x
    full_glu   drop((V x + c) * sigmoid(W x + b))
    half_glu1  drop(x * sigmoid(W x + b))
    half_glu2  drop(y * sigmoid(W x + b)), the value branch being the layer's raw output

    `gelu` is "exact" or "tanh", and the dropout is tied over time unless told otherwise.
    Source: J. Smith, A. Warrington, S. Linderman, "Simplified State Space Layers for Sequence
    Modeling" (2023), and its official code. ValueError: an unknown name.
    """

    def __init__(
        self,
        d_model: int,
        kind: str = "half_glu1",
        *,
        dropout: float = 0.0,
        options: BlockOptions | None = None,
    ) -> None:
        super().__init__()
        check_choice("activation", kind, ACTIVATIONS)
        options = BlockOptions() if options is None else options
        check_options(options, BlockOptions)
        has_value, has_gate = ACTIVATIONS[kind]
        self.kind = kind
        self.gelu = nn.GELU("tanh" if options.gelu == "tanh" else "none")
        self.dropout = TiedDropout(dropout, tied=options.tied_dropout)
        self.value = nn.Linear(d_model, d_model) if has_value else None
        self.gate = nn.Linear(d_model, d_model) if has_gate else None

    def forward(self, y: Tensor) -> Tensor:
        x = self.dropout(self.gelu(y))
        if self.gate is None:
            return x
        if self.value is not None:
            value = self.value(x)
        else:
            value = y if self.kind == "half_glu2" else x
        return self.dropout(value * torch.sigmoid(self.gate(x)))

    def extra_repr(self) -> str:
        return f"kind={self.kind!r}"
