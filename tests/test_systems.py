"""HiPPO matrices, initial values and discretisation against independent answers."""

import math

import numpy as np
import pytest
import scipy.signal
import torch
import truths
from cases import normal, seeded
from torch.autograd import gradcheck, gradgradcheck

import eigenstate as es
from eigenstate.systems import discretize, hippo, initialize
from eigenstate.systems.initialize import start

SIZES = [1, 2, 3, 8, 64]
RULES = {"zoh": (discretize.zoh, truths.zoh), "bilinear": (discretize.bilinear, truths.bilinear)}
POLES = [0, 1e-300, 1e-9j, 1e-6 - 1e-6j, -1e-3 + 1e-4j, 1.0005e-3, -0.5 + 3j, -0.5 - 500j, -40, 2j]
STEPS = [0.0, 1e-300, 1e-9, 1e-4, 1e-3, 0.1, 1.0, 3.0]


@pytest.mark.parametrize("size", SIZES)
def test_legs(size):
    A, B = hippo.legs(size)
    expected_A, expected_B = truths.legs(size)
    assert truths.error(A, expected_A) < 1e-15
    assert truths.error(B, expected_B) < 1e-15
    assert truths.error(hippo.legs_low_rank(size), truths.legs_low_rank(size)) < 1e-15


@pytest.mark.parametrize("size", SIZES)
def test_the_normal_part_is_minus_a_half_plus_a_skew_matrix(size):
    A, _ = truths.legs(size)
    p = truths.legs_low_rank(size)
    normal_part = hippo.legs_normal(size)
    assert truths.error(normal_part, A + np.outer(p, p)) < 1e-14
    skew = normal_part + np.eye(size) / 2
    assert np.abs(skew + skew.T).max() < 1e-13 * size


