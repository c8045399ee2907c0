"""The distribution a regressor answers with, and its likelihood."""

import pytest
import torch

from eigenstate.models import Backbone, Gaussian, Regressor, gaussian_nll
from eigenstate.models.regressor import LEAST_VARIANCE


def regressor(**settings):
    return Regressor(3, 2, backbone=Backbone(6, 1, layer_options={"d_state": 4}), **settings)


def test_mean_and_variance_have_a_decoder_each():
    model, u = regressor(hidden=5).eval(), torch.randn(2, 7, 3)
    x, _ = model.backbone(model.encoder(u))
    (mean, variance), _ = model(u)
    for decoder in (model.mean, model.variance):
        assert decoder[0].weight.shape == (5, 6) and decoder[2].weight.shape == (2, 5)
    first, last = model.mean[0], model.mean[2]
    hidden = torch.tanh(x @ first.weight.T + first.bias)
    torch.testing.assert_close(mean, hidden @ last.weight.T + last.bias)
    first, last = model.variance[0], model.variance[2]
    v = torch.tanh(x @ first.weight.T + first.bias) @ last.weight.T + last.bias
    assert (v < 0).any() and (v > 0).any()
    torch.testing.assert_close(variance, torch.where(v < 0, torch.exp(v), v + 1))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_variance_is_positive_and_has_a_gradient_whatever_its_decoder_says(dtype):
    model = regressor().to(dtype)
    said = torch.tensor([-1e30, -100.0, -13.0, -1e-3, 0.0, 1e-3, 2.0, 800.0, 1e30], dtype=dtype)
    expected = [LEAST_VARIANCE] * 2 + [torch.exp(said[2]), torch.exp(said[3]), 1.0, 1.001, 3.0]
    for value, wanted in zip(said, [*expected, 801.0, 1e30], strict=True):
        torch.nn.init.zeros_(model.variance[2].weight)
        torch.nn.init.constant_(model.variance[2].bias, value.item())
        model.zero_grad()
        gaussian, _ = model(torch.randn(1, 1, 3, dtype=dtype))
        torch.testing.assert_close(
            gaussian.variance[0, 0, 0].item(), float(wanted), rtol=1e-6, atol=0
        )
        gaussian.variance.sum().backward()
        gradient = model.variance[2].bias.grad
        slope = 0.0 if value < -14 else torch.exp(value.clamp(max=0)).item()
        torch.testing.assert_close(gradient, torch.full_like(gradient, slope))


def test_the_likelihood_is_that_of_independent_normal_distributions():
    mean, target = torch.randn(3, 7, 2, requires_grad=True), torch.randn(3, 7, 2)
    variance = torch.rand(3, 7, 2, requires_grad=True)
    expected = -torch.distributions.Normal(mean, variance.sqrt()).log_prob(target).sum(-1)
    got = gaussian_nll(Gaussian(mean, variance), target)
    torch.testing.assert_close(got, expected.mean())
    wanted = torch.autograd.grad(expected.mean(), [mean, variance])
    for a, b in zip(torch.autograd.grad(got, [mean, variance]), wanted, strict=True):
        torch.testing.assert_close(a, b)


def test_the_likelihood_leaves_pads_out():
    mean, target = torch.randn(3, 7, 2), torch.randn(3, 7, 2)
    variance, lengths = torch.rand(3, 7, 2) + 0.1, torch.tensor([7, 1, 4])
    valid = torch.arange(7) < lengths[:, None]
    expected = gaussian_nll(Gaussian(mean[valid][None], variance[valid][None]), target[valid][None])
    for part in (mean, variance, target):
        part[~valid] = torch.nan
    mean.requires_grad_(True)
    got = gaussian_nll(Gaussian(mean, variance), target, lengths)
    torch.testing.assert_close(got, expected)
    (gradient,) = torch.autograd.grad(got, mean)
    assert gradient[valid].isfinite().all() and not gradient[~valid].any()


def test_a_regressor_learns_mean_and_spread_together():
    torch.manual_seed(0)
    model, u = regressor(hidden=8), torch.rand(8, 20, 3)
    target = u[..., :2].cumsum(1) / 10 + 0.1 * torch.randn(8, 20, 2)
    optimizer = torch.optim.Adam(model.parameters(), 0.02)
    losses = []
    for _ in range(60):
        loss = gaussian_nll(model(u)[0], target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    # 0.5 nats a dimension above the entropy of the noise, log(0.1 sqrt(2 pi e)) = -0.88 each
    assert losses[0] > 1 and losses[-1] < -0.76


MISTAKES = {
    "target": (
        lambda: gaussian_nll(Gaussian(torch.ones(2, 7, 1), torch.ones(2, 7, 1)), torch.ones(2, 7)),
        r"target must have the shape of the mean, \(2, 7, 1\), got \(2, 7\)",
    ),
    "lengths": (
        lambda: gaussian_nll(
            Gaussian(torch.ones(2, 7, 1), torch.ones(2, 7, 1)),
            torch.ones(2, 7, 1),
            torch.tensor([7, 0]),
        ),
        "lengths must lie between 1 and",
    ),
    "outputs": (lambda: Regressor(3, 0, backbone=Backbone(6, 1)), "n_outputs must be at least 1"),
    "hidden": (lambda: regressor(hidden=0), "hidden must be at least 1, got 0"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named(mistake):
    attempt, message = MISTAKES[mistake]
    with pytest.raises(ValueError, match=message):
        attempt()
