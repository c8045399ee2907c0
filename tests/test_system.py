"""A causal S5 run as one operator gives what its parts give."""

import pytest
import torch
import truths
from cases import LAYERS, assert_same, inputs, normal, outcome
from torch.autograd import forward_ad, gradcheck, gradgradcheck

import eigenstate as es
from eigenstate.ops.backends import cpu
from eigenstate.ops.system import composed, system


def arguments(batch=2, length=5, features=3, modes=2):
    a = 0.8 * torch.rand(2, modes)
    sizes = [(batch, length, features), (2 * modes, features), (features, 2 * modes), (features,)]
    u, B, C, D = (normal(*size, seed=k) for k, size in enumerate(sizes))
    state = normal(batch, 2, modes, seed=7)
    return [x.requires_grad_() for x in (u, a, B, C, D, state)]


@pytest.mark.parametrize("length", [0, 1, 2, 7])
@pytest.mark.parametrize("batch", [0, 1, 3])
def test_at_once_is_part_by_part(batch, length):
    inputs = arguments(batch, length)
    slopes = []
    for run in (system, composed):
        y, final = run(*inputs)
        loss = (y * normal(*y.shape, seed=8)).sum() + (final * normal(*final.shape, seed=9)).sum()
        slopes.append((y, final, *torch.autograd.grad(loss, inputs)))
    for got, expected in zip(*slopes, strict=True):
        assert truths.error(got, expected) < 1e-13


def test_gradients_of_both_orders():
    assert gradcheck(system, arguments())
    assert gradgradcheck(system, arguments())


def test_what_needs_no_gradient_gets_none():
    u, *rest = arguments()
    y, _ = system(u.detach(), *rest)
    y.sum().backward()
    assert u.grad is None and all(x.grad is not None for x in rest)


def test_the_layer_takes_it_and_the_gradient_may_be_asked_for_twice():
    layer = LAYERS[0].make()
    u = inputs(layer).requires_grad_()
    y, _ = layer(u)
    first = torch.autograd.grad(y.sum(), u, retain_graph=True)
    second = torch.autograd.grad(y.sum(), u)
    assert torch.equal(*first, *second)
    with torch.no_grad():
        kept = u.clone()
        layer(u)
    assert torch.equal(u, kept)
    assert_same(outcome(layer, layer, u=u), outcome(layer, layer, u=u), 0.0)


@pytest.mark.parametrize("planes", [1, 2])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("varying", [False, True])
def test_kernels_may_write_over_what_they_read(planes, reverse, varying):
    a = 0.5 * normal(1, 6 if varying else 1, planes, 4)
    b, state = normal(3, 6, planes, 4, seed=2), normal(3, planes, 4, seed=3)
    apart = cpu.forward(a, b, state, reverse)
    over = cpu.forward(a, b.clone(), state, reverse, overwrite=True)
    assert all(torch.equal(x, y) for x, y in zip(apart, over, strict=True))
    grad, last = normal(3, 6, planes, 4, seed=4), normal(3, planes, 4, seed=5)
    apart = cpu.adjoint(a, apart[0], state, grad, last, reverse)
    over = cpu.adjoint(a, over[0], state, grad.clone(), last, reverse, overwrite=True)
    assert all(torch.equal(x, y) for x, y in zip(apart, over, strict=True))


@pytest.mark.parametrize("case", LAYERS[:1] + LAYERS[16:17], ids=str)
def test_inputs_that_depend_on_one_another(case):
    layer = case.make()
    u = inputs(layer).requires_grad_()
    leaves = [u, *layer.parameters()]

    def start(u):  # a state computed from the input
        return (
            u.flatten(1)
            .repeat(1, 9)[:, : layer.initial_state(1).numel()]
            .reshape(len(u), *layer.state_shape)
        )

    for y in (layer(layer(u)[0])[0], layer(u, start(u))[0]):
        once = torch.autograd.grad(y.square().sum(), leaves, retain_graph=True)
        again = torch.autograd.grad(y.square().sum(), leaves, create_graph=True)
        assert all(truths.error(x, y) < 1e-12 for x, y in zip(again, once, strict=True))


def test_forward_mode_raises_where_nothing_requires_a_gradient():
    layer = LAYERS[0].make().requires_grad_(False)
    u = inputs(layer)
    with forward_ad.dual_level(), torch.no_grad():
        dual = forward_ad.make_dual(u, torch.ones_like(u))
        state = layer.initial_state(3)
        for call in (
            lambda: layer(dual),
            lambda: layer.states(dual),
            lambda: layer(u, forward_ad.make_dual(state, torch.ones_like(state)), dt=torch.ones(7)),
            lambda: es.linear_scan(torch.rand(3), dual),
        ):
            with pytest.raises(NotImplementedError):
                call()
