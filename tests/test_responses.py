"""The operators behind S4D and S4: powers, responses, states left behind, convolution by FFT.

Each against a plain loop over time.
"""

import numpy as np
import pytest
import torch
import truths
from cases import normal
from torch.autograd import gradcheck

from eigenstate.ops import response
from eigenstate.ops.cauchy import cauchy_response
from eigenstate.ops.convolution import align_right, causal_convolution, fast_length
from eigenstate.ops.dense import (
    dense_free_response,
    dense_past,
    dense_power,
    dense_response,
    krylov,
)
from eigenstate.ops.dplr import dplr_dense, dplr_step

H, P, N = 2, 3, 4
# Around the sizes of pieces: √L and 256 samples.
LENGTHS = [1, 2, 3, 7, 16, 17, 64, 257, 521]


def modes(seed=1):
    """Multipliers within the unit circle: planes (H, 2, P)."""
    size = torch.linspace(0.2, 1.0, H * P).reshape(H, P)
    angle = normal(H, P, seed=seed)
    return torch.stack((size * angle.cos(), size * angle.sin()), -2)


def dense():
    """A of spectral norm 0.95, b and c: (H, N, N), (H, N), (H, N)."""
    A = normal(H, N, N, seed=2)
    return (
        0.95 * A / torch.linalg.matrix_norm(A, 2)[:, None, None],
        normal(H, N),
        normal(H, N, seed=3),
    )


# --- diagonal modes -------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 3, 8, 9])
def test_powers(count):
    a = modes()
    table, square = response.powers(a, count)
    exponents = np.arange(count)[:, None]
    assert truths.error(truths.merge(table), truths.merge(a)[:, None] ** exponents) < 1e-14
    n = 2 ** int(np.ceil(np.log2(count)))
    assert truths.error(truths.merge(square), truths.merge(a) ** n) < 1e-14


@pytest.mark.parametrize("exponent", [0, 1, 2, 5, 64, 100])
def test_power(exponent):
    a = modes()
    expected = truths.merge(a) ** exponent
    assert truths.error(truths.merge(response.power(a, exponent, 100)), expected) < 1e-13


def test_power_per_row():
    a, n = modes(), torch.tensor([0, 1, 37, 100])
    got = truths.merge(response.power(a, n.reshape(-1, 1, 1, 1), 100))
    assert truths.error(got, truths.merge(a) ** n.numpy()[:, None, None]) < 1e-13


@pytest.mark.parametrize("length", [0, *LENGTHS])
def test_power_sums(length):
    a, weight = modes(), normal(3, H, 2, P)
    terms = truths.merge(weight)[..., None] * truths.merge(a)[..., None] ** np.arange(length)
    assert truths.error(response.power_sums(weight, a, length), terms.real.sum(-2)) < 1e-13


@pytest.mark.parametrize("length", [0, *LENGTHS])
def test_weighted_past(length):
    a, u = modes(), normal(3, length, H)
    x = np.zeros((3, H, P), complex)
    for k in range(length):
        x = truths.merge(a) * x + u[:, k, :, None].numpy()
    assert truths.error(truths.merge(response.weighted_past(u, a)), x) < 1e-13


def test_a_state_keeps_wide_precision_whatever_the_input():
    """float32 input over a million samples: pieces in float32, what is added up in float64."""
    a = torch.tensor([[[0.999999], [0.0]]])
    u = torch.full((1, 1_000_000, 1), 0.1, dtype=torch.float32)
    got = response.weighted_past(u, a)
    assert got.dtype == torch.float64
    expected = float(u[0, 0, 0]) * (1 - 0.999999**1_000_000) / (1 - 0.999999)
    assert abs(got[0, 0, 0, 0].item() / expected - 1) < 1e-6


# --- dense systems --------------------------------------------------------------------------------


def loop(A, b, u, x):
    """x_k = A x_(k-1) + b u_k for every feature: (B, L, H, N) from x (B, H, N)."""
    states = []
    for k in range(u.shape[1]):
        x = np.einsum("hij,bhj->bhi", A, x) + b * u[:, k, :, None]
        states.append(x)
    return np.stack(states, 1)


