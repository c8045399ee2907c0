"""Official S5 models from their arrays alone, as far as these tell what the model was."""

from dataclasses import dataclass
from typing import Literal, TypeVar

from eigenstate.interop.links import Arrays, WeightsError
from eigenstate.interop.trees import Variables
from eigenstate.layers.checks import check_choice, check_flag
from eigenstate.layers.s5 import S5, S5Options
from eigenstate.models.backbone import Backbone
from eigenstate.models.classifier import Classifier
from eigenstate.models.encoders import Encoder, LinearEncoder, OneHotEncoder
from eigenstate.models.options import BlockOptions
from eigenstate.models.retrieval import Retrieval

Model = TypeVar("Model", Classifier, Retrieval)


@dataclass(frozen=True)
class S5Settings:
    """What the arrays of an official S5 model do not tell. The defaults are the official ones.

    activation: "half_glu1" or "half_glu2", which have the same arrays; asked of a gate alone.
    prenorm, conjugate (`conj_sym`), clip (`clip_eigs`), discretization, dropout: as it was trained.
    pooling: "mean" ("pool" there) or "last". norm_momentum: 0.05 where 0.95 was said there.
    tokens: the input is token ids, which were made one-hot, and not channels.
    padding: "published" lets pads reach norms and backward scans, as they did in training.
    """

    activation: Literal["half_glu1", "half_glu2"] = "half_glu1"
    prenorm: bool = True
    conjugate: bool = True
    clip: bool = False
    discretization: Literal["zoh", "bilinear"] = "zoh"
    pooling: Literal["mean", "last"] = "mean"
    norm_momentum: float = 0.05
    dropout: float = 0.0
    tokens: bool = False
    padding: Literal["published", "invariant"] = "published"

    def __post_init__(self) -> None:
        check_choice("activation", self.activation, ("half_glu1", "half_glu2"))
        for name in ("prenorm", "conjugate", "clip", "tokens"):
            check_flag(name, getattr(self, name))


def layer_for(params: Arrays, settings: S5Settings) -> S5:
    """An S5 layer of the sizes of the arrays, with numbers yet to load."""
    modes, features = _shape(params, "B", 3)[:2]
    return S5(features, **_layer_options(params, "", modes, settings))


def model_for(kind: type[Model], variables: Variables, settings: S5Settings) -> Model:
    """A classifier or retrieval model of the sizes of the arrays, with numbers yet to load."""
    params = variables.params
    last = "decoder/layer2/kernel" if kind is Retrieval else "decoder/kernel"
    d_input, d_model = _shape(params, "encoder/encoder/kernel", 2)
    n_classes = _shape(params, last, 2)[1]
    first = "encoder/layers_0/"
    modes = _shape(params, f"{first}seq/B", 3)[0]
    numbers = {name.split("/")[1] for name in params if name.startswith("encoder/layers_")}
    batch = variables.batch_stats is not None
    backbone = Backbone(
        d_model,
        len(numbers),
        layer="s5",
        layer_options=_flat(_layer_options(params, f"{first}seq/", modes, settings)),
        activation=_activation(params, first, settings),
        dropout=settings.dropout,
        prenorm=settings.prenorm,
        options=BlockOptions(
            norm="batch" if batch else "layer",
            norm_eps=1e-5 if batch else 1e-6,  # the defaults of flax
            norm_momentum=settings.norm_momentum,
            gelu="tanh",
            padding=settings.padding,
        ),
    )
    encoder: Encoder = (OneHotEncoder if settings.tokens else LinearEncoder)(d_input, d_model)
    if issubclass(kind, Classifier):
        return kind(encoder, n_classes, backbone=backbone, pooling=settings.pooling)
    return kind(encoder, n_classes, backbone=backbone)


def _layer_options(params: Arrays, prefix: str, modes: int, settings: S5Settings) -> dict:
    joined = f"{prefix}C" in params and _shape(params, f"{prefix}C", 3)[1] == 2 * modes
    return {
        "d_state": 2 * modes if settings.conjugate else modes,
        "bidirectional": joined or f"{prefix}C2" in params,
        "discretization": settings.discretization,
        "options": S5Options(
            conjugate=settings.conjugate,
            c_init="complex_normal" if joined else "trunc_standard_normal",
            stability="clip" if settings.clip else "free",
        ),
    }


def _flat(options: dict) -> dict:
    grouped = options.pop("options")
    return options | vars(grouped)


def _activation(params: Arrays, prefix: str, settings: S5Settings) -> str:
    if f"{prefix}out1/kernel" in params:
        return "full_glu"
    return settings.activation if f"{prefix}out2/kernel" in params else "gelu"


def _shape(params: Arrays, name: str, rank: int) -> tuple[int, ...]:
    """The shape of an array that tells a size."""
    expected = f"the size of the model is read from {name}, of {rank} axes"
    if name not in params:
        raise WeightsError(f"{expected}; there is only {', '.join(sorted(params)) or 'nothing'}")
    shape = params[name].shape
    if len(shape) != rank or 0 in shape:
        raise WeightsError(f"{expected}; its shape is {shape}")
    return shape
