"""One class for a whole sequence."""

from typing import NamedTuple

from torch import Tensor, nn

from eigenstate.layers.checks import check_choice, check_count
from eigenstate.models.backbone import Backbone
from eigenstate.models.checks import check_samples, check_sequences, without_pads
from eigenstate.models.pooling import POOLINGS, PoolingState


class ClassifierState(NamedTuple):
    """What a stream carries: the layers' states, first layer first, and the pooling's."""

    layers: list[Tensor]
    pooling: PoolingState


class Classifier(nn.Module):
    """encoder (d_input -> d_model) -> backbone -> pooling over time -> decoder (-> n_classes).

    u (B, L, d_input) -> logits (B, n_classes). The state makes a sequence divisible: the logits
    after the last piece, or after k calls of `step`, are those of everything so far. A reset
    begins a new episode for the layers and the pooling alike. `pooling` is mean or last.

    >>> model = es.Classifier(12, 9, backbone=es.Backbone(64, 3, dropout=0.1))
    """

    def __init__(
        self, d_input: int, n_classes: int, *, backbone: Backbone, pooling: str = "mean"
    ) -> None:
        super().__init__()
        check_count("d_input", d_input)
        check_count("n_classes", n_classes)
        check_choice("pooling", pooling, POOLINGS)
        self.d_input = d_input
        self.n_classes = n_classes
        self.encoder = nn.Linear(d_input, backbone.d_model)
        self.backbone = backbone
        self.pooling = POOLINGS[pooling]()
        self.decoder = nn.Linear(backbone.d_model, n_classes)

    @property
    def bidirectional(self) -> bool:
        return self.backbone.bidirectional

    def initial_state(self, batch_size: int) -> ClassifierState:
        """Return the state before any sample."""
        layers = self.backbone.initial_state(batch_size)
        weight = self.encoder.weight
        pooling = self.pooling.initial_state(batch_size, self.backbone.d_model, like=weight)
        return ClassifierState(layers, pooling)

    def forward(
        self,
        u: Tensor,
        state: ClassifierState | None = None,
        *,
        dt: Tensor | float | None = None,
        resets: Tensor | None = None,
        lengths: Tensor | None = None,
    ) -> tuple[Tensor, ClassifierState | None]:
        """Return logits (B, n_classes) and the state; None for it if bidirectional."""
        check_sequences(u, self.d_input, self.encoder.weight, lengths, "d_input")
        layers, pooling = self._divide(state)
        x = self.encoder(without_pads(u, lengths))
        x, layers = self.backbone._forward(x, layers, dt, resets, lengths)
        pooled, pooling = self.pooling(x, pooling, resets=resets, lengths=lengths)
        logits = self.decoder(pooled)
        return logits, None if layers is None else ClassifierState(layers, pooling)

    def step(
        self,
        u_k: Tensor,
        state: ClassifierState | None,
        *,
        dt: Tensor | float | None = None,
    ) -> tuple[Tensor, ClassifierState]:
        """Return the logits (B, n_classes) after one more sample u_k (B, d_input), and the state.

        ValueError: the model is bidirectional, so it has no answer before the end.
        """
        check_samples(u_k, self.d_input, self.encoder.weight, "d_input")
        layers, pooling = self._divide(state)
        x, layers = self.backbone.step(self.encoder(u_k), layers, dt=dt)
        pooled, pooling = self.pooling.step(x, pooling)
        return self.decoder(pooled), ClassifierState(layers, pooling)

    def _divide(self, state: ClassifierState | None) -> tuple:
        if state is None:
            return None, None
        if not isinstance(state, tuple) or len(state) != 2:
            raise ValueError(
                "state must be what forward, step or initial_state returned, "
                f"got {type(state).__name__}"
            )
        return state
