"""Blocks, backbones and classifiers: the layers' laws hold for what is built on them."""

import copy
import pickle

import pytest
import torch
from model_cases import (
    LENGTHS,
    OPTIONS,
    TWO_WAYS,
    any_direction,
    assert_same_state,
    classifier,
    every_model,
    tensors,
)

from eigenstate.models import Backbone, Block
from eigenstate.models.activation import ACTIVATIONS
from eigenstate.models.choice import make_layer

# --- laws -----------------------------------------------------------------------------------------


@every_model
def test_after_each_step_the_answer_is_that_of_the_samples_so_far(make):
    model, u = make(), torch.randn(2, 7, 3)
    state = model.initial_state(2)
    for k in range(7):
        logits, state = model.step(u[:, k], state)
        expected, expected_state = model(u[:, : k + 1])
        torch.testing.assert_close(logits, expected, rtol=1e-10, atol=1e-10)
    assert_same_state(state, expected_state)


@every_model
@pytest.mark.parametrize("cut", [0, 1, 4, 7])
def test_a_sequence_may_be_cut_anywhere_and_continued(make, cut):
    model, u, dt = make(), torch.randn(2, 7, 3), torch.rand(2, 7)
    _, state = model(u[:, :cut], dt=dt[:, :cut])
    logits, state = model(u[:, cut:], state, dt=dt[:, cut:])
    expected, expected_state = model(u, dt=dt)
    torch.testing.assert_close(logits, expected, rtol=1e-10, atol=1e-10)
    assert_same_state(state, expected_state)


@every_model
def test_a_reset_forgets_everything_before_it_even_nan(make):
    model, u = make(), torch.randn(2, 7, 3)
    _, before = model(torch.randn(2, 3, 3))
    resets = torch.zeros(2, 7, dtype=torch.bool)
    resets[0, 2] = resets[0, 5] = resets[1, 0] = True
    u[0, 3] = torch.nan
    logits, state = model(u, before, resets=resets)
    for row, start in ((0, 5), (1, 0)):
        expected, alone = model(u[row : row + 1, start:])
        torch.testing.assert_close(logits[row : row + 1], expected, rtol=1e-10, atol=1e-10)
        for got, want in zip(tensors(state), tensors(alone), strict=True):
            torch.testing.assert_close(got[row : row + 1], want, rtol=1e-10, atol=1e-10)


@any_direction
def test_pads_reach_neither_outputs_nor_gradients(make):
    model, u = make(), torch.randn(3, 7, 3)
    for row, length in enumerate(LENGTHS.tolist()):
        u[row, length:] = torch.nan
    alone = [model(u[row : row + 1, :length])[0] for row, length in enumerate(LENGTHS.tolist())]
    expected = torch.cat(alone)
    weights = torch.randn(3, 5)
    wanted = torch.autograd.grad((weights * expected).sum(), list(model.parameters()))
    u.requires_grad_(True)
    logits, state = model(u, lengths=LENGTHS)
    got = torch.autograd.grad((weights * logits).sum(), [*model.parameters(), u])
    torch.testing.assert_close(logits, expected, rtol=1e-10, atol=1e-10)
    for a, b in zip(got, wanted, strict=False):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-9)
    for row, length in enumerate(LENGTHS.tolist()):
        assert (got[-1][row, length:] == 0).all() and (got[-1][row, :length] != 0).any()
    assert state is None or all(part.isfinite().all() for part in tensors(state))


@pytest.mark.parametrize("options", [OPTIONS, TWO_WAYS], ids=["causal", "bidirectional"])
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("prenorm", [True, False])
def test_outputs_of_blocks_and_backbones_are_zero_at_pads(options, activation, prenorm):
    settings = {"activation": activation, "prenorm": prenorm}
    block = Block(make_layer("s5", 6, options), **settings)
    backbone = Backbone(6, 2, layer_options=options, **settings)
    u = torch.randn(3, 7, 6)
    for row, length in enumerate(LENGTHS.tolist()):
        u[row, length:] = torch.nan
    for module in (block, backbone):
        y, _ = module(u, lengths=LENGTHS)
        for row, length in enumerate(LENGTHS.tolist()):
            assert (y[row, length:] == 0).all()
            expected, _ = module(u[row : row + 1, :length])
            torch.testing.assert_close(y[row : row + 1, :length], expected)


