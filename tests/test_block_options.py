"""Norms over batch and time, the form of GELU, dropout of samples and of blocks, padding."""

import numpy as np
import pytest
import torch
from torch import nn

import eigenstate as es
from eigenstate.models.norm import SequenceBatchNorm

BATCH = es.BlockOptions(norm="batch")


def backbone(options: es.BlockOptions | None = None, **more) -> es.Backbone:
    torch.manual_seed(0)
    more = {"layer_options": {"d_state": 8}, **more}
    return es.Backbone(6, 2, options=options, **more).double()


def ragged(length: int = 7) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(1)
    return torch.randn(3, length, 6, dtype=torch.float64), torch.tensor([3, length, 1])


def test_batch_norm_over_batch_and_time_is_torch_s_own() -> None:
    ours, theirs = SequenceBatchNorm(6).double(), nn.BatchNorm1d(6, momentum=0.05).double()
    u, _ = ragged()
    torch.testing.assert_close(ours(u), theirs(u.mT).mT, rtol=0, atol=1e-12)
    torch.testing.assert_close(ours.running_mean, theirs.running_mean, rtol=0, atol=1e-12)
    biased = 0.95 + 0.05 * u.flatten(0, 1).var(0, correction=0)
    torch.testing.assert_close(ours.running_var, biased, rtol=0, atol=1e-12)
    ours.eval(), theirs.eval()
    theirs.load_state_dict(ours.state_dict(), strict=False)
    torch.testing.assert_close(ours(u), theirs(u.mT).mT, rtol=0, atol=1e-12)
    torch.testing.assert_close(ours(u[:, 2]), ours(u)[:, 2], rtol=0, atol=0)


def test_pads_never_reach_the_statistics() -> None:
    norm = SequenceBatchNorm(6).double()
    u, lengths = ragged()
    u[0, 3:], u[2, 1:] = torch.nan, torch.inf
    y = norm(u, lengths)
    valid = np.concatenate([row[:n] for row, n in zip(u.numpy(), lengths.tolist(), strict=True)])
    np.testing.assert_allclose(norm.running_mean, 0.05 * valid.mean(0), atol=1e-14)
    expected = (u.numpy()[1] - valid.mean(0)) / np.sqrt(valid.var(0) + 1e-5)
    np.testing.assert_allclose(y[1].detach(), expected, atol=1e-12)


def test_batch_norm_gradients() -> None:
    norm = SequenceBatchNorm(3).double()
    u = torch.randn(2, 4, 3, dtype=torch.float64, requires_grad=True)
    lengths = torch.tensor([4, 2])
    assert torch.autograd.gradcheck(lambda u: norm(u, lengths)[:, :2], u)


def test_batch_norm_keeps_its_statistics_in_float32() -> None:
    norm = SequenceBatchNorm(6).float()
    with torch.autocast("cpu", torch.bfloat16):
        norm(torch.randn(4, 1000, 6, dtype=torch.bfloat16) + 100)
    assert norm.running_mean.dtype == torch.float32
    assert (norm.running_mean - 5).abs().max() < 0.02


def test_a_batch_norm_backbone_gives_padded_rows_what_they_give_alone() -> None:
    model = backbone(BATCH, layer_options={"d_state": 8, "bidirectional": True}).train()
    u, lengths = ragged()
    for _ in range(3):
        model(u, lengths=lengths)
    model.eval()
    u[0, 3:] = torch.nan
    y, _ = model(u, lengths=lengths)
    for row, n in enumerate(lengths.tolist()):
        torch.testing.assert_close(y[row, :n], model(u[row : row + 1, :n])[0][0])
        assert (y[row, n:] == 0).all()


@pytest.mark.parametrize("prenorm", [True, False])
def test_training_on_a_padded_batch_is_training_on_its_samples(prenorm) -> None:
    """Twice as many pads change nothing, statistics and gradients included."""
    u, lengths = ragged()
    wide = torch.cat((u, torch.full_like(u, 9.0)), 1)
    found = []
    for given in (u, wide):
        model = backbone(BATCH, prenorm=prenorm).train()
        y, _ = model(given, lengths=lengths)
        y.square().sum().backward()
        found.append([p.grad for p in model.parameters()] + list(model.buffers()))
    for left, right in zip(*found, strict=True):
        torch.testing.assert_close(left, right, rtol=1e-9, atol=1e-12)


