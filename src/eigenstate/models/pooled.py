"""Models that answer once for a whole sequence."""

from typing import NamedTuple

from torch import Tensor, nn

from eigenstate.layers.checks import check_choice, check_count
from eigenstate.models.backbone import Backbone
from eigenstate.models.base import SequenceModel
from eigenstate.models.encoders import Encoder
from eigenstate.models.pooling import POOLINGS, PoolingState


class ClassifierState(NamedTuple):
    """What a stream carries: the layers' states, first layer first, and the pooling's."""

    layers: list[Tensor]
    pooling: PoolingState


class PooledModel(SequenceModel):
    """encoder -> backbone -> pooling over time -> `_decode`, the subclass's.

    The state makes a sequence divisible: the answer after the last piece, or after k calls of
    `step`, is that to everything so far. A reset begins a new episode for the layers and the
    pooling alike.
    """

    decoder: nn.Linear

    def __init__(
        self, encoder: int | Encoder, n_classes: int, *, backbone: Backbone, pooling: str
    ) -> None:
        check_count("n_classes", n_classes)
        check_choice("pooling", pooling, POOLINGS)
        super().__init__(encoder, backbone=backbone)
        self.n_classes = n_classes
        self.pooling = POOLINGS[pooling]()

    def initial_state(self, batch_size: int) -> ClassifierState:
        """Return the state before any sample."""
        layers = self.backbone.initial_state(batch_size)
        like = self.decoder.weight
        pooling = self.pooling.initial_state(batch_size, self.backbone.d_model, like=like)
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
        """Return logits (B, n_classes) and the state.

        The state is None if the model is bidirectional, or if pads are samples like any other
        (`BlockOptions.padding`) and lengths are given.
        """
        layers, pooling = _divide(state)
        x, layers = self._features(u, layers, dt, resets, lengths)
        self._check_pooling(pooling, len(x))
        pooled, pooling = self.pooling(x, pooling, resets=resets, lengths=lengths)
        return self._decode(pooled), None if layers is None else ClassifierState(layers, pooling)

    def step(
        self,
        u_k: Tensor,
        state: ClassifierState | None,
        *,
        dt: Tensor | float | None = None,
    ) -> tuple[Tensor, ClassifierState]:
        """Return the logits (B, n_classes) after one more sample a row, and the state.

        ValueError: the model is bidirectional, so it has no answer before the end.
        """
        layers, pooling = _divide(state)
        x, layers = self._step_features(u_k, layers, dt)
        self._check_pooling(pooling, len(x))
        pooled, pooling = self.pooling.step(x, pooling)
        return self._decode(pooled), ClassifierState(layers, pooling)

    def _check_pooling(self, pooling: PoolingState | None, batch: int) -> None:
        """The pooling's state is that of this pooling and of this many rows."""
        if pooling is None:
            return
        like = self.decoder.weight
        fresh = self.pooling.initial_state(batch, self.backbone.d_model, like=like)
        expected, got = ([tuple(x.shape) for x in state] for state in (fresh, pooling))
        if got != expected:
            raise ValueError(
                f"state.pooling must hold tensors of the shapes {expected}, got {got}; it is that "
                "of another pooling or of another number of rows"
            )

    def _decode(self, pooled: Tensor) -> Tensor:
        raise NotImplementedError


def _divide(state: ClassifierState | None) -> tuple:
    if state is None:
        return None, None
    if not isinstance(state, tuple) or len(state) != 2:
        raise ValueError(
            "state must be what forward, step or initial_state returned, "
            f"got {type(state).__name__}"
        )
    return state
