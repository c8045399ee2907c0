"""From settings to a model."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from eigenstate.data import Task
from eigenstate.models import Backbone, Classifier
from eigenstate.training.config import ModelSettings


def build_model(settings: ModelSettings, task: Task) -> Classifier:
    """Return a new classifier for `task`, in float32 whatever torch's default is.

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
        )
        return Classifier(task.d_input, task.n_classes, backbone=backbone, pooling=s.pooling)


@contextmanager
def _float32() -> Iterator[None]:
    """Data are float32, so the parameters must be."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    try:
        yield
    finally:
        torch.set_default_dtype(before)
