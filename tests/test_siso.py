"""What S4D and S4 have of their own: options, two evaluations, long sequences in float32.

The laws of every layer run over both in `test_layer_laws.py`.
"""

import copy
from functools import partial

import numpy as np
import pytest
import torch
import truths
from cases import normal, seeded

import eigenstate as es
from eigenstate.systems.low_rank import dplr

LAYERS = {
    "s4d": lambda **settings: es.S4D(3, 64, **settings),
    "s4": lambda **settings: es.S4(3, 64, **settings),
    "s4-cauchy": lambda **settings: es.S4(3, 64, options=es.S4Options(kernel="cauchy"), **settings),
}
named = pytest.mark.parametrize("name", LAYERS)


def pair(name, **settings):
    """The same layer in float32 and in float64."""
    single = seeded(0, lambda: LAYERS[name](**settings)).float()
    return single, copy.deepcopy(single).double()


# --- long sequences -------------------------------------------------------------------------------


@named
def test_forward_is_steps_and_chunks(name):
    """L = 4,096, N = 64: cut at uneven places, and stepped through, in both precisions."""
    for layer, tolerance in zip(pair(name), (1e-5, 1e-10), strict=True):
        u = normal(2, 4096, 3, dtype=layer.D.dtype)
        with torch.no_grad():
            y, final = layer(u)
            pieces, state = [], None
            for piece in u.split([1, 500, 1523, 2, 2070], 1):
                part, state = layer(piece, state)
                pieces.append(part)
            assert truths.error(torch.cat(pieces, 1), y) < tolerance
            assert truths.error(state, final) < tolerance
            # Steps over the last part alone, from the state that forward left before it.
            _, state = layer(u[:, :3896])
            for k in range(3896, 4096):
                part, state = layer.step(u[:, k], state)
                assert truths.error(part, y[:, k]) < 10 * tolerance
            assert truths.error(state, final) < tolerance


@named
@pytest.mark.parametrize("dt_min", [1e-3, 1e-4])
def test_a_kernel_in_float32_is_the_one_in_float64(name, dt_min):
    single, double = pair(name, dt_min=dt_min)
    with torch.no_grad():
        assert truths.error(single.impulse_response(16_384), double.impulse_response(16_384)) < 5e-7


@named
def test_a_kernel_does_not_depend_on_the_length_asked_for(name):
    """Nor on what was asked before: no length is stored, and C is never touched."""
    _, layer = pair(name)
    before = {key: value.clone() for key, value in layer.state_dict().items()}
    with torch.no_grad():
        long = layer.impulse_response(3001)
        for length in (1, 24, 1000, 3000):
            assert truths.error(layer.impulse_response(length), long[:length]) < 1e-10
    after = layer.state_dict()
    assert after.keys() == before.keys() == dict(layer.named_parameters()).keys()
    assert all(torch.equal(value, after[key]) for key, value in before.items())


def test_two_kernels_one_response():
    powers, cauchy = pair("s4")[1], pair("s4-cauchy")[1]
    for length in (1, 2, 1000, 1021):
        got = cauchy.impulse_response(length)
        assert truths.error(got, powers.impulse_response(length)) < 1e-10


# --- options of S4D -------------------------------------------------------------------------------


def test_b_may_be_fixed():
    layer = es.S4D(2, 4, options=es.S4DOptions(trainable_b=False))
    layer(normal(1, 5, 2))[0].sum().backward()
    assert layer.B.grad is None and layer.C.grad is not None
    assert "B" in layer.state_dict()  # kept, as it was


@pytest.mark.parametrize("evaluation", ["auto", "convolution", "scan"])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_evaluations_agree(evaluation, bidirectional):
    options = es.S4DOptions(evaluation=evaluation)
    layer, truth = (
        seeded(0, partial(es.S4D, 2, 8, bidirectional=bidirectional, options=chosen))
        for chosen in (options, es.S4DOptions())
    )
    u, lengths = normal(3, 33, 2), torch.tensor([33, 1, 20])
    for arguments in ({}, {"dt": 0.5}, {"lengths": lengths}):
        y, state = layer(u, **arguments)
        expected, final = truth(u, **arguments)
        assert truths.error(y, expected) < 1e-12
        assert bidirectional or truths.error(state, final) < 1e-12


