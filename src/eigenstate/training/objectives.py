"""What each kind of task asks for: a loss to bring down, and the figure that people quote."""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from eigenstate.data import Batch
from eigenstate.models import Gaussian, gaussian_nll
from eigenstate.ops.steps import mask


@dataclass(frozen=True)
class Objective:
    """`loss` and `figure` of a model's output on a batch, both means over what it asks for.

    `weight` counts that: sequences with a class, or samples with a target. `name` is what
    metrics.csv calls the figure, `words` what people call it and `unit` how the loss is measured;
    `sign` is 1 where a higher figure is better, else -1.
    """

    loss: Callable[[Any, Batch], Tensor]
    figure: Callable[[Any, Batch], Tensor]
    weight: Callable[[Batch], int]
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


def _asked(batch: Batch) -> Tensor:
    """Return where a target stands, and not NaN, before the end of its row: (B, L, D)."""
    return mask(batch.lengths, batch.labels.shape[1])[..., None] & ~batch.labels.isnan()


def _samples(batch: Batch) -> int:
    return int(_asked(batch).any(dim=-1).sum())


def _nll(output: Gaussian, batch: Batch) -> Tensor:
    """Summed over targets, mean over the samples at which anything is asked; 0 if there is none."""
    asked = _asked(batch)
    # Selected before anything is computed, so that no NaN reaches the gradient: (asked,), whose
    # likelihood is that of one sample with so many targets.
    found = Gaussian(output.mean[asked], output.variance[asked])
    return gaussian_nll(found, batch.labels[asked]) / max(_samples(batch), 1)


def _square_error(output: Gaussian, batch: Batch, scale: Sequence[float] = (1.0,)) -> Tensor:
    """Of the mean, over the targets asked at a sample, then over samples; times scale^2."""
    asked = _asked(batch)
    error = (output.mean - batch.labels).double() * torch.tensor(scale, dtype=torch.float64)
    squares = torch.where(asked, error.square(), 0.0).sum(-1)  # (B, L)
    return (squares / asked.sum(-1).clamp(min=1)).sum() / max(_samples(batch), 1)


def own_targets(scale: Sequence[float]) -> Objective:
    """Return the objective for targets that were divided by `scale`, one for each.

    The figure is in the units that the targets had; the loss is that of the divided ones.
    """
    return dataclasses.replace(
        TARGETS,
        figure=partial(_square_error, scale=scale),
        unit="negative log-likelihood of standardised labels, nats",
    )


CLASSES = Objective(
    _cross_entropy,
    _accuracy,
    lambda batch: len(batch.labels),
    name="accuracy",
    words="accuracy",
    unit="cross-entropy, nats",
    sign=1,
)
TARGETS = Objective(
    _nll,
    _square_error,
    _samples,
    name="mse",
    words="mean square error",
    unit="negative log-likelihood, nats",
    sign=-1,
)
OBJECTIVES = {"classification": CLASSES, "retrieval": CLASSES, "regression": TARGETS}
