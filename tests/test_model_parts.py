"""The parts of a model one by one, and what a model says to bad input."""

import pytest
import torch
from model_cases import OPTIONS, TWO_WAYS, classifier
from torch import nn

from eigenstate.models import Backbone, Block, Classifier, ClassifierState
from eigenstate.models.activation import ACTIVATIONS, Activation
from eigenstate.models.choice import make_layer, option_names
from eigenstate.models.dropout import TiedDropout


@pytest.mark.parametrize("kind", ACTIVATIONS)
def test_activations_are_the_published_formulas(kind):
    module, y = Activation(4, kind), torch.randn(2, 5, 4)
    x = y * 0.5 * (1 + torch.erf(y / 2**0.5))
    if kind == "gelu":
        expected = x
    else:
        gate = 1 / (1 + torch.exp(-(x @ module.gate.weight.T + module.gate.bias)))
        values = {"half_glu1": x, "half_glu2": y}
        if kind == "full_glu":
            values[kind] = x @ module.value.weight.T + module.value.bias
        expected = values[kind] * gate
    torch.testing.assert_close(module(y), expected)


def test_the_norm_comes_before_the_layer_or_after_the_skip():
    before, after = (Block(make_layer("s5", 6, OPTIONS), prenorm=p) for p in (True, False))
    after.load_state_dict(before.state_dict())
    u = torch.randn(2, 7, 6)
    for block in (before, after):
        nn.init.normal_(block.norm.weight)
    expected = u + before.activation(before.layer(before.norm(u))[0])
    torch.testing.assert_close(before(u)[0], expected)
    expected = after.norm(u + after.activation(after.layer(u)[0]))
    torch.testing.assert_close(after(u)[0], expected)


def test_dropout_keeps_one_mask_for_a_whole_sequence():
    dropout, x = TiedDropout(0.25), torch.ones(400, 7, 9)
    y = dropout(x)
    assert torch.equal(y, y[:, :1].expand_as(y))
    assert set(y.unique().tolist()) == {0.0, 1 / 0.75}
    assert abs((y == 0).double().mean().item() - 0.25) < 0.02
    assert dropout(x[:, 0]).shape == (400, 9)
    assert torch.equal(dropout.eval()(x), x)


def test_options_of_a_layer_and_of_its_options_object_stand_side_by_side():
    layer = make_layer("s5", 6, {"d_state": 8, "stability": "clip", "c_init": "lecun_normal"})
    assert (layer.d_state, layer.options.stability) == (8, "clip")
    assert layer.options.c_init == "lecun_normal" and layer.options.conjugate
    assert {"d_state", "blocks", "bidirectional", "stability"} <= set(option_names("s5"))


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.uint16, torch.int32])
@pytest.mark.parametrize("pooling", ["mean", "last"])
def test_lengths_may_be_integers_of_any_type(pooling, dtype):
    model, u = classifier(pooling), torch.randn(3, 3, 3)  # as many rows as samples
    lengths = torch.tensor([1, 2, 1])
    assert torch.equal(model(u, lengths=lengths.to(dtype))[0], model(u, lengths=lengths)[0])


MISTAKES = {
    "layer": (lambda: Backbone(6, layer="s6"), "layer must be one of .*'s5'.* got 's6'"),
    "layer option": (lambda: make_layer("s5", 6, {"d_stat": 3}), "got 'd_stat'.*mean 'd_state'"),
    "layers": (lambda: Backbone(6, 0), "n_layers must be at least 1, got 0"),
    "activation": (lambda: classifier(activation="gleu"), "activation .*did you mean 'gelu'"),
    "dropout": (lambda: classifier(dropout=1.0), "dropout must be .* below 1, got 1.0"),
    "pooling": (lambda: classifier("meen"), "pooling .*did you mean 'mean'"),
    "channels first": (lambda: classifier()(torch.randn(2, 3, 7)), "d_input=3.*transpose"),
    "rank": (lambda: classifier()(torch.randn(7, 3)), r"u must have shape \(batch, length, d_in"),
    "type": (
        lambda: classifier()(torch.randn(2, 7, 3).float()),
        "u must match the layer's precision",
    ),
    "sixteen bits": (
        lambda: classifier().float()(torch.randn(2, 7, 3).bfloat16()),
        "u must be torch.float32 like the model's weights, got torch.bfloat16",
    ),
    "lengths": (
        lambda: classifier()(torch.randn(2, 7, 3), lengths=torch.tensor([0, 7])),
        "lengths must lie between 1 and the length of u, 7; got 0 at index 0",
    ),
    "dt": (lambda: classifier()(torch.randn(2, 7, 3), dt=-1.0), "dt must be finite and at least 0"),
    "frame": (lambda: classifier().step(torch.randn(2, 4), None), r"\(batch, d_input=3\)"),
    "state": (lambda: classifier()(torch.randn(2, 7, 3), [1, 2]), "state must be what forward"),
    "states": (
        lambda: classifier()(torch.randn(2, 7, 3), ClassifierState([], ())),
        "state must be a list of 2 tensors, one for each layer, got 0",
    ),
    "state of another batch": (
        lambda: classifier()(torch.randn(2, 7, 3), classifier().initial_state(3)),
        r"state must have shape \(2, 2, 2\)",
    ),
    "state of another pooling": (
        lambda: classifier()(torch.randn(2, 7, 3), classifier("last").initial_state(2)),
        r"state.pooling must hold tensors of the shapes \[\(2, 6\), \(2, 1\)\], got \[\(2, 6\)\]",
    ),
    "a layer for a backbone": (
        lambda: Classifier(3, 5, backbone=make_layer("s5", 6, OPTIONS)),
        "backbone must be a Backbone, got S5",
    ),
    "state against time": (
        lambda: classifier(options=TWO_WAYS)(torch.randn(2, 7, 3), classifier().initial_state(2)),
        "state must be None for a bidirectional model: its backward half starts in the future",
    ),
    "step against time": (
        lambda: classifier(options=TWO_WAYS).step(torch.randn(2, 3), None),
        "a bidirectional layer reads the future",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named(mistake):
    make, message = MISTAKES[mistake]
    with pytest.raises((ValueError, TypeError), match=message):
        make()
