"""One class for a whole sequence."""

from typing import Any

from torch import Tensor, nn

from eigenstate.models.backbone import Backbone
from eigenstate.models.encoders import Encoder
from eigenstate.models.pooled import PooledModel
from eigenstate.models.pooling import POOLINGS


class Classifier(PooledModel):
    """encoder -> backbone -> pooling over time -> decoder (d_model -> n_classes).

    u (B, L, channels), or what the encoder takes, -> logits (B, n_classes). `encoder` is the number
    of channels or an Encoder. The state makes a sequence divisible: the logits after the last
    piece, or after k calls of `step`, are those of everything so far. A reset begins a new episode
    for the layers and the pooling alike. `pooling` is mean or last.

    >>> model = es.Classifier(12, 9, backbone=es.Backbone(64, 3, dropout=0.1))
    """

    HEAD = ("n_classes", "pooling")

    def __init__(
        self, encoder: int | Encoder, n_classes: int, *, backbone: Backbone, pooling: str = "mean"
    ) -> None:
        super().__init__(encoder, n_classes, backbone=backbone, pooling=pooling)
        self.decoder = nn.Linear(backbone.d_model, n_classes)

    def _head(self) -> dict[str, Any]:
        (pooling,) = [name for name, kind in POOLINGS.items() if type(self.pooling) is kind]
        return {"n_classes": self.n_classes, "pooling": pooling}

    def _decode(self, pooled: Tensor) -> Tensor:
        return self.decoder(pooled)
