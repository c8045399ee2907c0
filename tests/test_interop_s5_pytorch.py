"""The drop-in for s5-pytorch beside the package itself: signatures, numbers, weights, a script."""

import copy
import inspect
import pickle

import pytest
import s5 as theirs
import torch
import truths

import eigenstate as es
from eigenstate.interop import s5_pytorch as ours
from eigenstate.interop import weights

SINGLE = 2e-6
SHAPES = [(6, 8, 1), (3, 4, 2), (1, 2, 1), (5, 5, 1)]  # width, state, blocks


@pytest.fixture(autouse=True)
def single_precision():
    """That package knows no other."""
    torch.set_default_dtype(torch.float32)


def pair(width=6, state=8, blocks=1, *, bidir=False, **settings):
    """Their layer and ours with its weights."""
    arguments = {"block_count": blocks, "bidir": bidir, "dt_min": 0.01, "dt_max": 0.5} | settings
    peer, layer = theirs.S5(width, state, **arguments), ours.S5(width, state, **arguments)
    layer.load_state_dict(peer.state_dict())
    return peer, layer


def block_pair(dim=6, state_dim=8, bidir=False, **settings):
    peer = theirs.S5Block(dim, state_dim, bidir, **settings)
    block = ours.S5Block(dim, state_dim, bidir, **settings)
    block.load_state_dict(peer.state_dict())
    return peer, block


# --- signatures -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["S5", "S5Block"])
@pytest.mark.parametrize("method", ["__init__", "forward"])
def test_signatures_are_theirs(name, method):
    """By name, order and default."""
    their, our = (inspect.signature(getattr(getattr(m, name), method)) for m in (theirs, ours))
    assert list(our.parameters) == list(their.parameters)
    for parameter, other in zip(our.parameters.values(), their.parameters.values(), strict=True):
        assert parameter.kind == other.kind and parameter.default == other.default


@pytest.mark.parametrize("method", ["forward", "forward_rnn", "initial_state"])
def test_the_inner_layer_has_their_arguments(method):
    their, our = (inspect.signature(getattr(m.S5SSM, method)) for m in (theirs, ours))
    assert list(our.parameters) == list(their.parameters)


# --- numbers --------------------------------------------------------------------------------------


