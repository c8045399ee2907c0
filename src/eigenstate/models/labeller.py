"""One class for every sample."""

from collections.abc import Sequence

from torch import Tensor, nn

from eigenstate.layers.checks import check_count
from eigenstate.models.backbone import Backbone
from eigenstate.models.base import SequenceModel
from eigenstate.models.checks import without_pads
from eigenstate.models.encoders import Encoder


class Labeller(SequenceModel):
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

    def forward(
        self,
        u: Tensor,
        state: Sequence[Tensor] | None = None,
        *,
        dt: Tensor | float | None = None,
        resets: Tensor | None = None,
        lengths: Tensor | None = None,
    ) -> tuple[Tensor, list[Tensor] | None]:
        """Return logits (B, L, n_classes) and the states; None for them if bidirectional."""
        x, state = self._features(u, state, dt, resets, lengths)
        return without_pads(self.decoder(x), lengths), state

    def step(
        self,
        u_k: Tensor,
        state: Sequence[Tensor] | None,
        *,
        dt: Tensor | float | None = None,
    ) -> tuple[Tensor, list[Tensor]]:
        """Return the logits (B, n_classes) at one more sample a row, and the next states."""
        x, state = self._step_features(u_k, state, dt)
        return self.decoder(x), state