@pytest.mark.parametrize("size", SIZES)
def test_eigenbasis(size):
    poles, V = hippo.eigenbasis(size)
    A, _ = truths.legs(size)
    p = truths.legs_low_rank(size)
    rebuilt = (V * poles) @ V.conj().T
    assert truths.error(rebuilt, A + np.outer(p, p)) < 1e-13
    assert np.abs(V.conj().T @ V - np.eye(size)).max() < 1e-13
    assert np.allclose(poles.real, -0.5, rtol=0, atol=1e-12)
    assert (np.diff(poles.imag) > 0).all()
    assert np.allclose(poles.imag, -poles.imag[::-1], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("rule", RULES)
def test_discretisation_of_every_pole_and_step(rule):
    rule, truth = RULES[rule]
    poles, steps = np.array(POLES), np.array(STEPS)[:, None] * np.ones(len(POLES))
    a, gain = rule(torch.from_numpy(truths.planes(poles)), torch.from_numpy(steps))
    assert a.dtype == gain.dtype == torch.float64
    assert a.shape == gain.shape == (len(STEPS), 2, len(POLES))
    expected_a, expected_gain = truth(poles, steps)
    assert (abs(truths.merge(a) - expected_a) <= 1e-14 * abs(expected_a)).all()
    assert (abs(truths.merge(gain) - expected_gain) <= 1e-14 * abs(expected_gain)).all()


def test_the_truth_of_zoh_is_the_matrix_exponential():
    for pole in POLES:
        for step in STEPS:
            _, gain = truths.zoh(pole, np.float64(step))
            expected = step * truths.phi1(pole * step)
            assert abs(gain - expected) <= 1e-14 * abs(expected)
    system, inputs = np.diag(np.array([-0.5 + 3j, -2, 0])), np.ones((3, 1))
    a, gain = truths.zoh(system.diagonal(), 0.3)
    dense_a, dense_gain = truths.dense_zoh(system, inputs, 0.3)
    assert truths.error(np.diag(a), dense_a) < 1e-14
    assert truths.error(gain[:, None], dense_gain) < 1e-14


@pytest.mark.parametrize("rule", RULES)
def test_gradients_of_discretisation(rule):
    """Also at a pole and at a step of exactly 0, where a quotient would give NaN."""
    rule, truth = RULES[rule]
    poles = torch.tensor([[0.0, 0.0, -0.5, -1e-4], [0.0, 2.0, 3.0, 1e-4]], requires_grad=True)
    steps = torch.tensor([[0.5, 0.5, 0.5, 0.5], [0.0, 0.0, 0.0, 0.0]], requires_grad=True)
    assert gradcheck(rule, (poles, steps))
    assert gradgradcheck(rule, (poles, steps))
    direction = normal(2, 4)
    a, gain = rule(poles, steps)
    weights = normal(2, *a.shape)
    slopes = torch.autograd.grad((weights[0] * a + weights[1] * gain).sum(), poles)[0]

    def answer(values):
        pair = truth(values[0] + 1j * values[1], steps.detach().numpy())
        return sum((w.numpy() * truths.planes(v)).sum() for w, v in zip(weights, pair, strict=True))

    expected = truths.slope(answer, poles.detach().numpy(), direction.numpy())
    assert (slopes * direction).sum().item() == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("name", RULES)
def test_a_whole_layer_is_the_dense_system_discretised(name):
    """The layer's response against a dense real system of twice the modes, by SciPy."""
    layer = seeded(
        0, lambda: es.S5(3, 8, discretization=name, options=es.S5Options(timescale="scalar"))
    )
    poles = -layer.spectrum.poles[0].detach().exp() + 1j * layer.spectrum.poles[1].detach()
    step = layer.spectrum.log_timescale.exp().item()
    re, im = np.diag(poles.real), np.diag(poles.imag)
    A = np.block([[re, -im], [im, re]])
    B = layer.B.detach().flatten(0, 1).numpy()  # (2P, H)
    C = 2 * (layer.C.detach() * torch.tensor([[1.0], [-1.0]])).flatten(1).numpy()  # (H, 2P)
    D = np.diag(layer.D.detach())
    a, b = (truths.dense_zoh if name == "zoh" else truths.dense_bilinear)(A, B, step)
    expected = np.stack([C @ np.linalg.matrix_power(a, k) @ b for k in range(30)])
    expected[0] += D
    assert truths.error(layer.impulse_response(30), expected) < 1e-12
    # SciPy's own discretisation of the same system; its bilinear rule is split differently over
    # (input, output), so that only the multiplier can be compared.
    by_scipy = scipy.signal.cont2discrete((A, B, C, D), step, method=name)
    assert truths.error(a, by_scipy[0]) < 1e-13
    assert name == "bilinear" or truths.error(b, by_scipy[1]) < 1e-13


@pytest.mark.parametrize("conjugate", [True, False])
@pytest.mark.parametrize("blocks", [1, 2, 4])
def test_block_poles(blocks, conjugate):
    poles = truths.merge(start("hippo", 16, blocks, conjugate).poles)
    block, _ = hippo.eigenbasis(16 // blocks)
    kept = block[: len(block) // 2] if conjugate else block
    assert np.array_equal(poles, np.tile(kept, blocks))
    assert (poles.imag < 0).all() or not conjugate


def matrix(blocks, conjugate):
    """V of all blocks, dense: (N, P)."""
    size = 16 // blocks
    _, V = hippo.eigenbasis(size)
    return np.kron(np.eye(blocks), V[:, : size // 2] if conjugate else V)


@pytest.mark.parametrize("conjugate", [True, False])
@pytest.mark.parametrize("blocks", [1, 2])
def test_initial_b_is_a_real_draw_in_the_eigenbasis(blocks, conjugate):
    generator = torch.Generator().manual_seed(0)
    B = initialize.input_matrix(start("hippo", 16, blocks, conjugate), 400, generator)  # (2, P, H)
    B = B[0].numpy() + 1j * B[1].numpy()
    draw = matrix(blocks, conjugate) @ B  # back to the draw; of a half, half the real part
    draw = 2 * draw.real if conjugate else draw
    assert np.abs(np.imag(draw)).max() < 1e-14
    assert np.std(np.real(draw)) == pytest.approx(1 / 4, rel=0.03)  # variance 1 / d_state
    assert np.abs(draw).max() <= 2 / 4 / 0.87962566 + 1e-12  # cut at two deviations


@pytest.mark.parametrize(
    ("rule", "variance"),
    [("trunc_standard_normal", 1 / 16), ("lecun_normal", 1 / (16 * 300)), ("complex_normal", 0.5)],
)
@pytest.mark.parametrize("conjugate", [True, False])
def test_initial_c(rule, variance, conjugate):
    generator = torch.Generator().manual_seed(0)
    C = truths.merge(
        initialize.output_matrix(start("hippo", 16, 2, conjugate), 300, rule, generator)
    )  # (H, P)
    assert C.shape == (300, 8 if conjugate else 16)
    assert abs(np.mean(C)) < 0.1 * math.sqrt(variance)
    # V is unitary, so that the variance of each part survives the change of basis.
    assert np.var(C.real) == pytest.approx(variance, rel=0.1)
    assert np.var(C.imag) == pytest.approx(variance, rel=0.1)
    if rule != "complex_normal" and not conjugate:
        draw = C @ matrix(2, conjugate).conj().T
        assert np.abs(draw.real).max() <= 2 * math.sqrt(variance) / 0.87962566 + 1e-12


def test_initial_d_and_timescales():
    generator = torch.Generator().manual_seed(0)
    assert initialize.feedthrough(4000, generator).std() == pytest.approx(1, rel=0.05)
    values = initialize.log_timescales(4000, 1e-3, 0.1, generator)
    assert values.min() >= math.log(1e-3) and values.max() <= math.log(0.1)
    assert values.mean() == pytest.approx(math.log(1e-2), abs=0.05)  # uniform in the logarithm
    assert values.std() == pytest.approx(math.log(100) / math.sqrt(12), rel=0.05)


def test_draws_follow_the_generator_alone():
    for draw in (
        lambda g: initialize.input_matrix(start("hippo", 8, 2, True), 3, g),
        lambda g: initialize.output_matrix(start("hippo", 8, 2, True), 3, "lecun_normal", g),
        lambda g: initialize.feedthrough(3, g),
        lambda g: initialize.log_timescales(3, 0.1, 1.0, g),
    ):
        first, again = (draw(torch.Generator().manual_seed(5)) for _ in range(2))
        assert torch.equal(first, again)
        assert not torch.equal(first, draw(torch.Generator().manual_seed(6)))
