"""HiPPO matrices, their normal-plus-low-rank forms, and the functions behind the coefficients."""

import json
from pathlib import Path

import mpmath
import numpy as np
import pytest
import scipy.linalg
import torch
import truths
from hippo_truths import functions

from eigenstate.systems import bases, hippo, low_rank, windows

GOLDEN = Path(__file__).parent / "golden" / "hippo_matrices.npz"
MEASURES = ["legs", "legt", "lagt", "fout"]
SIZES = [2, 4, 8, 32, 64]
RANKS = {"legs": 1, "legt": 2, "lagt": 1, "fout": 1}


def quadrature(measure, nodes=200):
    """Nodes and weights that integrate a product of two of the functions over all ages."""
    x, weights = np.polynomial.legendre.leggauss(nodes)
    reach = 400 if measure == "lagt" else 1
    return reach * (x + 1) / 2, reach * weights / 2


# --- matrices -------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [4, 8])
@pytest.mark.parametrize("measure", MEASURES)
def test_published_matrices(measure, size):
    with np.load(GOLDEN) as golden:
        assert json.loads(str(golden["config"]))["kind"] == "hippo"
        A, B = hippo.matrices(measure, size)
        assert A.dtype == B.dtype == np.float64
        assert np.abs(A - golden[f"{measure}_{size}_A"]).max() < 1e-14
        assert np.abs(B - golden[f"{measure}_{size}_B"][:, 0]).max() < 1e-14
        if measure != "lagt":
            published = golden[f"{measure}_{size}_P"]
            assert np.abs(low_rank.correction(measure, size) - published).max() < 1e-14


@pytest.mark.parametrize("size", [2, 8, 16])
@pytest.mark.parametrize("measure", MEASURES)
def test_matrices_follow_from_the_functions(measure, size):
    """x = ∫ u(t - θ age) φ(age) makes θ x' = u(t) φ(0) - u(t - θ) φ(1) + ∫ u φ'.

    LagT sees no end. LegT takes u(t - θ) to be the reconstruction's own end; at the end of a
    Fourier series stands the mean of both ends, so that FouT's u(t - θ) is 2 Σ x φ(1) - u(t).
    """
    ages, weights = quadrature(measure)
    values = functions(measure, size, ages)
    slopes = truths.slope(lambda age: functions(measure, size, age), ages, np.ones_like(ages))
    inside = slopes.T @ (weights[:, None] * values)  # φ_n' in terms of φ_k
    now, end = functions(measure, size, [0.0, 1.0])
    A, B = hippo.matrices(measure, size)
    if measure == "legs":  # t' = 1 stretches the window: θ x' gains -x and the age's own movement
        moved = (slopes * (1 - ages)[:, None]).T @ (weights[:, None] * values)
        expected, gain = moved - np.eye(size), now
    elif measure == "legt":
        expected, gain = (inside - np.outer(end, end)) / 2, now / 2
    elif measure == "fout":
        expected, gain = (inside - 2 * np.outer(end, end)) / 2, now
    else:
        expected, gain = inside, now
    assert truths.error(A, expected) < 1e-8
    assert truths.error(B, gain) < 1e-12


@pytest.mark.parametrize("measure", MEASURES)
def test_order_one_and_odd_orders(measure):
    if measure == "fout":
        with pytest.raises(ValueError, match=r"order must be even for 'fout'.*got 7"):
            hippo.fout(7)
        return
    for size in (1, 3, 7):
        A, B = hippo.matrices(measure, size)
        larger = hippo.matrices(measure, 8)
        assert np.array_equal(A, larger[0][:size, :size])  # the orders are nested
        assert np.array_equal(B, larger[1][:size])


def test_unknown_measures_and_orders():
    with pytest.raises(ValueError, match=r"measure must be one of .* got 'LegT'; .*'legt'\?"):
        hippo.matrices("LegT", 4)
    for measure in MEASURES:
        with pytest.raises(ValueError, match="order must be at least 1, got 0"):
            hippo.matrices(measure, 0)


