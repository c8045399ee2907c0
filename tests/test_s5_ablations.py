"""S5 without what makes it S5: other starts, one timescale, no timescale at all."""

import math

import numpy as np
import pytest
import torch
import truths

import eigenstate as es
from eigenstate.systems.initialize import start


@pytest.mark.parametrize("blocks", [1, 3])
@pytest.mark.parametrize("name", ["hippo", "antisymmetric", "random"])
def test_a_start_is_a_diagonalised_real_matrix(name, blocks):
    system = start(name, 12, blocks, False, torch.Generator().manual_seed(0))
    assert system.basis.shape == (blocks, 2, 12 // blocks, 12 // blocks)
    matrices = []
    for poles, basis, inverse in zip(
        system.poles.chunk(blocks, 1), system.basis, system.inverse, strict=True
    ):
        V, Vinv = basis[0] + 1j * basis[1], inverse[0] + 1j * inverse[1]
        A = V @ torch.diag(poles[0] + 1j * poles[1]) @ Vinv
        assert A.imag.abs().max() < 1e-12
        matrices.append(A.real)
        assert (poles[1].diff() >= 0).all()
    if name == "random":
        assert system.poles[0].max() == pytest.approx(-0.5)
        assert system.poles[0].min() < -0.6
    else:
        np.testing.assert_allclose(system.poles[0], -0.5, atol=1e-12)
    same = blocks > 1 and torch.allclose(matrices[0], matrices[1])
    assert same == (blocks > 1 and name == "hippo")


@pytest.mark.parametrize("name", ["antisymmetric", "random"])
@pytest.mark.parametrize("conjugate", [True, False])
def test_other_starts_make_layers(name, conjugate):
    options = es.S5Options(init=name, conjugate=conjugate)
    layer = es.S5(3, 12, blocks=2, options=options)
    assert layer.spectrum.poles.shape == (2, 6 if conjugate else 12)
    y, _ = layer(torch.randn(2, 50, 3))
    assert y.isfinite().all()
    torch.manual_seed(5)
    first = es.S5(3, 12, options=options)
    torch.manual_seed(5)
    assert torch.equal(es.S5(3, 12, options=options).B, first.B)


DISCRETE = [("exp", True), ("free", True), ("free", False)]


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize(("stability", "conjugate"), DISCRETE)
def test_without_timescales_a_layer_starts_as_the_same_one_with_zoh(
    stability, conjugate, bidirectional
):
    layers = []
    for rule in ("zoh", "none"):
        torch.manual_seed(0)
        options = es.S5Options(stability=stability, conjugate=conjugate)
        layers.append(
            es.S5(3, 8, discretization=rule, bidirectional=bidirectional, options=options)
        )
    u = torch.randn(2, 40, 3)
    with_timescales, without = (layer(u)[0] for layer in layers)
    torch.testing.assert_close(without, with_timescales, rtol=1e-10, atol=1e-12)
    assert "spectrum.log_timescale" not in dict(layers[1].named_parameters())
    response = layers[1].impulse_response(20)
    torch.testing.assert_close(response, layers[0].impulse_response(20), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("stability", "conjugate"), DISCRETE)
def test_without_timescales_the_poles_are_the_multipliers(stability, conjugate):
    options = es.S5Options(stability=stability, conjugate=conjugate)
    layer = es.S5(2, 4, discretization="none", options=options).requires_grad_(False)
    stored = layer.spectrum.poles.normal_(0, 0.5)
    if stability == "exp":
        a = np.exp(-np.exp(stored[0].numpy()) + 1j * stored[1].numpy())
    else:
        a = stored[0].numpy() + 1j * stored[1].numpy()
    C, B = truths.merge(layer.C), (layer.B[0] + 1j * layer.B[1]).numpy()
    u = torch.randn(1, 9, 2)
    x, expected = np.zeros(len(a), complex), []
    for u_k in u[0].numpy():
        x = a * x + B @ u_k
        expected.append((2 if conjugate else 1) * (C @ x).real + layer.D.numpy() * u_k)
    y, state = layer(u)
    np.testing.assert_allclose(y[0], expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(state[0, 0] + 1j * state[0, 1], x, rtol=1e-12, atol=1e-12)
    pieces, state = [], None
    for k in range(9):
        y_k, state = layer.step(u[:, k], state)
        pieces.append(y_k[0].numpy())
    np.testing.assert_allclose(pieces, expected, rtol=1e-12, atol=1e-12)


def test_without_timescales_lengths_and_resets_still_hold():
    layer = es.S5(2, 4, discretization="none")
    u, resets = torch.randn(2, 9, 2), torch.zeros(2, 9, dtype=torch.bool)
    resets[0, 4] = True
    y, state = layer(u, resets=resets, lengths=torch.tensor([9, 3]))
    torch.testing.assert_close(y[0, 4:], layer(u[:1, 4:])[0][0])
    torch.testing.assert_close(state[1], layer(u[1:, :3])[1][0])


def test_without_timescales_every_gradient_arrives_and_exp_keeps_the_multipliers_small():
    layer = es.S5(2, 4, discretization="none", bidirectional=True)
    layer(torch.randn(2, 9, 2))[0].square().sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in layer.parameters())
    with torch.no_grad():
        layer.spectrum.poles.fill_(1e30)
        assert math.hypot(*layer.spectrum.discretize()[0][:, 0]) <= 1
        layer.spectrum.poles[0] = -1e30
        assert math.hypot(*layer.spectrum.discretize()[0][:, 0]) <= 1
    groups = es.parameter_groups(layer, lr=1e-3)
    assert {"spectrum.poles", "B"} == set(groups[0]["param_names"])


@pytest.mark.parametrize("dt", [2.0, torch.tensor(2.0), torch.ones(9)])
def test_without_timescales_dt_is_refused_with_the_reason(dt):
    layer = es.S5(2, 4, discretization="none")
    with pytest.raises(ValueError, match=r"dt needs a layer with timescales.*'zoh'"):
        layer(torch.randn(2, 9, 2), dt=dt)
    with pytest.raises(ValueError, match="dt needs a layer with timescales"):
        layer.step(torch.randn(2, 2), None, dt=2.0)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"options": {"init": "hippos"}}, "init must be"),
        ({"options": {"stability": "clip"}, "discretization": "none"}, "'clip' is about poles in"),
        ({"discretization": "euler"}, "discretization must be"),
    ],
)
def test_bad_choices(more, message):
    with pytest.raises(ValueError, match=message):
        es.S5(2, 4, **{k: v for k, v in more.items() if k != "options"},
              options=es.S5Options(**more.get("options", {})))  # fmt: skip