@pytest.mark.parametrize("bidir", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("length", [1, 2, 3, 19])
def test_values(shape, length, bidir):
    peer, layer = pair(*shape, bidir=bidir)
    u = torch.randn(3, length, shape[0])
    assert truths.error(layer(u), peer(u).detach()) < SINGLE
    assert truths.error(layer(u, 2.5), peer(u, 2.5).detach()) < SINGLE


@pytest.mark.parametrize("bidir", [False, True])
@pytest.mark.parametrize("shape", [(3,), (3, 11)], ids=["rows", "samples"])
def test_step_scales(shape, bidir):
    """In both directions the same, unlike the `dt` of a layer of ours."""
    peer, layer = pair(bidir=bidir)
    u, step_scale = torch.randn(3, 11, 6), torch.rand(shape) * 2
    assert truths.error(layer(u, step_scale), peer(u, step_scale).detach()) < SINGLE


@pytest.mark.parametrize("bidir", [False, True])
def test_gradients(bidir):
    peer, layer = pair(bidir=bidir)
    u, v, w = torch.randn(2, 13, 6), torch.randn(2, 13, 6), torch.randn(2, 13, 6)
    u, v = u.requires_grad_(), u.detach().clone().requires_grad_()
    (layer(u) * w).sum().backward()
    (peer(v) * w).sum().backward()
    assert truths.error(u.grad, v.grad) < SINGLE
    with torch.no_grad():
        for parameter in (*layer.parameters(), *peer.parameters()):
            parameter.copy_(parameter.grad)
    exported = weights.export_s5_pytorch(layer)
    for name, gradient in peer.state_dict().items():
        assert error(exported[name], gradient) < 10 * SINGLE, name


def error(got, expected):
    """Of complex tensors too."""
    return truths.error(*(torch.view_as_real(x) if x.is_complex() else x for x in (got, expected)))


def test_state_in_and_out():
    peer, layer = pair()
    u = torch.randn(2, 20, 6)
    y, state = layer(u[:, :8], return_state=True)
    their_y, their_state = peer(u[:, :8], return_state=True)
    assert truths.error(y, their_y.detach()) < SINGLE
    assert error(state, their_state.detach()) < SINGLE
    rest, last = layer(u[:, 8:], state=state, return_state=True)
    their_rest, their_last = peer(u[:, 8:], state=their_state, return_state=True)
    assert truths.error(rest, their_rest.detach()) < SINGLE
    assert error(last, their_last.detach()) < SINGLE
    assert truths.error(torch.cat((y, rest), 1), layer(u).detach()) < 2e-7
    assert truths.error(layer(u, state=state.real), layer(u, state=state.real + 0j)) == 0


def test_samples_one_by_one():
    peer, layer = pair()
    u = torch.randn(2, 7, 6)
    state, rows = layer.seq.initial_state(), layer.initial_state(2)
    their_state = torch.zeros(8, dtype=torch.complex64)
    assert state.shape == (8,) and rows.shape == (2, 8) and state.is_complex()
    for k in range(7):
        y, state = layer.seq.forward_rnn(u[0, k], state, step_scale=1.5)
        their_y, their_state = peer.seq.forward_rnn(u[0, k], their_state, step_scale=1.5)
        both, rows = layer.forward_rnn(u[:, k], rows, 1.5)
        assert truths.error(y, their_y.detach()) < SINGLE
        assert truths.error(both[0], y.detach()) < SINGLE
    assert error(state, their_state.detach()) < SINGLE
    whole, after = layer(u, 1.5, return_state=True)
    assert truths.error(both, whole[:, -1].detach()) < SINGLE
    assert error(rows, after.detach()) < 1e-12


def test_one_sequence_without_a_batch():
    peer, layer = pair()
    u, step_scale = torch.randn(9, 6), torch.rand(9)
    state = torch.randn(8, dtype=torch.complex64)
    y, after = layer.seq(u, step_scale, state, True)
    their_y, their_after = peer.seq(u, step_scale, state, True)
    assert truths.error(y, their_y.detach()) < SINGLE
    assert error(after, their_after.detach()) < SINGLE
    assert truths.error(layer.seq(u), peer.seq(u).detach()) < SINGLE


BLOCKS = [
    {},
    {"bidir": True},
    {"glu": False},
    {"ff_mult": 2.5},
    {"block_count": 2, "bcInit": "complex_normal"},
]


@pytest.mark.parametrize("settings", BLOCKS, ids=str)
def test_block_values_and_gradients(settings):
    peer, block = block_pair(**settings)
    u, w = torch.randn(2, 11, 6), torch.randn(2, 11, 6)
    v, u = u.clone().requires_grad_(), u.requires_grad_()
    y, expected = block(u), peer(v)
    assert truths.error(y, expected.detach()) < SINGLE
    (y * w).sum().backward()
    (expected * w).sum().backward()
    assert truths.error(u.grad, v.grad) < 10 * SINGLE


def test_block_state():
    peer, block = block_pair()
    u = torch.randn(2, 12, 6)
    y, state = block(u[:, :5], return_state=True)
    _, their_state = peer(u[:, :5], return_state=True)
    assert error(state, their_state.detach()) < SINGLE
    rest = block(u[:, 5:], state=state)
    assert truths.error(torch.cat((y, rest), 1), block(u).detach()) < SINGLE


def test_dropout_is_where_it_was():
    block = ours.S5Block(4, 4, False, ff_dropout=0.25, attn_dropout=0.5)
    assert block.attn_dropout.p == 0.5 and block.ff_dropout.p == 0.25
    u = torch.randn(2, 9, 4)
    assert not torch.equal(block(u), block(u))
    block.eval()
    assert torch.equal(block(u), block(u))


# --- weights --------------------------------------------------------------------------------------


@pytest.mark.parametrize("bidir", [False, True])
def test_weights_there_and_back(bidir):
    for peer, module in (pair(bidir=bidir), block_pair(bidir=bidir)):
        exported = weights.export_s5_pytorch(module)
        state = peer.state_dict()
        assert exported.keys() == state.keys()
        assert all(torch.equal(exported[name], value) for name, value in state.items())
        peer.load_state_dict(exported)
        weights.load_s5_pytorch(module, exported)
        assert not any(x.is_complex() for x in module.state_dict().values())


@pytest.mark.parametrize("conjugate", [False, True])
def test_a_layer_of_ours_takes_them_with_as_many_modes(conjugate):
    """Conjugate halves are read out twice, so their C is then half of it."""
    peer, _ = pair(bidir=True)
    options = es.S5Options(conjugate=conjugate, stability="exp")
    layer = es.S5(6, 16 if conjugate else 8, bidirectional=True, options=options)
    weights.load_s5_pytorch(layer, peer.state_dict())
    u = torch.randn(2, 9, 6)
    assert truths.error(layer(u)[0], peer(u).detach()) < SINGLE
    for name, value in weights.export_s5_pytorch(layer).items():
        assert error(value, peer.state_dict()[name]) < 2e-7


def test_our_own_state_dicts_load_too():
    _, block = block_pair()
    other = ours.S5Block(6, 8, False)
    other.load_state_dict(block.state_dict())
    u = torch.randn(2, 9, 6)
    for same in (other, copy.deepcopy(block), pickle.loads(pickle.dumps(block))):
        assert torch.equal(same(u), block(u))
    assert block.s5.seq.layer.B.shape == (2, 8, 6)