# --- normal plus low rank -------------------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("measure", MEASURES)
def test_the_normal_part_is_skew_plus_a_multiple_of_the_identity(measure, size):
    A, _ = hippo.matrices(measure, size)
    P = low_rank.correction(measure, size)
    assert P.shape == (RANKS[measure], size) == (np.linalg.matrix_rank(P), size)
    normal = A + P.T @ P
    assert np.abs(normal - low_rank.normal_part(measure, size)).max() < 1e-13
    skew = normal + (0.5 if measure == "legs" else 0) * np.eye(size)
    assert np.abs(skew + skew.T).max() < 1e-15 * size**2
    commutator = normal @ normal.T - normal.T @ normal
    assert np.abs(commutator).max() <= 1e-14 * np.abs(normal @ normal.T).max()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("measure", MEASURES)
def test_diagonal_plus_low_rank(measure, size):
    A, B = hippo.matrices(measure, size)
    form = low_rank.dplr(measure, size)
    V = form.V
    assert np.abs(V.conj().T @ V - np.eye(size)).max() < 1e-12
    assert np.linalg.cond(V) == pytest.approx(1, abs=1e-12)
    dense = V @ (np.diag(form.poles) - form.P.T @ form.P.conj()) @ V.conj().T
    assert truths.error(dense, A) < 1e-13
    assert truths.error(V @ form.B, B) < 1e-13
    assert np.abs(form.poles.real - (-0.5 if measure == "legs" else 0)).max() < 1e-13 * size
    assert (np.diff(form.poles.imag) >= 0).all()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("measure", MEASURES)
