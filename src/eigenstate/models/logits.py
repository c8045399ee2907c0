"""Models that answer with logits at every sample."""

from collections.abc import Sequence

from torch import Tensor, nn

from eigenstate.models.base import SequenceModel
from eigenstate.models.checks import without_pads


class LogitsModel(SequenceModel):
    """encoder -> backbone -> `decoder`, the subclass's, at every sample; zeros at pads."""

    decoder: nn.Linear

    def forward(
        self,
        u: Tensor,
        state: Sequence[Tensor] | None = None,
        *,
        dt: Tensor | float | None = None,
        resets: Tensor | None = None,
        lengths: Tensor | None = None,
    ) -> tuple[Tensor, list[Tensor] | None]:
        """Return logits (B, L, n) and the states; None for them if bidirectional."""
        x, state = self._features(u, state, dt, resets, lengths)
        return without_pads(self.decoder(x), lengths), state

    def step(
        self,
        u_k: Tensor,
        state: Sequence[Tensor] | None,
        *,
        dt: Tensor | float | None = None,
    ) -> tuple[Tensor, list[Tensor]]:
        """Return the logits (B, n) at one more sample a row, and the next states."""
        x, state = self._step_features(u_k, state, dt)
        return self.decoder(x), state
