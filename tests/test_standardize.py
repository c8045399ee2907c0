"""Batch statistics over ragged batches: against NumPy, gradients, precision; rows moved about."""

import numpy as np
import pytest
import torch

from eigenstate.layers import S5
from eigenstate.layers.s5 import S5Options
from eigenstate.ops import standardize as module
from eigenstate.ops.ragged import to_end, to_start
from eigenstate.ops.standardize import composed, standardize

CASES = [
    ((1, 1, 1), None),
    ((2, 5, 3), None),
    ((3, 7, 2), [2, 7, 1]),
    ((1, 1, 2), [1]),
    ((2, 13, 4), [13, 13]),
]


def leaves(shape):
    torch.manual_seed(0)
    x = (3 * torch.randn(shape, dtype=torch.float64) + 1).requires_grad_()
    weight, bias = torch.randn(2, shape[-1], dtype=torch.float64)
    return x, weight.requires_grad_(), bias.requires_grad_()


@pytest.fixture(params=[1 << 17, 8], ids=["one piece", "many pieces"])
def pieces(request, monkeypatch):
    monkeypatch.setattr(module, "_PIECE", request.param)


@pytest.mark.parametrize(("shape", "lengths"), CASES)
def test_values_and_both_derivatives(pieces, shape, lengths) -> None:
    x, weight, bias = leaves(shape)
    ends = None if lengths is None else torch.tensor(lengths)
    y, mean, variance = standardize(x, weight, bias, ends, 0.01)
    rows = [row[:n] for row, n in zip(x.detach().numpy(), lengths or [None] * len(x), strict=True)]
    valid = np.concatenate(rows)
    np.testing.assert_allclose(mean, valid.mean(0), rtol=0, atol=1e-14)
    np.testing.assert_allclose(variance, valid.var(0), rtol=0, atol=1e-13)
    scale = weight.detach().numpy() / np.sqrt(valid.var(0) + 0.01)
    for row, out in zip(rows, y.detach().numpy(), strict=True):
        expected = (row - valid.mean(0)) * scale + bias.detach().numpy()
        np.testing.assert_allclose(out[: len(row)], expected, rtol=0, atol=1e-13)
        assert (out[len(row) :] == 0).all()

    def values(x, weight, bias):
        return standardize(x, weight, bias, ends, 0.01)[0]

    assert torch.autograd.gradcheck(values, (x, weight, bias))
    assert torch.autograd.gradgradcheck(values, (x, weight, bias))
    plain = composed(x, weight, bias, ends, 0.01)
    for ours, theirs in zip((y, mean, variance), plain, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-13)


@pytest.mark.parametrize("learnt", [(0,), (1,), (2,), (0, 2)])
def test_what_is_frozen_takes_no_part_in_second_derivatives(learnt) -> None:
    inputs = [t.detach() for t in leaves((2, 4, 3))]
    for index in learnt:
        inputs[index].requires_grad_()
    ends, wanted = torch.tensor([4, 2]), [inputs[index] for index in learnt]
    for function in (standardize, composed):
        y = function(*inputs, ends, 0.01)[0]
        first = torch.autograd.grad(y.square().sum(), wanted, create_graph=True)
        second = torch.autograd.grad(sum(g.square().sum() for g in first), wanted)
        if function is standardize:
            expected = (first, second)
    for ours, theirs in zip((*first, *second), (*expected[0], *expected[1]), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_pads_may_hold_anything() -> None:
    x, weight, bias = leaves((2, 4, 3))
    ends = torch.tensor([4, 2])
    clean = standardize(x, weight, bias, ends, 0.01)
    with torch.no_grad():
        x[1, 2:] = torch.tensor([torch.nan, torch.inf, -torch.inf])
    for ours, theirs in zip(standardize(x, weight, bias, ends, 0.01), clean, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=0)
    standardize(x, weight, bias, ends, 0.01)[0].sum().backward()
    assert x.grad is not None and x.grad.isfinite().all() and (x.grad[1, 2:] == 0).all()


def test_float32_stays_exact_over_many_samples() -> None:
    torch.manual_seed(0)
    x = torch.randn(4, 64_000, 2) + 10
    y, _, _ = standardize(x, torch.ones(2), torch.zeros(2), None, 1e-5)
    wide = x.double().flatten(0, 1)
    expected = (wide - wide.mean(0)) / (wide.var(0, correction=0) + 1e-5).sqrt()
    assert (y.flatten(0, 1) - expected).abs().max() < 5e-6


def test_forward_mode_and_vmap_take_the_plain_way() -> None:
    x, weight, bias = (t.detach() for t in leaves((2, 4, 3)))

    def values(x):
        return standardize(x, weight, bias, None, 0.01)[0]

    jacobian = torch.autograd.functional.jacobian(values, x)
    torch.testing.assert_close(torch.func.jacfwd(values)(x), jacobian)
    torch.testing.assert_close(torch.func.jacrev(values)(x), jacobian)
    both = torch.stack((x, 2 * x))
    torch.testing.assert_close(torch.func.vmap(values)(both), torch.stack([*map(values, both)]))


@pytest.mark.parametrize("lengths", [[5, 5], [1, 5], [2, 3]])
def test_rows_go_to_the_end_and_come_back(lengths) -> None:
    u = torch.arange(20.0).view(2, 5, 2)
    moved = to_end(u, lengths)
    for row, before, n in zip(moved, u, lengths, strict=True):
        assert row[5 - n :].equal(before[:n])
    assert to_start(moved, lengths).equal(u)
    inputs = u.double().requires_grad_()
    assert torch.autograd.gradcheck(lambda u: to_end(u, lengths), inputs)
    assert torch.autograd.gradgradcheck(lambda u: to_end(u, lengths).square(), inputs)


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("stability", ["exp", "clip", "free"])
def test_moving_rows_and_masking_them_agree(bidirectional, stability) -> None:
    torch.manual_seed(0)
    options = S5Options(stability=stability)
    layer = S5(3, 8, bidirectional=bidirectional, options=options).double()
    u = torch.randn(3, 40, 3, dtype=torch.float64)
    lengths = torch.tensor([40, 1, 17])
    y, state = layer(u, lengths=lengths)
    nothing = torch.zeros(3, 40, dtype=torch.bool)  # a reset mask asks for the masked scan
    expected, final = layer(u, lengths=lengths, resets=nothing)
    torch.testing.assert_close(y, expected, rtol=0, atol=1e-13)
    torch.testing.assert_close(state, final, rtol=0, atol=1e-13)