@pytest.mark.parametrize(
    "arguments",
    [{"dt": torch.ones(7)}, {"dt": torch.ones(2, 7)}, {"resets": torch.zeros(2, 7).bool()}],
    ids=["dt-per-sample", "dt-per-row", "resets"],
)
def test_a_forced_convolution_says_why_it_cannot(arguments):
    layer = es.S4D(2, 4, options=es.S4DOptions(evaluation="convolution"))
    reason = "needs every sample alike.*resets must be None.*evaluation='auto' or 'scan'"
    with pytest.raises(ValueError, match=reason):
        layer(normal(2, 7, 2), **arguments)


def test_a_real_system_stays_real():
    layer = es.S4D(2, 5, options=es.S4DOptions(init="real"))
    assert layer.state_shape == (2, 2, 5)
    y, state = layer(normal(1, 20, 2))
    (y.sum() + state.sum()).backward()
    assert (state[:, 1] == 0).all()
    expected = truths_of_real(layer, normal(1, 20, 2))
    assert truths.error(y, expected) < 1e-12


def truths_of_real(layer, u):
    """x_k = e^(-(n+1)Δ) x_(k-1) + (1 - e^(-(n+1)Δ)) / (n+1) u_k, one real number after another."""
    rate = 1.0 + torch.arange(5)
    a = (-rate * layer.spectrum.log_timescale.exp()).exp()  # (H, N)
    x, outputs = torch.zeros(2, 5), []
    for sample in u[0]:
        x = a * x + (1 - a) / rate * sample.unsqueeze(-1)
        outputs.append((layer.C[0] * x).sum(-1) + layer.D * sample)
    return torch.stack(outputs)[None]


# --- options of S4 --------------------------------------------------------------------------------


@pytest.mark.parametrize(("measure", "rank"), [("legs", 1), ("legt", 2), ("fout", 1)])
def test_s4_starts_as_hippo_itself(measure, rank):
    """The impulse response is that of the real matrices, whatever C reads out."""
    layer = es.S4(1, 8, options=es.S4Options(measure=measure, stability="free"))
    assert layer.P.shape == (2, rank, 1, 4)
    start = dplr(measure, 8)
    A = np.diag(start.poles) - start.P.T @ start.P.conj()
    A = (start.V @ A @ start.V.conj().T).real
    b = (start.V @ start.B).real
    step = layer.spectrum.log_timescale.exp().item()
    a, gain = truths.dense_bilinear(A, b[:, None], step)
    half = truths.merge(layer.C, axis=0)[0]
    c = 2 * (half @ start.V.conj().T[:4]).real
    x, expected = gain[:, 0], []
    for _ in range(50):
        expected.append(c @ x)
        x = a @ x
    expected[0] += layer.D.item()
    assert truths.error(layer.impulse_response(50)[:, 0], expected) < 1e-10


# --- arguments ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: es.S4DOptions(init="leg"), "init .*'leg'; did you mean 'legs'"),
        (lambda: es.S4DOptions(evaluation="scann"), "evaluation .*; did you mean 'scan'"),
        (lambda: es.S4DOptions(stability="clipped"), "stability .*; did you mean 'clip'"),
        (lambda: es.S4Options(measure="legz"), "measure .*; did you mean 'leg[st]'"),
        (lambda: es.S4Options(kernel="power"), "kernel .*'power'; did you mean 'powers'"),
        (lambda: es.S4D(2, 4, discretization="zho"), "discretization .*; did you mean 'zoh'"),
        (lambda: es.S4D(2, 5), "d_state must be divisible by 2 .*conjugate pair.*got d_state=5"),
        (lambda: es.S4(2, 5), "d_state must be divisible by 2 .*conjugate pair.*got d_state=5"),
        (lambda: es.S4(2, 0), "d_state must be at least 1, got 0"),
        (lambda: es.S4D(2, 4, dt_min=0.0), "0 < dt_min <= dt_max"),
    ],
)
def test_values_that_cannot_be(make, words):
    with pytest.raises(ValueError, match=words) as caught:
        make()
    assert "blocks" not in str(caught.value)  # which these layers do not have


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: es.S4D(2, 4, options=es.S4Options()), "options must be of class S4DOptions"),
        (lambda: es.S4(2, 4, options=es.S4DOptions()), "options must be of class S4Options"),
        (lambda: es.S4DOptions(trainable_b=1), "trainable_b must be True or False"),
        (lambda: es.S4(2, 4, bidirectional="yes"), "bidirectional must be True or False"),
    ],
)
def test_types_that_cannot_be(make, words):
    with pytest.raises(TypeError, match=words):
        make()
