"""What each kind of task asks for: a loss to bring down, and the figure that people quote."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch.nn.functional as F
from torch import Tensor

from eigenstate.data import Batch
from eigenstate.layers.checks import mask
from eigenstate.models import Gaussian, gaussian_nll


@dataclass(frozen=True)
class Objective:
    """`loss` and `figure` of a model's output on a batch, both means over its sequences.

    `name` is what metrics.csv calls the figure, `words` what people call it and `unit` how the
    loss is measured; `sign` is 1 where a higher figure is better, else -1.
    """

    loss: Callable[[Any, Batch], Tensor]
    figure: Callable[[Any, Batch], Tensor]
    name: str
    words: str
    unit: str
    sign: int

    def better(self, figure: float, other: float) -> bool:
        return self.sign * figure > self.sign * other

    def text(self, figure: float) -> str:
        """Write the figure as people read it."""
        return f"{figure:.2%}" if self.name == "accuracy" else f"{figure:.3e}"


def _cross_entropy(logits: Tensor, batch: Batch) -> Tensor:
    return F.cross_entropy(logits, batch.labels)


def _accuracy(logits: Tensor, batch: Batch) -> Tensor:
    return (logits.argmax(dim=-1) == batch.labels).double().mean()


def _nll(output: Gaussian, batch: Batch) -> Tensor:
    return gaussian_nll(output, batch.labels, lengths=batch.lengths)


def _square_error(output: Gaussian, batch: Batch) -> Tensor:
    """Of the mean, over targets, valid samples and sequences."""
    error = (output.mean - batch.labels).square().mean(-1)  # (B, L)
    if bool((batch.lengths < error.shape[1]).any()):
        error = error[mask(batch.lengths, error.shape[1])]
    return error.double().mean()


CLASSES = Objective(
    _cross_entropy, _accuracy, "accuracy", "accuracy", "cross-entropy, nats", sign=1
)
TARGETS = Objective(
    _nll, _square_error, "mse", "mean square error", "negative log-likelihood, nats", sign=-1
)
OBJECTIVES = {"classification": CLASSES, "retrieval": CLASSES, "regression": TARGETS}