@every_model
def test_lengths_are_not_ignored(make):
    model, u = make(), torch.randn(3, 7, 3)
    assert (model(u)[0] - model(u, lengths=LENGTHS)[0])[1:].abs().min() > 1e-6


@any_direction
def test_an_interval_of_one_is_no_interval_and_another_is_one(make):
    model, u = make(), torch.randn(2, 7, 3)
    expected = model(u)[0]
    for dt in (1.0, torch.ones(7), torch.ones(2, 7)):
        torch.testing.assert_close(model(u, dt=dt)[0], expected, rtol=1e-10, atol=1e-10)
    assert (model(u, dt=2.0)[0] - expected).abs().max() > 1e-6


@every_model
def test_nothing_is_kept_between_calls_and_rows_do_not_mix(make):
    model, u = make(), torch.randn(3, 7, 3)
    first = model(u)[0]
    model(torch.randn(3, 7, 3))
    assert torch.equal(model(u)[0], first)
    dummies = torch.cat([u, torch.full((2, 7, 3), torch.nan)])
    torch.testing.assert_close(model(dummies)[0][:3], first, rtol=1e-12, atol=1e-12)


@any_direction
def test_no_rows_and_no_samples_work(make):
    model = make()
    assert model(torch.zeros(0, 7, 3))[0].shape == (0, 5)
    logits, _ = model(torch.zeros(2, 0, 3))
    assert torch.equal(logits, model.decoder.bias.expand(2, 5))


@any_direction
def test_every_parameter_learns(make):
    model = make()
    torch.nn.functional.cross_entropy(model(torch.randn(3, 7, 3))[0], LENGTHS % 5).backward()
    idle = [name for name, p in model.named_parameters() if p.grad is None or not p.grad.any()]
    assert not idle


@every_model
def test_steps_carry_gradients(make):
    model, u = make(), torch.randn(2, 3, 3, requires_grad=True)
    state = None
    for k in range(3):
        logits, state = model.step(u[:, k], state)
    (through_steps,) = torch.autograd.grad(logits.sum(), u)
    (at_once,) = torch.autograd.grad(model(u)[0].sum(), u)
    torch.testing.assert_close(through_steps, at_once, rtol=1e-9, atol=1e-9)


def test_a_model_streams_in_float32_as_well():
    model, u = classifier(dropout=0.3).float(), torch.randn(2, 200, 3, dtype=torch.float32)
    state = None
    for k in range(200):
        logits, state = model.step(u[:, k], state)
    expected, expected_state = model(u)
    torch.testing.assert_close(logits, expected, rtol=1e-5, atol=1e-6)
    assert logits.dtype == torch.float32
    assert {part.dtype for part in tensors(expected_state)} == {torch.float64}


# --- keeping and moving ---------------------------------------------------------------------------


@any_direction
def test_copies_pickles_and_saved_parameters_answer_alike(make):
    model, u = make(), torch.randn(2, 7, 3)
    other = make()
    other.load_state_dict(model.state_dict())
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model)), other):
        assert torch.equal(twin(u)[0], model(u)[0])
    assert not any(value.is_complex() for value in model.state_dict().values())


def test_sixteen_bit_models_run_and_keep_their_dynamics():
    model = classifier().to(torch.bfloat16)
    logits, state = model(torch.randn(2, 7, 3, dtype=torch.bfloat16))
    assert logits.dtype == torch.bfloat16 and logits.isfinite().all()
    assert model.backbone.blocks[0].layer.spectrum.poles.dtype == torch.float32
    assert {part.dtype for part in tensors(state)} == {torch.float64}
