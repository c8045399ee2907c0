"""A normal distribution at every sample."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from eigenstate.layers.checks import check_count, check_lengths
from eigenstate.models.backbone import Backbone
from eigenstate.models.base import SequenceModel
from eigenstate.models.checks import without_pads
from eigenstate.models.encoders import Encoder
from eigenstate.ops.steps import mask

LEAST_VARIANCE = 1e-6


class Gaussian(NamedTuple):
    """Independent normal distributions: mean and variance, each (B, L, n_outputs)."""

    mean: Tensor
    variance: Tensor


class Regressor(SequenceModel):
    """encoder -> backbone -> two decoders at every sample, for the mean and for the variance.

    decoder(x) = W2 tanh(W1 x + b1) + b2, with `hidden` units; the variance is exp(v) where its
    decoder says v < 0 and v + 1 elsewhere, at least 1e-6. Past each row's length stands the
    standard normal: mean 0, variance 1. The state is the list of the layers' states.
    Source: the S5 paper's pendulum experiment.
    """

    HEAD = ("n_outputs", "hidden")

    def __init__(
        self, encoder: int | Encoder, n_outputs: int, *, backbone: Backbone, hidden: int = 30
    ) -> None:
        check_count("n_outputs", n_outputs)
        check_count("hidden", hidden)
        super().__init__(encoder, backbone=backbone)
        self.n_outputs = n_outputs
        self.hidden = hidden
        self.mean = _decoder(backbone.d_model, hidden, n_outputs)
        self.variance = _decoder(backbone.d_model, hidden, n_outputs)

    def forward(
        self,
        u: Tensor,
        state: Sequence[Tensor] | None = None,
        *,
        dt: Tensor | float | None = None,
        resets: Tensor | None = None,
        lengths: Tensor | None = None,
    ) -> tuple[Gaussian, list[Tensor] | None]:
        """Return the distributions (B, L, n_outputs) and the states; None if bidirectional."""
        x, state = self._features(u, state, dt, resets, lengths)
        # Zeros stand at pads before the variance is formed, and it is 1 there.
        mean = without_pads(self.mean(x), lengths)
        return Gaussian(mean, _positive(without_pads(self.variance(x), lengths))), state

    def step(
        self,
        u_k: Tensor,
        state: Sequence[Tensor] | None,
        *,
        dt: Tensor | float | None = None,
    ) -> tuple[Gaussian, list[Tensor]]:
        """Return the distributions (B, n_outputs) at one more sample a row, and the next states."""
        x, state = self._step_features(u_k, state, dt)
        return Gaussian(self.mean(x), _positive(self.variance(x))), state


def gaussian_nll(gaussian: Gaussian, target: Tensor, lengths: Tensor | None = None) -> Tensor:
    """Negative log-likelihood, in nats: summed over outputs, mean over all samples of the batch.

    nll = mean_(b, k) sum_i ( log(2 pi variance) + (target - mean)^2 / variance ) / 2, over the
    samples k before each row's own length. target (B, L, n_outputs) may hold anything at pads.
    ValueError: a target or lengths of another shape.
    """
    mean, variance = gaussian
    if target.shape != mean.shape:
        raise ValueError(
            f"target must have the shape of the mean, {tuple(mean.shape)}, "
            f"got {tuple(target.shape)}"
        )
    if lengths is not None:
        check_lengths(lengths, *mean.shape[:2])
        valid = mask(lengths.to(mean.device), mean.shape[1])
        # Selected before anything is computed, so that no pad reaches the gradient: (samples, D).
        mean, variance, target = mean[valid], variance[valid], target[valid]
    nll = torch.log(2 * math.pi * variance) + (target - mean).square() / variance
    return 0.5 * nll.sum(dim=-1).mean()


def _decoder(d_model: int, hidden: int, n_outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(d_model, hidden), nn.Tanh(), nn.Linear(hidden, n_outputs))


def _positive(v: Tensor) -> Tensor:
    # exp never sees a large v: its infinity would be NaN in the gradient, selected or not.
    variance = torch.where(v < 0, v.clamp(max=0).exp(), v + 1)
    return variance.clamp(min=LEAST_VARIANCE)
