"""Models on the sequence layers: a block, a stack of blocks, and what stands on it."""

from eigenstate.models.backbone import Backbone
from eigenstate.models.block import Block
from eigenstate.models.classifier import Classifier, ClassifierState
from eigenstate.models.options import BlockOptions
from eigenstate.models.pooling import LastPooling, MeanPooling

__all__ = [
    "Backbone",
    "Block",
    "BlockOptions",
    "Classifier",
    "ClassifierState",
    "LastPooling",
    "MeanPooling",
]
