"""Every head, on every kind of encoder: the laws of the layers hold up to the answer."""

import copy

import pytest
import torch
import torch.nn.functional as F
from model_cases import (
    CAUSAL_HEADS,
    LENGTHS,
    TWO_WAYS,
    any_way,
    assert_same_state,
    every_head,
    flat,
    tensors,
)

from eigenstate.models import Labeller, Regressor

TIGHT = {"rtol": 1e-10, "atol": 1e-10}


def inputs(head, batch=2, length=7):
    return head.draw(head.documents * batch, length)


# --- laws -----------------------------------------------------------------------------------------


@every_head
def test_forward_is_a_loop_of_steps(head):
    model, u = head.make(), inputs(head)
    dt = torch.rand(len(u), 7)
    expected, expected_state = model(u, dt=dt)
    state, answers = model.initial_state(len(u)), []
    for k in range(7):
        answer, state = model.step(u[:, k], state, dt=dt[:, k])
        answers.append(flat(answer))
    got = torch.stack(answers, dim=1) if head.each_sample else answers[-1]
    torch.testing.assert_close(got, flat(expected), **TIGHT)
    assert_same_state(state, expected_state)


@every_head
@pytest.mark.parametrize("cut", [0, 1, 4, 7])
def test_a_sequence_may_be_cut_anywhere_and_continued(head, cut):
    model, u = head.make(), inputs(head)
    dt = torch.rand(len(u), 7)
    first, state = model(u[:, :cut], dt=dt[:, :cut])
    got, state = model(u[:, cut:], state, dt=dt[:, cut:])
    expected, expected_state = model(u, dt=dt)
    got = torch.cat([flat(first), flat(got)], dim=1) if head.each_sample else flat(got)
    torch.testing.assert_close(got, flat(expected), **TIGHT)
    assert_same_state(state, expected_state)


@every_head
def test_a_reset_begins_anew(head):
    model, u = head.make(), inputs(head)
    resets = torch.zeros(len(u), 7, dtype=torch.bool)
    resets[:, 3] = True
    got, state = model(u, model(inputs(head))[1], resets=resets)
    expected, alone = model(u[:, 3:])
    torch.testing.assert_close(
        flat(got)[:, 3:] if head.each_sample else flat(got), flat(expected), **TIGHT
    )
    assert_same_state(state, alone)


@any_way
def test_pads_reach_neither_answers_nor_gradients(head, options):
    model, u = head.make(options), inputs(head, batch=3)
    lengths = LENGTHS.repeat(head.documents)
    valid = torch.arange(7) < lengths[:, None]
    dt = torch.where(valid, torch.rand(len(u), 7) + 0.5, torch.nan)
    u[~valid] = head.pad
    expected = []
    for row, length in enumerate(LENGTHS.tolist()):
        alone = u[row::3, :length], dt[row::3, :length]
        answer = flat(model(alone[0], dt=alone[1])[0])
        expected.append(answer[0] if head.each_sample else answer)
    got, state = model(u, dt=dt, lengths=lengths)
    at_pads = flat(got)[~valid] if head.each_sample else None
    got = flat(got)[valid] if head.each_sample else got
    torch.testing.assert_close(got, torch.cat(expected), **TIGHT)
    weights, parameters = torch.randn_like(got), list(model.parameters())
    wanted = torch.autograd.grad((weights * torch.cat(expected)).sum(), parameters)
    found = torch.autograd.grad((weights * got).sum(), parameters)
    for a, b in zip(found, wanted, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-9)
    assert state is None or all(part.isfinite().all() for part in tensors(state))
    if isinstance(model, Regressor):
        assert torch.equal(at_pads, torch.tensor([0.0, 0.0, 1.0, 1.0]).expand(len(at_pads), 4))
    elif head.each_sample:
        assert not at_pads.any()


@any_way
def test_every_parameter_learns(head, options):
    model = head.make(options, norm="batch").train()
    # The regressor is penalised in its mean and its variance, by what is not their optimum.
    flat(model(inputs(head))[0]).square().sum().backward()
    idle = [name for name, p in model.named_parameters() if p.grad is None or not p.grad.any()]
    assert not idle


@any_way
@pytest.mark.parametrize(("batch", "length"), [(1, 1), (0, 7), (2, 0), (0, 0)])
def test_no_rows_no_samples_and_single_ones_work(head, options, batch, length):
    model = head.make(options)
    answer = flat(model(inputs(head, batch, length))[0])
    width = 11 if hasattr(model, "n_tokens") else 4 if isinstance(model, Regressor) else 5
    assert answer.shape == ((batch, length, width) if head.each_sample else (batch, width))
    assert answer.isfinite().all()


@any_way
def test_copies_and_saved_parameters_answer_alike(head, options):
    model, other, u = head.make(options), head.make(options), inputs(head)
    other.load_state_dict(model.state_dict())
    for twin in (copy.deepcopy(model), other):
        assert torch.equal(flat(twin(u)[0]), flat(model(u)[0]))
    assert model.bidirectional is bool(options.get("bidirectional"))


@every_head
def test_a_model_in_float32_answers_in_float32(head):
    model, u = head.make().float(), inputs(head)
    u = u.float() if u.is_floating_point() else u.to(torch.uint8)
    got = flat(model(u, dt=torch.rand(7))[0])
    assert got.dtype == torch.float32 and got.isfinite().all()


