"""Every kind of model there is, small, for the laws in test_models.py."""

import pytest
import torch

from eigenstate.models import Backbone, Classifier
from eigenstate.models.activation import ACTIVATIONS
from eigenstate.models.pooling import POOLINGS

OPTIONS = {"d_state": 4, "dt_min": 0.05, "dt_max": 0.5}
TWO_WAYS = OPTIONS | {"bidirectional": True}
LENGTHS = torch.tensor([7, 1, 4])


def classifier(pooling="mean", options=OPTIONS, **settings):
    backbone = Backbone(6, 2, layer_options=options, **settings)
    return Classifier(3, 5, backbone=backbone, pooling=pooling).eval()


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


def tensors(state):
    return [*state.layers, *state.pooling]


def assert_same_state(got, expected):
    for a, b in zip(tensors(got), tensors(expected), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10)
