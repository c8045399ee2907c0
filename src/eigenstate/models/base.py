"""What every model here begins with: an encoder before a backbone."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

from torch import Tensor

from eigenstate.layers.checks import check_choice, check_dt
from eigenstate.models.backbone import Backbone
from eigenstate.models.checks import without_pads
from eigenstate.models.choice import ENCODER_ARGUMENTS, ENCODERS, encoder_config
from eigenstate.models.encoders import Encoder, as_encoder
from eigenstate.models.pretrained import Pretrained, check_model


class SequenceModel(Pretrained):
    """encoder -> backbone; what follows is the subclass's.

    `encoder` is an Encoder as wide as the backbone, or a number of channels for a linear one.
    The state is the list of the layers' states, first layer first.
    """

    HEAD: ClassVar[tuple[str, ...]] = ()  # what a subclass's constructor takes beside those two

    def __init__(self, encoder: int | Encoder, *, backbone: Backbone) -> None:
        super().__init__()
        check_backbone(backbone)
        self.encoder = as_encoder(encoder, backbone.d_model)
        self.backbone = backbone

    @property
    def config(self) -> dict[str, Any]:
        """What `from_config` needs: encoder, head and backbone, flat.

        TypeError: the encoder is of a class of your own, which a config cannot describe.
        """
        model = {"model": type(self).__name__.lower()}
        return self.backbone.config | model | encoder_config(self.encoder) | self._head()

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """Build a model from a `config`. ValueError: an unknown, missing or impossible setting."""
        check_model(cls, config)
        check_choice("encoder", config.get("encoder"), ENCODERS)
        kind, own = ENCODERS[config["encoder"]], ENCODER_ARGUMENTS[config["encoder"]]
        missing = [repr(name) for name in (*own, *cls.HEAD) if name not in config]
        if missing:
            raise ValueError(f"config lacks {', '.join(missing)}")
        ours = {"encoder", *own, *cls.HEAD}
        backbone = Backbone.from_config({k: v for k, v in config.items() if k not in ours})
        encoder = kind(d_model=backbone.d_model, **{name: config[name] for name in own})
        return cls(encoder, **{name: config[name] for name in cls.HEAD}, backbone=backbone)

    def _head(self) -> dict[str, Any]:
        """The constructor's arguments beside encoder and backbone."""
        return {name: getattr(self, name) for name in self.HEAD}

    @property
    def bidirectional(self) -> bool:
        return self.backbone.bidirectional

    def initial_state(self, batch_size: int) -> list[Tensor]:
        """Return the state before any sample."""
        return self.backbone.initial_state(batch_size)

    def _features(
        self,
        u: Tensor,
        state: Sequence[Tensor] | None,
        dt: Tensor | float | None,
        resets: Tensor | None,
        lengths: Tensor | None,
    ) -> tuple[Tensor, list[Tensor] | None]:
        """x (B, L, d_model), anything finite at pads, and the layers' states."""
        self.encoder.check_sequences(u, lengths)
        gaps = dt
        if self.backbone.options.padding == "invariant":
            u = self.encoder.without_pads(u, lengths)
            gaps = _without_pads(dt, u, lengths)
        return self.backbone._forward(self.encoder(u, gaps), state, dt, resets, lengths)

    def _step_features(
        self, u_k: Tensor, state: Sequence[Tensor] | None, dt: Tensor | float | None
    ) -> tuple[Tensor, list[Tensor]]:
        self.encoder.check_samples(u_k)
        return self.backbone.step(self.encoder(u_k, dt), state, dt=dt)


def check_backbone(backbone: object) -> None:
    """Raise TypeError unless it is a Backbone: a layer alone has another interface."""
    if not isinstance(backbone, Backbone):
        raise TypeError(
            f"backbone must be a Backbone, got {type(backbone).__name__}; "
            "build one with es.Backbone(d_model, n_layers)"
        )


def _without_pads(
    dt: Tensor | float | None, u: Tensor, lengths: Tensor | None
) -> Tensor | float | None:
    """dt with zeros at pads, where it may hold anything; the layers look at the other values."""
    if lengths is None or not isinstance(dt, Tensor) or dt.dim() == 0:
        return dt
    batch, length = u.shape[:2]
    check_dt(dt, [(), (length,), (batch, length)], u.device)
    return without_pads(dt.expand(batch, length), lengths)
