"""From settings to a model."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

from eigenstate.data import Task
from eigenstate.layers.checks import check_choice
from eigenstate.models import Backbone, Classifier, Regressor, Retrieval
from eigenstate.models.choice import make_block_options, make_encoder
from eigenstate.models.encoders import Encoder
from eigenstate.models.starts import start_matrices
from eigenstate.training.config import ModelSettings

# The encoders for each kind of input; the first is the default.
ENCODERS = {"channels": ("linear",), "tokens": ("one-hot", "embedding"), "images": ("image",)}


def build_model(settings: ModelSettings, task: Task) -> nn.Module:
    """Return a new model for `task`, in float32 whatever torch's default is.

    ValueError or TypeError: a setting that no model can have, named.
    """
    s = settings
    with _float32():
        backbone = Backbone(
            s.d_model,
            s.n_layers,
            layer=s.layer,
            layer_options=s.layer_options,
            activation=s.activation,
            dropout=s.dropout,
            prenorm=s.prenorm,
            options=make_block_options(s.block_options),
        )
        model = _with_head(_encoder(s, task), backbone, s, task)
        start_matrices(model, s.matrices)
        return model


def _with_head(
    encoder: Encoder, backbone: Backbone, settings: ModelSettings, task: Task
) -> nn.Module:
    if task.kind == "regression":
        return Regressor(encoder, task.n_outputs, backbone=backbone)
    if task.kind == "retrieval":
        return Retrieval(encoder, task.n_classes, backbone=backbone)
    return Classifier(encoder, task.n_classes, backbone=backbone, pooling=settings.pooling)


def _encoder(settings: ModelSettings, task: Task) -> Encoder:
    name = settings.encoder or ENCODERS[task.inputs][0]
    check_choice(f"model.encoder of a task of {task.inputs}", name, ENCODERS[task.inputs])
    return make_encoder(name, task.d_input, settings.d_model, settings.encoder_options)


@contextmanager
def _float32() -> Iterator[None]:
    """Data are float32, so the parameters must be."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    try:
        yield
    finally:
        torch.set_default_dtype(before)
