"""Every kind of model there is, small, for the laws in test_models.py and test_heads.py."""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
import torch

from eigenstate.models import (
    Autoregressive,
    Backbone,
    BlockOptions,
    Classifier,
    ClassifierState,
    EmbeddingEncoder,
    Gaussian,
    ImageEncoder,
    Labeller,
    OneHotEncoder,
    Regressor,
    Retrieval,
)
from eigenstate.models.activation import ACTIVATIONS
from eigenstate.models.pooling import POOLINGS

OPTIONS = {"d_state": 4, "dt_min": 0.05, "dt_max": 0.5}
TWO_WAYS = OPTIONS | {"bidirectional": True}
LENGTHS = torch.tensor([7, 1, 4])


def backbone(options=OPTIONS, **settings):
    """Six features, two layers; settings of the blocks' options stand beside the others."""
    names = BlockOptions.__dataclass_fields__
    block = {name: settings.pop(name) for name in list(settings) if name in names}
    return Backbone(6, 2, layer_options=options, options=BlockOptions(**block), **settings)


def classifier(pooling="mean", options=OPTIONS, **settings):
    return Classifier(3, 5, backbone=backbone(options, **settings), pooling=pooling).eval()


def models(options=OPTIONS):
    """Every kind of block in a classifier, and every pooling."""
    kinds = [{"activation": kind} for kind in ACTIVATIONS] + [{"prenorm": False}]
    kinds += [{"pooling": pooling} for pooling in POOLINGS]
    return [
        pytest.param(lambda kind=kind: classifier(options=options, **kind), id=str(kind))
        for kind in kinds
    ]


every_model = pytest.mark.parametrize("make", models())
any_direction = pytest.mark.parametrize("make", [*models(), *models(TWO_WAYS)])

# --- heads and encoders ---------------------------------------------------------------------------


class Head(NamedTuple):
    """A model on a backbone, the inputs it takes, and whether it answers at every sample."""

    build: Callable[[Backbone], torch.nn.Module]
    draw: Callable[[int, int], torch.Tensor]
    pad: Any = torch.nan  # the worst that may stand at a pad
    each_sample: bool = False
    documents: int = 1  # rows that make one answer

    def make(self, options=OPTIONS, **settings):
        return self.build(backbone(options, **settings)).eval()


def channels(batch, length):
    return torch.randn(batch, length, 3)


def tokens(batch, length):
    return torch.randint(11, (batch, length))


def images(batch, length):
    return torch.rand(batch, length, 8, 8)


def image_encoder():
    return ImageEncoder(6, side=8, append_dt=True)


HEADS = {
    "classifier of tokens": Head(
        lambda b: Classifier(OneHotEncoder(11, 6), 5, backbone=b), tokens, 11
    ),
    "classifier of images": Head(
        lambda b: Classifier(image_encoder(), 5, backbone=b, pooling="last"), images
    ),
    "retrieval": Head(lambda b: Retrieval(3, 5, backbone=b), channels, documents=2),
    "retrieval of tokens": Head(
        lambda b: Retrieval(EmbeddingEncoder(11, 6), 5, backbone=b), tokens, -1, documents=2
    ),
    "labeller": Head(lambda b: Labeller(3, 5, backbone=b), channels, each_sample=True),
    "regressor": Head(lambda b: Regressor(3, 2, backbone=b, hidden=4), channels, each_sample=True),
    "regressor of images": Head(
        lambda b: Regressor(image_encoder(), 2, backbone=b), images, each_sample=True
    ),
}
CAUSAL_HEADS = HEADS | {
    "autoregressive": Head(lambda b: Autoregressive(11, backbone=b), tokens, 99, each_sample=True)
}
every_head = pytest.mark.parametrize("head", CAUSAL_HEADS.values(), ids=CAUSAL_HEADS)
any_way = pytest.mark.parametrize(
    ("head", "options"),
    [(head, OPTIONS) for head in CAUSAL_HEADS.values()]
    + [(head, TWO_WAYS) for head in HEADS.values()],
    ids=[*CAUSAL_HEADS, *(f"{name}, bidirectional" for name in HEADS)],
)


def flat(answer):
    """An answer as one tensor."""
    return torch.cat(answer, dim=-1) if isinstance(answer, Gaussian) else answer


# --- states ---------------------------------------------------------------------------------------


def tensors(state):
    return [*state.layers, *state.pooling] if isinstance(state, ClassifierState) else state


def assert_same_state(got, expected):
    for a, b in zip(tensors(got), tensors(expected), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10)