@pytest.mark.parametrize("length", LENGTHS)
def test_dense_systems(length):
    A, b, c = dense()
    u, start = normal(3, length, H), normal(3, H, N, seed=5)
    arrays = [truths.array(x) for x in (A, b, u)]
    impulse = np.zeros((1, length, H))
    impulse[:, 0] = 1
    kernel = (loop(*arrays[:2], impulse, np.zeros((1, H, N))) * c.numpy()).sum(-1)[0].T
    assert truths.error(dense_response(A, b, c, length), kernel) < 1e-13
    left = loop(*arrays, np.zeros((3, H, N)))[:, -1]
    assert truths.error(dense_past(u, A, b), left) < 1e-13
    silent = loop(arrays[0], arrays[1], 0 * arrays[2], start.numpy())
    free = (silent * c.numpy()).sum(-1).swapaxes(1, 2)
    assert truths.error(dense_free_response(A, c, start, length), free) < 1e-12
    assert truths.error(dense_power(A, start, length, length), silent[:, -1]) < 1e-12


def test_dense_systems_of_no_length():
    A, b, c = dense()
    start = normal(3, H, N)
    assert dense_response(A, b, c, 0).shape == (H, 0)
    assert dense_free_response(A, c, start, 0).shape == (3, H, 0)
    assert torch.equal(dense_past(normal(3, 0, H), A, b), torch.zeros(3, H, N))
    assert torch.equal(dense_power(A, start, 0, 0), start)


def test_dense_power_per_row():
    A, _, _ = dense()
    start, n = normal(3, H, N), torch.tensor([0, 5, 9])
    got = dense_power(A, start, n, 9)
    for row, exponent in enumerate(n.tolist()):
        expected = torch.linalg.matrix_power(A, exponent) @ start[row].unsqueeze(-1)
        assert truths.error(got[row], expected.squeeze(-1)) < 1e-13


@pytest.mark.parametrize("count", [1, 3, 8])
def test_krylov(count):
    A, _, _ = dense()
    x = normal(H, N, 2)
    table, square = krylov(A, x, count)
    for k in range(count):
        assert truths.error(table[:, :, k], torch.linalg.matrix_power(A, k) @ x) < 1e-13
    n = 2 ** int(np.ceil(np.log2(count)))
    assert truths.error(square, torch.linalg.matrix_power(A, n)) < 1e-13


# --- diagonal plus low rank -----------------------------------------------------------------------


def low_rank_system(rank):
    """step (H,), rates (2, H, P), low rank (2, R, H, P), b (2, H, P)."""
    rates = torch.stack((-0.5 - normal(H, P).abs(), 3 * normal(H, P, seed=2)))
    low_rank = normal(2, rank, H, P, seed=3)
    return torch.tensor([0.05, 0.3]), rates, low_rank, normal(2, H, P, seed=4)


@pytest.mark.parametrize("rank", [1, 2])
@pytest.mark.parametrize("length", [0, *LENGTHS])
def test_the_cauchy_kernel_is_the_response(rank, length):
    system = low_rank_system(rank)
    A, b = dplr_dense(*system)
    c = normal(2, H, P, seed=5)
    row = 2 * torch.cat((c[0], -c[1]), -1)
    rest = row - dense_power(A.transpose(1, 2), row[None], length, length)[0]
    half = torch.stack((rest[:, :P] / 2, -rest[:, P:] / 2))
    expected = dense_response(A, b, row, length)
    assert truths.error(cauchy_response(*system, half, length), expected) < 1e-11