def test_batch_norm_streams_in_evaluation_and_says_why_not_in_training() -> None:
    model = backbone(BATCH)
    u, _ = ragged()
    model.train()(u)
    with pytest.raises(ValueError, match=r"no single steps in training.*model\.eval\(\)"):
        model.step(u[:, 0], None)
    with pytest.raises(ValueError, match="needs at least one sample"):
        model(u[:0])
    model.eval()
    whole, _ = model(u)
    state = None
    for k in range(u.shape[1]):
        y, state = model.step(u[:, k], state)
        torch.testing.assert_close(y, whole[:, k])


@pytest.mark.parametrize(
    "wrong", [{"dt": -1.0}, {"resets": torch.zeros(3, 2, dtype=torch.bool)}, {"state": [None]}]
)
def test_a_refused_call_has_not_moved_the_statistics(wrong) -> None:
    model = backbone(BATCH).train()
    before = [value.clone() for value in model.buffers()]
    with pytest.raises(ValueError):
        model(ragged()[0], **wrong)
    assert all(torch.equal(a, b) for a, b in zip(model.buffers(), before, strict=True))


def test_published_padding_lets_pads_through_and_returns_no_state() -> None:
    u, lengths = ragged()
    options = es.BlockOptions(norm="batch", padding="published")
    layer = {"d_state": 8, "bidirectional": True}
    model = backbone(options, layer_options=layer).eval()
    whole, _ = model(u)
    y, state = model(u, lengths=lengths)
    assert state is None
    torch.testing.assert_close(y[0, :3], whole[0, :3], rtol=0, atol=0)
    assert (y[0, 3:] == 0).all()
    careful, _ = backbone(BATCH, layer_options=layer).eval()(u, lengths=lengths)
    assert (careful[0, :3] - y[0, :3]).abs().max() > 1e-3
    causal = backbone(es.BlockOptions(padding="published"))
    assert causal(u, lengths=lengths)[1] is None
    assert causal(u)[1] is not None
    assert causal.blocks[0](u, lengths=lengths)[1] is None


def test_gelu_has_two_forms() -> None:
    y = torch.linspace(-4, 4, 101, dtype=torch.float64)[:, None]
    inner = np.sqrt(2 / np.pi) * (y.numpy() + 0.044715 * y.numpy() ** 3)
    tanh = backbone(es.BlockOptions(gelu="tanh"), activation="gelu").blocks[0].activation
    np.testing.assert_allclose(tanh(y), 0.5 * y.numpy() * (1 + np.tanh(inner)), atol=1e-12)
    exact = backbone(activation="gelu").blocks[0].activation
    assert 1e-4 < (exact(y) - tanh(y)).abs().max() < 1e-3


def test_untied_dropout_draws_a_mask_for_every_sample() -> None:
    ones = torch.ones(4, 50, 30)
    tied = es.Block(es.S5(30), activation="gelu", dropout=0.5).activation.dropout
    untied = es.Block(
        es.S5(30), activation="gelu", dropout=0.5, options=es.BlockOptions(tied_dropout=False)
    ).activation.dropout
    assert (tied(ones).std(1) == 0).all()
    assert (untied(ones).std(1) > 0).all()
    assert 0.9 < untied(ones).mean() < 1.1


