"""What an encoder makes of one sample, against the same written out."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from eigenstate.models import (
    Backbone,
    Classifier,
    EmbeddingEncoder,
    ImageEncoder,
    LinearEncoder,
    OneHotEncoder,
)

LEADING = [(), (3,), (2, 7), (0, 7), (2, 0)]


def assert_same_with_gradients(module, got, expected):
    torch.testing.assert_close(got, expected)
    weights = torch.randn_like(got)
    parameters = list(module.parameters())
    found = torch.autograd.grad((weights * got).sum(), parameters)
    wanted = torch.autograd.grad((weights * expected).sum(), parameters)
    for a, b in zip(found, wanted, strict=True):
        torch.testing.assert_close(a, b)


# --- channels and tokens --------------------------------------------------------------------------


@pytest.mark.parametrize("leading", LEADING)
def test_channels_pass_a_matrix(leading):
    encoder, u = LinearEncoder(3, 6), torch.randn(*leading, 3)
    assert_same_with_gradients(encoder, encoder(u), u @ encoder.weight.T + encoder.bias)


@pytest.mark.parametrize("leading", LEADING)
def test_a_token_is_a_one_hot_vector_before_a_matrix(leading):
    encoder, u = OneHotEncoder(11, 6), torch.randint(11, leading)
    expected = F.one_hot(u, 11).double() @ encoder.weight.T + encoder.bias
    assert_same_with_gradients(encoder, encoder(u), expected)
    assert encoder.weight.shape == (6, 11)  # as of a dense layer on one-hot vectors


@pytest.mark.parametrize("leading", LEADING)
def test_an_embedding_is_a_row_of_a_table(leading):
    encoder, u = EmbeddingEncoder(11, 6), torch.randint(11, leading)
    expected = F.one_hot(u, 11).double() @ encoder.weight
    assert_same_with_gradients(encoder, encoder(u), expected)


@pytest.mark.parametrize("make", [OneHotEncoder, EmbeddingEncoder])
@pytest.mark.parametrize("dtype", [torch.uint8, torch.int16, torch.int32, torch.int64])
def test_ids_may_be_integers_of_any_size(make, dtype):
    encoder, u = make(300, 6), torch.tensor([[0, 3, 127]])
    assert torch.equal(encoder(u.to(dtype)), encoder(u))


def test_a_number_of_channels_is_a_linear_encoder():
    numbered = Classifier(3, 5, backbone=Backbone(6, 1))
    named = Classifier(LinearEncoder(3, 6), 5, backbone=Backbone(6, 1))
    named.load_state_dict(numbered.state_dict())
    keys = list(numbered.state_dict())
    assert keys[:2] == ["encoder.weight", "encoder.bias"]
    assert keys[-2:] == ["decoder.weight", "decoder.bias"]
    assert all(key.startswith("backbone.") for key in keys[2:-2])
    u = torch.randn(2, 7, 3)
    assert torch.equal(named(u)[0], numbered(u)[0])


# --- images ---------------------------------------------------------------------------------------


def written_out(encoder, images, dt=None):
    """The published CNN, in its own order, in plain torch."""
    x = images.reshape(-1, 1, *images.shape[-2:])
    x = F.conv2d(x, encoder.conv1.weight, encoder.conv1.bias, padding=2)
    x = F.max_pool2d(F.relu(x), 2)
    x = F.conv2d(x, encoder.conv2.weight, encoder.conv2.bias, stride=2, padding=1)
    x = F.max_pool2d(F.relu(x), 2)
    x = F.relu(F.linear(x.flatten(1), encoder.dense.weight, encoder.dense.bias))
    x = x.reshape(*images.shape[:-2], 30)
    if dt is not None:
        x = torch.cat([x, dt.expand(x.shape[:-1])[..., None]], dim=-1)
    return F.linear(x, encoder.output.weight, encoder.output.bias)


@pytest.mark.parametrize("side", [6, 7, 9, 24])
@pytest.mark.parametrize("leading", [*LEADING[1:], (2, 211)], ids=str)
def test_images_pass_the_published_network(side, leading):
    encoder, images = ImageEncoder(6, side=side), torch.rand(*leading, side, side)
    images[images < 0.5] = 0  # an even background: many places of a pool are equal
    assert_same_with_gradients(encoder, encoder(images), written_out(encoder, images))
    with torch.no_grad():
        torch.testing.assert_close(encoder(images), written_out(encoder, images))


def test_the_published_network_has_the_published_size():
    encoder = ImageEncoder(30)
    assert (encoder.side, encoder.append_dt) == (24, False)
    shapes = {name: tuple(p.shape) for name, p in encoder.named_parameters()}
    assert shapes["conv1.weight"] == (12, 1, 5, 5) and shapes["conv2.weight"] == (12, 12, 3, 3)
    assert shapes["dense.weight"] == (30, 108) and shapes["output.weight"] == (30, 30)
    assert ImageEncoder(30, append_dt=True).output.weight.shape == (30, 31)


def test_images_carry_gradients():
    encoder, images = ImageEncoder(6, side=6), torch.rand(2, 3, 6, 6, requires_grad=True)
    (got,) = torch.autograd.grad(encoder(images).sum(), images)
    (expected,) = torch.autograd.grad(written_out(encoder, images).sum(), images)
    torch.testing.assert_close(got, expected)


@pytest.mark.parametrize(
    "dt", [None, 2.5, torch.tensor(2.5), torch.rand(7), torch.rand(2, 7)], ids=str
)
def test_the_interval_is_one_more_feature(dt):
    encoder, images = ImageEncoder(6, side=6, append_dt=True), torch.rand(2, 7, 6, 6)
    plain = torch.ones(()) if dt is None else torch.as_tensor(dt)
    assert_same_with_gradients(encoder, encoder(images, dt), written_out(encoder, images, plain))
    without = ImageEncoder(6, side=6)
    assert torch.equal(without(images, dt), without(images))


def test_the_interval_of_one_image_is_its_rows_own():
    encoder, images, dt = (
        ImageEncoder(6, side=6, append_dt=True),
        torch.rand(3, 6, 6),
        torch.rand(3),
    )
    torch.testing.assert_close(encoder(images, dt), written_out(encoder, images, dt))
    torch.testing.assert_close(
        encoder.float()(images.float(), dt), encoder(images.float(), dt.float())
    )


# --- bad input ------------------------------------------------------------------------------------


def classifier(encoder):
    return lambda: Classifier(encoder, 5, backbone=Backbone(6, 1))


MISTAKES = {
    "channels": (classifier(0), "d_input must be at least 1, got 0"),
    "encoder": (classifier(nn.Linear(3, 6)), "number of input channels or an Encoder, got Linear"),
    "flag": (classifier(True), "encoder must be .* got bool"),
    "width": (
        classifier(LinearEncoder(3, 5)),
        "encoder must be as wide as the backbone, d_model=6, got d_model=5",
    ),
    "vocabulary": (lambda: OneHotEncoder(0, 6), "n_tokens must be at least 1, got 0"),
    "table": (lambda: EmbeddingEncoder(11, 0), "d_model must be at least 1, got 0"),
    "side": (lambda: ImageEncoder(6, side=5), "side must be at least 6, got 5"),
    "append": (lambda: ImageEncoder(6, append_dt=1), "append_dt must be True or False, got 1"),
    "id": (lambda: OneHotEncoder(11, 6)(torch.tensor([3, 11])), r"got 11 at index \(1,\)"),
    "one id": (lambda: EmbeddingEncoder(11, 6)(torch.tensor(-1)), r"got -1 at index \(\)"),
    "dt": (
        lambda: ImageEncoder(6, append_dt=True)(torch.rand(2, 7, 24, 24), torch.ones(2)),
        r"dt must have one of the shapes \(\), \(7,\), \(2, 7\), got \(2,\)",
    ),
    "precision": (
        lambda: ImageEncoder(6).check_samples(torch.rand(2, 24, 24).float()),
        r"u must be torch.float64 like the model's weights, got torch.float32",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named(mistake):
    attempt, message = MISTAKES[mistake]
    with pytest.raises((ValueError, TypeError), match=message):
        attempt()
