"""Whether, or how, two documents belong together."""

import torch
from torch import Tensor, nn

from eigenstate.models.backbone import Backbone
from eigenstate.models.encoders import Encoder
from eigenstate.models.pooled import ClassifierState, PooledModel


class Retrieval(PooledModel):
    """One network reads both documents; a and b (B, d_model) are their means over time.

    logits = W2 gelu(W1 [a, b, a - b, a * b] + b1) + b2, the gelu being that of the backbone's
    blocks. The rows of u are B first documents, then their B partners: u (2B, L, ...), lengths
    (2B,) -> logits (B, n_classes). The state is that of all 2B rows.
    W1 is `combine`, (d_model, 4 d_model), and W2 `decoder`, (n_classes, d_model).
    Source: the retrieval model of the S5 paper's official code.
    """

    HEAD = ("n_classes",)

    def __init__(self, encoder: int | Encoder, n_classes: int, *, backbone: Backbone) -> None:
        super().__init__(encoder, n_classes, backbone=backbone, pooling="mean")
        self.combine = nn.Linear(4 * backbone.d_model, backbone.d_model)
        self.gelu = nn.GELU("tanh" if backbone.options.gelu == "tanh" else "none")
        self.decoder = nn.Linear(backbone.d_model, n_classes)

    def forward(
        self,
        u: Tensor,
        state: ClassifierState | None = None,
        *,
        dt: Tensor | float | None = None,
        resets: Tensor | None = None,
        lengths: Tensor | None = None,
    ) -> tuple[Tensor, ClassifierState | None]:
        """Return logits (B, n_classes) for 2B rows, and the state of these.

        dt, resets and lengths are those of the 2B rows. The state is None where a classifier's
        would be. ValueError: an odd number of rows.
        """
        self.encoder.check_sequences(u, lengths)
        _check_pairs(u)
        return super().forward(u, state, dt=dt, resets=resets, lengths=lengths)

    def step(
        self,
        u_k: Tensor,
        state: ClassifierState | None,
        *,
        dt: Tensor | float | None = None,
    ) -> tuple[Tensor, ClassifierState]:
        """Return the logits (B, n_classes) after one more sample of each of 2B documents."""
        self.encoder.check_samples(u_k)
        _check_pairs(u_k)
        return super().step(u_k, state, dt=dt)

    def _decode(self, pooled: Tensor) -> Tensor:
        a, b = pooled.chunk(2)  # (2B, d_model) -> (B, d_model) each
        features = torch.cat([a, b, a - b, a * b], dim=-1)  # (B, 4 d_model)
        return self.decoder(self.gelu(self.combine(features)))


def _check_pairs(u: Tensor) -> None:
    if len(u) % 2:
        raise ValueError(
            "u must hold first documents, then as many partners: an even number of rows, "
            f"got {len(u)}"
        )
