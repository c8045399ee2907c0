"""Structured state-space sequence layers: S5, S4D, S4, and HiPPO memory."""

__version__ = "0.1.0"

from eigenstate import interop
from eigenstate.files import CheckpointError
from eigenstate.layers import (
    S4,
    S4D,
    S5,
    HippoMemory,
    S4DOptions,
    S4Options,
    S5Options,
    intervals,
)
from eigenstate.models import (
    Autoregressive,
    Backbone,
    Block,
    BlockOptions,
    Classifier,
    EmbeddingEncoder,
    Encoder,
    Gaussian,
    ImageEncoder,
    Labeller,
    LinearEncoder,
    OneHotEncoder,
    Regressor,
    Retrieval,
    gaussian_nll,
)
from eigenstate.ops.scan import linear_scan
from eigenstate.ops.selection import use_backend
from eigenstate.training.optimizers import parameter_groups

__all__ = [
    "S4",
    "S4D",
    "S5",
    "Autoregressive",
    "Backbone",
    "Block",
    "BlockOptions",
    "CheckpointError",
    "Classifier",
    "EmbeddingEncoder",
    "Encoder",
    "Gaussian",
    "HippoMemory",
    "ImageEncoder",
    "Labeller",
    "LinearEncoder",
    "OneHotEncoder",
    "Regressor",
    "Retrieval",
    "S4DOptions",
    "S4Options",
    "S5Options",
    "gaussian_nll",
    "interop",
    "intervals",
    "linear_scan",
    "parameter_groups",
    "use_backend",
]
