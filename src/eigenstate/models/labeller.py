"""One class for every sample."""

from torch import nn

from eigenstate.layers.checks import check_count
from eigenstate.models.backbone import Backbone
from eigenstate.models.encoders import Encoder
from eigenstate.models.logits import LogitsModel


class Labeller(LogitsModel):
    """encoder -> backbone -> decoder (d_model -> n_classes) at every sample.

    u (B, L, channels), or what the encoder takes, -> logits (B, L, n_classes), zeros past each
    row's length. `encoder` is the number of channels or an Encoder. The state is the list of the
    layers' states.
    """

    HEAD = ("n_classes",)

    def __init__(self, encoder: int | Encoder, n_classes: int, *, backbone: Backbone) -> None:
        check_count("n_classes", n_classes)
        super().__init__(encoder, backbone=backbone)
        self.n_classes = n_classes
        self.decoder = nn.Linear(backbone.d_model, n_classes)