# --- pads as published ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["classifier of tokens", "retrieval", "labeller"])
def test_published_pads_are_samples_until_the_pooling(name):
    head = CAUSAL_HEADS[name]
    model, u = head.make(TWO_WAYS, padding="published"), inputs(head, batch=3)
    lengths = LENGTHS.repeat(head.documents)
    got, state = model(u, lengths=lengths)
    assert state is None
    x, _ = model.backbone(model.encoder(u))  # no lengths: whatever stands there is read
    valid = torch.arange(7) < lengths[:, None]
    if isinstance(model, Labeller):
        expected = torch.where(valid[..., None], model.decoder(x), 0.0)
    else:
        pooled = torch.where(valid[..., None], x, 0.0).sum(1) / lengths[:, None]
        expected = model._decode(pooled)
    torch.testing.assert_close(got, expected, **TIGHT)
    plain = head.make(TWO_WAYS)
    plain.load_state_dict(model.state_dict())
    assert (flat(plain(u, lengths=lengths)[0]) - got).abs().max() > 1e-6


def test_a_causal_model_with_published_pads_has_a_state_where_there_are_none():
    head = CAUSAL_HEADS["classifier of tokens"]
    model, u = head.make(padding="published"), inputs(head)
    assert model(u)[1] is not None
    assert model(u, lengths=torch.tensor([7, 3]))[1] is None


# --- retrieval ------------------------------------------------------------------------------------


@pytest.mark.parametrize("gelu", ["exact", "tanh"])
def test_retrieval_compares_two_means(gelu):
    head = CAUSAL_HEADS["retrieval"]
    model, u = head.make(gelu=gelu), inputs(head)
    lengths = torch.tensor([7, 2, 5, 7])
    x, _ = model.backbone(model.encoder(u), lengths=lengths)
    a, b = (x.sum(1) / lengths[:, None]).reshape(2, 2, 6)
    features = torch.cat([a, b, a - b, a * b], dim=1)
    hidden = features @ model.combine.weight.T + model.combine.bias
    if gelu == "exact":
        hidden = hidden * 0.5 * (1 + torch.erf(hidden / 2**0.5))
    else:
        inner = (2 / torch.pi) ** 0.5 * (hidden + 0.044715 * hidden**3)
        hidden = hidden * 0.5 * (1 + torch.tanh(inner))
    expected = F.linear(hidden, model.decoder.weight, model.decoder.bias)
    torch.testing.assert_close(model(u, lengths=lengths)[0], expected, **TIGHT)


# --- bad input ------------------------------------------------------------------------------------


def call(name, change=lambda u: u, **arguments):
    """A head on changed inputs."""

    def attempt():
        head = CAUSAL_HEADS[name]
        head.make()(change(inputs(head)), **arguments)

    return attempt


def step(name, change):
    head = CAUSAL_HEADS[name]
    return lambda: head.make().step(change(inputs(head)[:, 0]), None)


MISTAKES = {
    "odd": (call("retrieval", lambda u: u[:3]), "u must hold first documents.* even .*got 3"),
    "odd step": (step("retrieval", lambda u: u[:3]), "even number of rows, got 3"),
    "width": (call("labeller", lambda u: u[..., :2]), r"d_input=3\), got \(2, 7, 2\)"),
    "width of a step": (step("regressor", lambda u: u[:, :2]), r"\(batch, d_input=3\)"),
    "words": (call("classifier of tokens", lambda u: u * 1.0), r"integers, got .*u\.long\(\)"),
    "one-hot": (
        call("classifier of tokens", lambda u: F.one_hot(u, 11)),
        r"u must have shape \(batch, length\), got \(2, 7, 11\)",
    ),
    "unknown word": (
        call("retrieval of tokens", lambda u: u.index_fill(1, torch.tensor(3), 11)),
        r"from 0 to 10 \(n_tokens=11\), got 11 at index \(0, 3\)",
    ),
    "pad read as a word": (
        lambda: CAUSAL_HEADS["retrieval of tokens"].make(padding="published")(
            torch.tensor([[1, -1], [2, 3]]), lengths=torch.tensor([1, 2])
        ),
        r"got -1 at index \(0, 1\)",
    ),
    "bytes": (call("regressor of images", lambda u: u.byte()), "floating point, got .*/ 255"),
    "side": (
        call("regressor of images", lambda u: u[..., 1:]),
        r"u must have shape \(batch, length, 8, 8\), got \(2, 7, 8, 7\)",
    ),
    "frame": (step("classifier of images", lambda u: u[None]), r"\(batch, 8, 8\)"),
    "list": (lambda: CAUSAL_HEADS["autoregressive"].make()([[1]]), "torch.Tensor, got list"),
    "dt": (call("regressor of images", dt=torch.ones(3)), r"dt must have .*got \(3,\)"),
    "dt and lengths": (
        call("regressor of images", dt=torch.ones(3), lengths=torch.tensor([7, 7])),
        r"dt must have .*got \(3,\)",
    ),
    "lengths": (call("labeller", lengths=torch.tensor([8, 7])), "lengths must lie between 1 and"),
    "state": (call("labeller", state=[None]), "state must be a list of 2 tensors"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named(mistake):
    attempt, message = MISTAKES[mistake]
    with pytest.raises((ValueError, TypeError), match=message):
        attempt()