@pytest.mark.parametrize("rank", [1, 2])
def test_a_woodbury_step_is_the_dense_step(rank):
    step, rates, low_rank, b = low_rank_system(rank)
    A, gain = dplr_dense(step, rates, low_rank, b)
    x, u = normal(3, 2, H, P, seed=6), normal(3, H, seed=7)
    vector = x.transpose(1, 2).flatten(2)  # (B, H, N)
    expected = torch.einsum("hij,bhj->bhi", A, vector) + gain * u.unsqueeze(-1)
    got = dplr_step(x, b * u[:, None, :, None], step, rates, low_rank)
    assert truths.error(got.transpose(1, 2).flatten(2), expected) < 1e-13


# --- convolution ----------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [0, 1, 2, 3, 15, 97, 128, 1021])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_causal_convolution(length, dtype):
    u, kernel = normal(2, length, H, dtype=dtype), normal(H, length, seed=2)
    y = causal_convolution(u, kernel)
    assert y.shape == u.shape and y.dtype == dtype
    for row in range(2 if length else 0):
        for h in range(H):
            full = np.convolve(truths.array(u[row, :, h]), kernel[h].numpy())
            tolerance = 1e-6 if dtype == torch.float32 else 1e-13
            assert truths.error(y[row, :, h], full[:length]) < tolerance


def test_an_empty_convolution_is_still_a_graph():
    kernel = normal(H, 0).requires_grad_()
    causal_convolution(normal(2, 0, H).requires_grad_(), kernel).sum().backward()
    assert kernel.grad is not None and kernel.grad.shape == (H, 0)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
def test_what_is_not_finite_stays_in_its_feature_and_future(bad):
    clean, kernel = normal(2, 9, H), normal(H, 9, seed=2).requires_grad_()
    u = clean.clone()
    u[0, 4, 1] = bad
    u.requires_grad_()
    y = causal_convolution(u, kernel)
    spoilt = torch.zeros(2, 9, H, dtype=torch.bool)
    spoilt[0, 4:, 1] = True
    assert torch.equal(y.isnan(), spoilt)
    assert truths.error(y[~spoilt], causal_convolution(clean, kernel)[~spoilt]) < 1e-13
    got = torch.autograd.grad(y[:, :4].sum(), (u, kernel))
    leaf = clean.clone().requires_grad_()
    expected = torch.autograd.grad(causal_convolution(leaf, kernel)[:, :4].sum(), (leaf, kernel))
    for slope, truth in zip(got, expected, strict=True):
        assert truths.error(slope, truth) < 1e-13


def test_align_right():
    u = normal(3, 5, H)
    moved = align_right(u, torch.tensor([5, 1, 3]))
    assert torch.equal(moved[0], u[0])
    assert torch.equal(moved[1], torch.cat((torch.zeros(4, H), u[1, :1])))
    assert torch.equal(moved[2], torch.cat((torch.zeros(2, H), u[2, :3])))


def test_fast_length():
    smooth = {2**i * 3**j * 5**k for i in range(1, 13) for j in range(8) for k in range(6)}
    for size in range(1, 3000):
        assert fast_length(size) == min(n for n in smooth if n >= size)


# --- gradients ------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [1, 5])
def test_gradients(length):
    a, weight = modes(), normal(2, H, 2, P)
    A, b, c = dense()
    u, x, kernel = normal(2, length, H), normal(2, H, N), normal(H, length)
    step, rates, low_rank, gain = low_rank_system(2)
    tried = [
        (lambda w, a: response.power_sums(w, a, length), (weight, a)),
        (response.weighted_past, (u, a)),
        (lambda a: response.power(a, length, length), (a,)),
        (lambda A, b, c: dense_response(A, b, c, length), (A, b, c)),
        (lambda A, c, x: dense_free_response(A, c, x, length), (A, c, x)),
        (dense_past, (u, A, b)),
        (lambda A, x: dense_power(A, x, length, length), (A, x)),
        (causal_convolution, (u, kernel)),
        (lambda *s: cauchy_response(*s, length), (step, rates, low_rank, gain, normal(2, H, P))),
        (dplr_step, (normal(2, 2, H, P), normal(2, 2, H, P), step, rates, low_rank)),
    ]
    for function, leaves in tried:
        assert gradcheck(function, [leaf.clone().requires_grad_() for leaf in leaves])
