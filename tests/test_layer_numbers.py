"""The numbers of every layer: backends, tiles, gradients, extreme parameters."""

import itertools

import pytest
import torch
import truths
from cases import (
    BACKENDS,
    CAUSAL,
    LAYERS,
    LENGTHS,
    STABLE,
    arguments,
    assert_same,
    combinations,
    every,
    inputs,
    loss,
    optional,
    outcome,
)
from torch.autograd import gradcheck, gradgradcheck
from torch.func import functional_call

import eigenstate as es


@every(LAYERS)
@pytest.mark.parametrize("backend", [name for name in BACKENDS if name != "reference"])
@pytest.mark.parametrize("length", LENGTHS)
def test_backends_agree_with_the_loop(case, backend, length):
    layer = case.make()
    leaves = {"u": inputs(layer, 2, length), **arguments(layer, optional(case), 2, length)}
    if length == 0:
        del leaves["lengths"]  # a row has at least one sample of its own
    with es.use_backend("reference"):
        expected = outcome(layer, layer, **leaves)
    with es.use_backend(backend):
        assert_same(outcome(layer, layer, **leaves), expected)


@pytest.mark.parametrize(("case", "names"), combinations())
def test_tiles_of_time_change_nothing(case, names, monkeypatch):
    """Long sequences with per-sample facts are computed in tiles: here of 16 samples."""
    layer = case.make()
    leaves = {"u": inputs(layer, 2, 40), **arguments(layer, names, 2, 40)}
    expected = outcome(layer, layer, **leaves)
    monkeypatch.setattr("eigenstate.ops.varying._TILE", 1)
    assert_same(outcome(layer, layer, **leaves), expected, 1e-12)


@pytest.mark.parametrize(("case", "names"), combinations())
def test_gradcheck(case, names):
    layer = case.make()
    leaves = {"u": inputs(layer, 2, 3), **arguments(layer, names, 2, 3)}
    if "dt" in leaves:
        leaves["dt"] += 0.1  # differences step to both sides
    parameters = dict(layer.named_parameters())
    constants = {name: value for name, value in leaves.items() if not value.is_floating_point()}
    variables = {name: value for name, value in leaves.items() if name not in constants}

    def compute(*values):
        call = dict(zip(variables, values, strict=False))
        changed = dict(zip(parameters, values[len(variables) :], strict=True))
        y, state = functional_call(layer, changed, (call.pop("u"),), constants | call)
        return y if state is None else (y, state)

    values = [
        value.detach().clone().requires_grad_()
        for value in (*variables.values(), *parameters.values())
    ]
    assert gradcheck(compute, values, eps=1e-6, atol=1e-7, rtol=1e-5)


@every(LAYERS)
def test_gradients_that_are_differentiated_again(case):
    layer = case.make()
    leaves = {"u": inputs(layer, 2, 3), **arguments(layer, ("dt",), 2, 3)}
    leaves["dt"] += 0.1
    variables = [value.requires_grad_() for value in leaves.values()] + list(layer.parameters())
    value = loss(*layer(**leaves))
    plain = torch.autograd.grad(value, variables, retain_graph=True)
    again = torch.autograd.grad(value, variables, create_graph=True)
    for one, other in zip(again, plain, strict=True):
        assert truths.error(one, other) < 1e-12
    assert gradgradcheck(lambda u, dt: layer(u, dt=dt)[0], tuple(leaves.values()))


@every(LAYERS)
def test_every_parameter_gets_a_gradient(case):
    layer = case.make()
    layer(inputs(layer))[0].square().sum().backward()
    for name, parameter in layer.named_parameters():
        assert parameter.grad.isfinite().all()
        # Not every entry: a clipped decay rate has none, nor Im C of a mode that is real.
        assert parameter.grad.count_nonzero() >= parameter.numel() / 2, name


@pytest.mark.parametrize(("case", "names"), combinations())
@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_without_gradients_the_same_bits_and_untouched_arguments(case, names, mode):
    layer = case.make()
    leaves = {"u": inputs(layer), **arguments(layer, names)}
    copies = {name: value.clone() for name, value in leaves.items()}
    expected = layer(**leaves)
    with mode():
        got = layer(**leaves)
    for one, other in zip(got, expected, strict=True):
        assert other is None or torch.equal(one, other)
    assert all(torch.equal(value, copies[name]) for name, value in leaves.items())


@every(STABLE)
def test_no_mode_grows_whatever_the_parameters(case):
    layer = case.make()
    u = inputs(layer, 2, 50)
    dt = torch.ones(50)
    dt[10:13] = torch.tensor([0.0, 1e-300, 1e30])
    one = torch.ones(2, *layer.state_shape, dtype=torch.float64)
    extremes = [1e30, -1e30, 0.0]
    for values in itertools.product(extremes, extremes, [1e30, -1e30, 50.0]):
        with torch.no_grad():
            layer.spectrum.poles[:] = torch.tensor(values[:2])[:, None]
            layer.spectrum.log_timescale[:] = values[2]
        where = f"poles {values[:2]}, log_timescale {values[2]}"
        y = layer(u)[0] + layer(u, dt=dt)[0]
        assert y.isfinite().all(), where
        gradients = torch.autograd.grad(loss(y), list(layer.parameters()))
        assert all(value.isfinite().all() for value in gradients), where
        if not case.bidirectional:
            states = layer.states(torch.zeros_like(u), one, dt=dt)
            sizes = states.norm(dim=case.plane_axis) / 2**0.5
            if isinstance(layer, es.S4):  # its modes mix, and only all of them together shrink
                sizes = sizes.norm(dim=-1) / sizes.shape[-1] ** 0.5
            assert (sizes <= 1 + 1e-12).all(), where


@every([case for case in LAYERS if "blocks" not in case.name])
@pytest.mark.parametrize("kind", ["noise", "constant"])
def test_single_precision_stays_near_double(case, kind):
    layer = case.make().float()
    u = inputs(layer, 2, 4000).float() if kind == "noise" else torch.ones(2, 4000, layer.d_model)
    y, state = layer(u.float())
    twin = case.make().float().double()  # the same rounded parameters
    expected, final = twin(u.double())
    assert truths.error(y.double(), expected) < 1e-6
    assert state is None or truths.error(state, final) < 1e-6


@every(CAUSAL)
def test_truncated_backpropagation(case):
    layer = case.make()
    state = None
    for seed in range(3):
        y, state = layer(inputs(layer, seed=seed), state)
        loss(y, state).backward()
        state = state.detach()