def test_stochastic_depth_drops_a_row_s_whole_branch_and_keeps_the_mean() -> None:
    block = es.Block(es.S5(6, 8), options=es.BlockOptions(stochastic_depth=0.5))
    u = torch.randn(400, 5, 6)
    with torch.no_grad():
        expected = block.eval()(u)[0] - u
        got = block.train()(u)[0] - u
    dropped = (got == 0).flatten(1).all(1)
    assert 0.4 < dropped.float().mean() < 0.6
    torch.testing.assert_close(got[~dropped], 2 * expected[~dropped], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("norm", ["batch", "layer"])
@pytest.mark.parametrize("prenorm", [True, False])
def test_a_block_without_skip_is_layer_norm_activation(norm, prenorm) -> None:
    options = es.BlockOptions(norm=norm, skip=False)
    model = backbone(options, activation="gelu", prenorm=prenorm)
    u, _ = ragged()
    by_hand = u
    for block in model.blocks:
        layer, _ = block.layer(by_hand)
        mean = layer.mean((0, 1)) if norm == "batch" else layer.mean(-1, keepdim=True)
        square = (layer - mean) ** 2
        variance = square.mean((0, 1)) if norm == "batch" else square.mean(-1, keepdim=True)
        by_hand = nn.functional.gelu((layer - mean) / torch.sqrt(variance + 1e-5))
    torch.testing.assert_close(model(u)[0], by_hand, rtol=0, atol=1e-12)


@pytest.mark.parametrize("norm", ["batch", "layer"])
def test_a_block_without_skip_streams_and_minds_no_pads(norm) -> None:
    model = backbone(es.BlockOptions(norm=norm, skip=False), activation="half_glu2")
    u, lengths = ragged()
    model(u, lengths=lengths)  # the running statistics of valid samples
    model.eval()
    y, state = model(u)
    states = None
    for k in range(u.shape[1]):
        y_k, states = model.step(u[:, k], states)
        torch.testing.assert_close(y_k, y[:, k], rtol=0, atol=1e-12)
    torch.testing.assert_close(states, state, rtol=0, atol=1e-12)
    u[0, 3:], u[2, 1:] = torch.nan, torch.inf
    padded, _ = model(u, lengths=lengths)
    for row, n in enumerate(lengths.tolist()):
        torch.testing.assert_close(padded[row, :n], y[row, :n], rtol=0, atol=1e-12)
        assert (padded[row, n:] == 0).all()
    again = es.Backbone.from_config(model.config)
    assert again.options == model.options and not again.blocks[0].options.skip


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"norm": "group"}, "norm must be"),
        ({"gelu": "fast"}, "gelu must be"),
        ({"padding": "left"}, "padding must be"),
        ({"norm_eps": 0.0}, "norm_eps must be finite and above 0, got 0.0"),
        ({"norm_momentum": 95}, "share of the new batch"),
        ({"stochastic_depth": 1.0}, "stochastic_depth must be at least 0 and below 1"),
        ({"stochastic_depth": 0.1, "skip": False}, "stochastic_depth needs the skip connection"),
    ],
)
def test_bad_options(options, message) -> None:
    with pytest.raises(ValueError, match=message):
        es.BlockOptions(**options)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: es.BlockOptions(norm_eps="1e-6"), "norm_eps must be a number, got '1e-6'"),  # pyright: ignore
        (lambda: es.BlockOptions(norm_momentum=True), "norm_momentum must be a number, got True"),
        (lambda: es.BlockOptions(tied_dropout="no"), "tied_dropout must be True or False"),  # pyright: ignore
        (lambda: es.Backbone(4, 1, options={}), "options must be of class BlockOptions, got dict"),  # pyright: ignore
        (
            lambda: es.Block(es.S5(4, 4), options=1),
            "options must be of class BlockOptions, got int",
        ),  # pyright: ignore
        (lambda: es.Backbone(4, 1, prenorm="false"), "prenorm must be True or False, got 'false'"),  # pyright: ignore
    ],
)
def test_options_of_another_kind(make, message) -> None:
    with pytest.raises(TypeError, match=message):
        make()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_sixteen_bits_leave_the_statistics_in_float32(dtype) -> None:
    norm = SequenceBatchNorm(2, momentum=0.01).to(dtype)
    assert norm.weight.dtype == dtype and norm.running_var.dtype == torch.float32
    u = (300 * torch.randn(8, 500, 2) + 200).to(dtype)  # the squares pass what float16 holds
    y = norm(u)
    assert y.dtype == dtype
    assert abs(y.float().std() - 1) < 0.01
    expected = 0.99 + 0.01 * u.float().flatten(0, 1).var(0, correction=0)
    torch.testing.assert_close(norm.running_var, expected, rtol=1e-5, atol=0)
    assert norm.eval()(u).dtype == dtype
