"""What the papers prove about their systems, shown on the layers."""

import numpy as np
import pytest
import torch
import truths
from cases import normal, seeded

import eigenstate as es
from eigenstate.systems.hippo import eigenbasis, legs

H, N = 4, 8


# --- S5 and S4 ------------------------------------------------------------------------------------


def test_the_state_of_s5_is_the_sum_of_the_states_of_s4():
    """Smith et al. 2023 (S5), Proposition 2: tied poles and timescales, B = [B_1 … B_H].

    One system with H inputs holds what H systems with one input each hold together.
    """
    s5 = seeded(0, lambda: es.S5(H, N, options=es.S5Options(timescale="scalar")))
    s4d = seeded(1, lambda: es.S4D(H, N))
    with torch.no_grad():
        s4d.spectrum.poles.copy_(s5.spectrum.poles.unsqueeze(1).expand(2, H, N // 2))
        s4d.spectrum.log_timescale.fill_(s5.spectrum.log_timescale.item())
        s4d.B.copy_(s5.B.transpose(1, 2))  # (2, P, H) -> (2, H, P)
    u = normal(2, 50, H)
    state = normal(2, *s4d.state_shape, seed=3)
    separate = s4d.states(u, state)  # (B, L, 2, H, P)
    assert truths.error(separate.sum(-2), s5.states(u, state.sum(-2))) < 1e-12
    _, apart = s4d(u, state)  # by convolution
    _, final = s5(u, state.sum(-2))
    assert truths.error(apart.sum(-2), final) < 1e-12


@pytest.mark.parametrize("measure", ["legs", "legt"])
def test_the_same_with_hippo_itself(measure):
    """The matrix that S4 holds, diagonalised in numbers, is one that S5 can hold."""
    s4 = seeded(1, lambda: es.S4(H, 6, options=es.S4Options(measure=measure, stability="free")))
    with torch.no_grad():
        s4.spectrum.log_timescale.fill_(-2.0)
        s4.B.mul_(normal(H, 1))  # another B for each feature
    options = es.S5Options(conjugate=False, stability="free", timescale="scalar")
    s5 = seeded(0, lambda: es.S5(H, 6, discretization="bilinear", options=options))
    rates = truths.merge(s4.spectrum.poles[:, 0], axis=0)
    rates, P, B = (
        np.concatenate([x, x.conj()], -1)
        for x in (rates, truths.merge(s4.P[:, :, 0], axis=0), truths.merge(s4.B, axis=0))
    )
    poles, V = np.linalg.eig(np.diag(rates) - P.T @ P.conj())
    with torch.no_grad():
        s5.spectrum.poles.copy_(torch.from_numpy(truths.planes(poles)))
        s5.spectrum.log_timescale.fill_(-2.0)
        s5.B.copy_(torch.from_numpy(truths.planes(np.linalg.solve(V, B.T), axis=0)))
    u = normal(2, 50, H)
    together = truths.merge(s4.states(u), axis=-3).sum(-2)  # (B, L, P)
    assert truths.error(truths.merge(s5.states(u)) @ V.T[:, :3], together) < 1e-11


# --- HiPPO-N and HiPPO-LegS -----------------------------------------------------------------------

STEP, COUNT, READ = 0.05, 100, 4


def hippo_n(order, scale):
    """Responses (COUNT, READ) of the normal part: the first coefficients, one to a feature."""
    poles, V = eigenbasis(order)
    half = order // 2
    options = es.S4DOptions(stability="free")
    layer = es.S4D(READ, order, options=options)  # zoh
    b = scale * (V.conj().T @ legs(order)[1])[:half]
    values = {"poles": poles[:half], "B": b, "C": V[:READ, :half]}
    planes = {name: torch.from_numpy(truths.planes(x)) for name, x in values.items()}
    with torch.no_grad():
        layer.spectrum.poles.copy_(planes["poles"].unsqueeze(1).expand(2, READ, half))
        layer.spectrum.log_timescale.fill_(np.log(STEP))
        layer.B.copy_(planes["B"].unsqueeze(1).expand(2, READ, half))
        layer.C.copy_(planes["C"].transpose(0, 1))
        layer.D.zero_()
    return layer.impulse_response(COUNT).detach().numpy()


def hippo_legs():
    """The same of LegS: (COUNT, READ). Its first coefficients do not depend on the order."""
    A, B = truths.legs(READ)
    a, gain = truths.dense_zoh(A, B[:, None], STEP)
    x, responses = gain[:, 0], []
    for _ in range(COUNT):
        responses.append(x)
        x = a @ x
    return np.stack(responses)


def distance(got, expected):
    """Root of the mean square over time, relative, of each coefficient."""
    return np.sqrt(((got - expected) ** 2).mean(0) / (expected**2).mean(0))


def test_the_normal_part_with_half_of_b_approaches_legs():
    """Gu, Gupta et al. 2022 (S4D), Theorem 3, on which Smith et al. 2023 (S5), 4.2 rests.

    e^(tA_N) B/2 -> e^(tA) B as N grows, with A_N = A + p p^T and p p^T of rank 1. The limit is one
    of responses to an input held over a time, however short (here 0.05); the responses to an
    instant differ at every N by echoes that grow shorter but not smaller.
    """
    expected = hippo_legs()
    errors = np.array([distance(hippo_n(n, 0.5), expected) for n in (16, 32, 64, 128)])
    assert (errors[1:] < 0.6 * errors[:-1]).all()
    assert (errors[-1] < 0.12).all()
    held = expected.cumsum(0)
    errors = np.array([distance(hippo_n(n, 0.5).cumsum(0), held) for n in (16, 32, 64, 128)])
    assert (errors[1:] < 0.55 * errors[:-1]).all()
    assert (errors[-1] < 0.02).all()


def test_it_has_to_be_half():
    """With the whole of B the limit is twice LegS."""
    whole = hippo_n(128, 1.0).cumsum(0)
    assert (distance(whole, 2 * hippo_legs().cumsum(0)) < 0.02).all()
