"""Models on the sequence layers: a block, a stack of blocks, and what stands on it."""

from eigenstate.models.autoregressive import Autoregressive
from eigenstate.models.backbone import Backbone
from eigenstate.models.block import Block
from eigenstate.models.classifier import Classifier
from eigenstate.models.encoders import (
    EmbeddingEncoder,
    Encoder,
    ImageEncoder,
    LinearEncoder,
    OneHotEncoder,
)
from eigenstate.models.labeller import Labeller
from eigenstate.models.options import BlockOptions
from eigenstate.models.pooled import ClassifierState
from eigenstate.models.pooling import LastPooling, MeanPooling
from eigenstate.models.regressor import Gaussian, Regressor, gaussian_nll
from eigenstate.models.retrieval import Retrieval

__all__ = [
    "Autoregressive",
    "Backbone",
    "Block",
    "BlockOptions",
    "Classifier",
    "ClassifierState",
    "EmbeddingEncoder",
    "Encoder",
    "Gaussian",
    "ImageEncoder",
    "Labeller",
    "LastPooling",
    "LinearEncoder",
    "MeanPooling",
    "OneHotEncoder",
    "Regressor",
    "Retrieval",
    "gaussian_nll",
]