def test_half_of_the_spectrum_says_everything(measure, size):
    """c^T (z - normal)^-1 B is the sum over one of each conjugate pair and its mirror image."""
    form = low_rank.dplr(measure, size)
    for part in (form.poles, form.B, form.P[0], form.P[-1], form.V[0]):
        assert (
            np.array_equal(part[::-1][: size // 2], part[: size // 2].conj())
            or truths.error(part[::-1].conj(), part) < 1e-12
        )
    C = np.random.default_rng(0).normal(size=size)
    z = 0.3 + 0.7j
    normal, (_, B) = low_rank.normal_part(measure, size), hippo.matrices(measure, size)
    expected = C @ np.linalg.solve(z * np.eye(size) - normal, B)
    half = slice(size // 2)
    poles, weight = form.poles[half], (C @ form.V)[half] * form.B[half]
    got = np.sum(weight / (z - poles)) + np.sum(weight.conj() / (z - poles.conj()))
    assert abs(got - expected) < 1e-12 * abs(expected)


@pytest.mark.parametrize("size", [1, 3, 31])
@pytest.mark.parametrize("measure", ["legs", "legt", "lagt"])
def test_an_odd_order_has_one_real_mode(measure, size):
    form = low_rank.dplr(measure, size)
    assert form.poles[size // 2].imag == 0
    for part in (form.B, form.P, form.V):
        assert np.isreal(part[..., size // 2]).all()
    rebuilt = (form.V * form.poles) @ form.V.conj().T
    assert truths.error(rebuilt, low_rank.normal_part(measure, size)) < 1e-13


# --- eigenbases that exist, and those that do not -------------------------------------------------


@pytest.mark.parametrize(
    "A",
    [
        hippo.legs(8)[0],
        hippo.legt(8)[0],
        hippo.fout(64)[0],
        low_rank.normal_part("lagt", 64),
        np.diag([1.0, 2.0]),
    ],
)
def test_diagonalize(A):
    poles, V = low_rank.diagonalize(A)
    assert poles.dtype == V.dtype == np.complex128
    assert truths.error((V * poles) @ np.linalg.inv(V), A) < 1e-15 * np.linalg.cond(V) * len(A)


@pytest.mark.parametrize(
    ("A", "condition"),
    [
        (hippo.legs(16)[0], r"8\.\de\+10"),
        (hippo.legs(32)[0], r"1\.\de\+19"),
        (hippo.legt(32)[0], r"\de\+1\d"),
        (hippo.lagt(4)[0], r"inf|e\+"),
        (np.array([[0.0, 1.0], [0.0, 0.0]]), r"inf|e\+"),
    ],
)
def test_an_eigenbasis_that_does_not_exist_is_refused(A, condition):
    with pytest.raises(ValueError, match=f"condition number .*({condition}).* use dplr"):
        low_rank.diagonalize(A)


def test_the_condition_of_legs_at_order_8():
    _, V = low_rank.diagonalize(hippo.legs(8)[0])
    assert np.linalg.cond(V) == pytest.approx(8e4, rel=0.1)


@pytest.mark.parametrize(
    ("A", "message"),
    [
        (np.zeros((2, 3)), r"A must be a square matrix, got shape \(2, 3\)"),
        (np.full((2, 2), np.nan), "A must be finite"),
    ],
)
def test_not_a_matrix_to_diagonalise(A, message):
    with pytest.raises(ValueError, match=message):
        low_rank.diagonalize(A)


# --- functions ------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 3, 8, 64])
@pytest.mark.parametrize("measure", MEASURES)
def test_functions_and_their_integrals(measure, size):
    size += size % 2 if measure == "fout" else 0
    function, integral = bases.BASES[measure]
    ages, weights = quadrature(measure)
    values = function(size, torch.from_numpy(ages))
    assert truths.error(values, functions(measure, size, ages)) < 1e-12
    gram = truths.array(values).T @ (weights[:, None] * truths.array(values))
    if measure == "fout":
        gram[1, 1] += 1  # the idle place
    assert np.abs(gram - np.eye(size)).max() < 1e-10

    nodes, weights = np.polynomial.legendre.leggauss(120)
    for low, high in ((0, 0.01), (0, 1), (0.2, 0.7)):
        between = low + (high - low) * (nodes + 1) / 2
        expected = (high - low) / 2 * weights @ functions(measure, size, between)
        got = integral(size, torch.tensor([low, high], dtype=torch.float64))
        assert np.abs(truths.array(got[1] - got[0]) - expected).max() < 1e-13


def test_laguerre_functions_far_out():
    """Where exp(-age/2) alone would have underflowed, and where nothing is left."""
    ages = torch.tensor([1e-9, 1.0, 400.0, 1600.0, 1700.0, 3000.0, 1e6])
    values = bases.laguerre(420, ages)
    with mpmath.workdps(900):
        for row, age in zip(values.tolist(), map(mpmath.mpf, ages.tolist()), strict=True):
            for n in (0, 1, 100, 419):
                terms = (
                    mpmath.binomial(n, k) * (-age) ** k / mpmath.factorial(k) for k in range(n + 1)
                )
                expected = float(mpmath.exp(-age / 2) * mpmath.fsum(terms))
                assert row[n] == pytest.approx(expected, rel=1e-9, abs=1e-13)


@pytest.mark.parametrize("size", [2, 8, 64])
@pytest.mark.parametrize("measure", MEASURES[1:])
@pytest.mark.parametrize("window", [0.5, 7.3, 1e5])
def test_one_held_sample(measure, size, window):
    a, b = windows.step_matrices(measure, size, window)
    A, B = hippo.matrices(measure, size)
    step = (1 if measure == "lagt" else 2) / window
    expected_a, expected_b = truths.dense_zoh(A, B[:, None], step)
    assert np.abs(truths.array(a) - expected_a).max() < 1e-11
    assert np.abs(truths.array(b)[:, None] - expected_b).max() < 1e-11
    assert scipy.linalg.norm(truths.array(a), 2) < 1 + 1e-12  # a projection cannot grow
