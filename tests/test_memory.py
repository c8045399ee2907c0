"""HiPPO as an online memory, against loops over samples, least squares and SciPy's functions."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import truths
from hippo_truths import functions, legs_stepwise, noise, relative, stepwise, waves
from hypothesis import given
from hypothesis import strategies as st

from eigenstate.layers.memory import HippoMemory
from eigenstate.systems import hippo
from eigenstate.systems.windows import BLOCK

# The four, with windows that end within a sample.
SETTINGS = {
    "legs": {},
    "legt": {"window": 37.3},
    "lagt": {"window": 9.1},
    "fout": {"window": 37.3},
}
MEASURES = list(SETTINGS)


def memory(measure, order=8, **changes):
    return HippoMemory(measure, order, **SETTINGS[measure] | changes)


# --- updates --------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [1, 2, 8, 32])
def test_legs_is_its_recurrence(order):
    samples = noise(300)
    x = HippoMemory("legs", order).update(samples).coefficients
    assert x.shape == (order,) and x.dtype == np.float64
    assert np.abs(x - legs_stepwise(samples, order)).max() < 1e-12


def test_legs_is_what_bilinear_stepping_approaches():
    """The published steps, (1 - A/2(k+1)) x_(k+1) = (1 + A/2k) x_k + B u/(k + 1/2), from k = 50 on.

    Their own error falls with the square of the interval, and the exact update is their limit.
    """
    order, early, late = 8, 50, waves(1, 400, 3)[0]
    A, B = hippo.legs(order)
    errors = []
    for finer in (1, 2, 4):
        samples = late.repeat(finer)
        start = early * finer
        x = HippoMemory("legs", order).update(samples[:start]).coefficients
        for k in range(start, len(samples)):
            right = x + A @ x / (2 * k) + B * samples[k] * (0.5 / k + 0.5 / (k + 1))
            x = np.linalg.solve(np.eye(order) - A / (2 * (k + 1)), right)
        exact = HippoMemory("legs", order).update(samples).coefficients
        errors.append(truths.error(x, exact))
    assert errors[0] < 0.02
    assert errors[1] / errors[0] == pytest.approx(1 / 4, rel=0.2)
    assert errors[2] / errors[1] == pytest.approx(1 / 4, rel=0.2)


@pytest.mark.parametrize("order", [2, 8, 32])
@pytest.mark.parametrize("window", [1.0, 13.7, 5000.0])
@pytest.mark.parametrize("measure", MEASURES[1:])
def test_sliding_windows_are_their_recurrence(measure, order, window):
    samples = noise(500)
    x = HippoMemory(measure, order, window=window).update(samples).coefficients
    expected = stepwise(measure, samples, order, window)
    assert np.abs(x - expected).max() < 1e-11


@pytest.mark.parametrize("measure", MEASURES)
@given(cuts=st.lists(st.integers(0, 2 * BLOCK + 100), max_size=6))
def test_a_signal_may_be_cut_anywhere(measure, cuts):
    samples = noise(2, 2 * BLOCK + 100)
    whole, parts = memory(measure).update(samples), memory(measure)
    for part in np.split(samples, sorted(cuts), axis=-1):
        parts.update(part)
    assert parts.count == whole.count == samples.shape[1]
    assert np.abs(parts.coefficients - whole.coefficients).max() < 1e-13


@pytest.mark.parametrize("measure", MEASURES)
def test_one_sample_at_a_time(measure):
    samples = noise(3, 700)
    single = memory(measure)
    for k in range(700):
        single.update(samples[:, k : k + 1])
    assert np.abs(single.coefficients - memory(measure).update(samples).coefficients).max() < 1e-12
    alone = memory(measure)
    for sample in samples[0]:
        alone.update(sample)
    assert np.abs(alone.coefficients - single.coefficients[0]).max() < 1e-14


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("shape", [(), (1,), (2, 3), (0,), (4, 0)])
def test_signals_do_not_meet(measure, shape):
    samples = noise(*shape, 50)
    x = memory(measure).update(samples)
    assert x.coefficients.shape == (*shape, 8)
    assert x.reconstruct(7).shape == (*shape, 7)
    for index in np.ndindex(*shape):
        alone = memory(measure).update(samples[index])
        assert np.abs(x.coefficients[index] - alone.coefficients).max() < 1e-14
        assert np.abs(x.reconstruct(7)[index] - alone.reconstruct(7)).max() < 1e-13


@pytest.mark.parametrize("measure", MEASURES)
def test_linear(measure):
    u, v = noise(2, 100)
    one, other, both = (memory(measure).update(x).coefficients for x in (u, v, 2 * u - 3 * v))
    assert np.abs(both - (2 * one - 3 * other)).max() < 1e-13


@pytest.mark.parametrize("measure", MEASURES)
def test_a_million_samples(measure):
    """A held constant stays itself, noise stays bounded, and blocks of any size agree."""
    settings = {} if measure == "legs" else {"window": 20_000.0}
    samples = np.stack([np.full(1_000_000, 3.0), noise(1_000_000)])
    x = HippoMemory(measure, 64, **settings).update(samples)
    assert np.isfinite(x.coefficients).all()
    pieces = HippoMemory(measure, 64, **settings)
    for part in np.split(samples, range(0, 1_000_000, 30_011), axis=-1):
        pieces.update(part)
    assert np.abs(pieces.coefficients - x.coefficients).max() < 1e-11
    # What left: LagT's functions reach 4 N windows back, into the time before the first sample.
    times = x.times(1000)[-200:]
    if measure != "lagt":
        assert np.abs(x.coefficients[0] - 3 * np.eye(64)[0]).max() < 1e-10
        assert np.abs(x.reconstruct(times)[0] - 3).max() < 1e-9
    assert np.linalg.norm(x.coefficients[1]) < 0.1


def test_single_samples_do_not_pile_up_rounding():
    """Late in a long past, where each moves the coefficients by a millionth."""
    samples = 1 + noise(105_000)
    whole = HippoMemory("legs", 64).update(samples).coefficients
    single = HippoMemory("legs", 64).update(samples[:100_000])
    for sample in samples[100_000:]:
        single.update(sample)
    assert np.abs(single.coefficients - whole).max() < 1e-12


# --- reconstruction and projection ----------------------------------------------------------------


@pytest.mark.parametrize("measure", MEASURES)
def test_reconstruction_is_the_sum_of_the_functions(measure):
    x = memory(measure, dt=0.25).update(noise(2, 400))
    start, end = x.remembered
    times = np.concatenate([[start, end], np.linspace(start, end, 41)])
    length = SETTINGS[measure].get("window", 100.0)
    expected = x.coefficients @ functions(measure, 8, (end - times) / length).T
    assert truths.error(x.reconstruct(times), expected) < 1e-13
    assert truths.error(x.reconstruct(times.tolist()), expected) < 1e-13
    assert truths.error(x.reconstruct(torch.from_numpy(times)), expected) < 1e-13
    assert truths.error(x.reconstruct(17), x.reconstruct(x.times(17))) == 0
    assert x.reconstruct(np.int64(17)).shape == (2, 17)
    assert x.reconstruct([]).shape == (2, 0)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("length", [1, 30, 200])
def test_projection_is_least_squares(measure, length):
    """Every sample on 20 Gauss nodes, then numpy's least squares on the functions' values."""
    order, samples = 6, noise(length)
    best = memory(measure, order).projection(samples)
    nodes, weights = np.polynomial.legendre.leggauss(20)
    within = (nodes + 1) / 2
    window = SETTINGS[measure].get("window", length)
    horizon = {"legs": length, "lagt": 300 * window}.get(measure, window)
    # Cells from the oldest that counts to now; the window's edge may cut one.
    edges = np.unique(np.concatenate([np.arange(int(np.ceil(horizon)) + 1), [horizon]]))
    edges = edges[edges <= horizon]
    widths = np.diff(edges)
    ages = (edges[:-1, None] + widths[:, None] * within).ravel()
    scale = np.sqrt((widths[:, None] * weights).ravel())
    held = np.zeros(len(widths))
    held[: min(length, len(widths))] = samples[::-1][: len(widths)]
    design = functions(measure, order, ages / window) * scale[:, None]
    expected = np.linalg.lstsq(design, held.repeat(20) * scale, rcond=1e-12)[0]
    assert np.abs(best.coefficients - expected).max() < 1e-10
    assert best.count == length and best.reconstruct(3).shape == (3,)


@pytest.mark.parametrize("measure", ["legs", "lagt"])
def test_where_updates_are_the_best_approximation(measure):
    samples = noise(2, 2 * BLOCK + 77)
    settings = {"window": 500.0} if measure == "lagt" else {}
    x = HippoMemory(measure, 64, **settings).update(samples)
    assert np.abs(x.coefficients - x.projection(samples).coefficients).max() < 1e-11


@pytest.mark.parametrize(
    ("measure", "errors"),
    [("legt", {8: 0.9, 16: 0.7, 32: 1e-4}), ("fout", {16: 0.4, 32: 0.15, 64: 0.1, 128: 0.065})],
)
def test_sliding_windows_approach_the_signal(measure, errors):
    """As the order grows. An edge leaves FouT an error of 1/sqrt N, as any Fourier series."""
    samples = waves(4, 20_000, 24)  # six cycles in the window
    past = samples[:, -5_000:]
    for order, bound in errors.items():
        x = HippoMemory(measure, order, window=5_000.0).update(samples)
        error = relative(x.reconstruct(5_000), past)
        least = relative(x.projection(samples).reconstruct(5_000), past)
        assert (error < bound).all()
        assert (error > 0.999 * least).all() or bound < 1e-3


def test_legs_leaves_what_least_squares_leaves():
    """On the same 64 polynomials, solved by numpy on the samples themselves."""
    samples = waves(3, 40_000, 26)
    x = HippoMemory("legs", 64).update(samples)
    design = functions("legs", 64, (np.arange(40_000)[::-1] + 0.5) / 40_000)
    fitted = np.linalg.lstsq(design, samples.T, rcond=None)[0]
    least = relative((design @ fitted).T, samples)
    assert ((least > 0.05) & (least < 0.5)).all()
    assert (relative(x.reconstruct(40_000), samples) < 1.001 * least).all()


def test_legs_does_not_know_the_speed_of_time():
    samples = noise(300)
    slow = HippoMemory("legs", 16, dt=0.01).update(samples)
    fast = HippoMemory("legs", 16).update(samples)
    assert np.array_equal(slow.coefficients, fast.coefficients)
    assert slow.time == pytest.approx(3) and fast.time == 300
    assert truths.error(slow.reconstruct(20), fast.reconstruct(20)) < 1e-12


@pytest.mark.parametrize("measure", MEASURES[1:])
def test_windows_are_in_units_of_time(measure):
    samples = noise(300)
    one = HippoMemory(measure, 16, window=40.0).update(samples)
    other = HippoMemory(measure, 16, window=4.0, dt=0.1).update(samples)
    assert truths.error(other.coefficients, one.coefficients) < 1e-13
    assert truths.error(other.times(9) * 10, one.times(9)) < 1e-13


def test_what_is_remembered():
    assert memory("legs").update(noise(90)).remembered == (0, 90)
    assert memory("lagt").update(noise(90)).remembered == (0, 90)
    assert memory("legt").update(noise(90)).remembered == (90 - 37.3, 90)
    assert memory("fout").update(noise(20)).remembered == (0, 20)
    assert np.array_equal(HippoMemory("legs", 2, dt=2.0).update(noise(4)).times(4), [1, 3, 5, 7])


def test_the_example_runs(tmp_path):
    picture = tmp_path / "memories.png"
    script = Path(__file__).parents[1] / "examples" / "hippo_memory.py"
    run = [sys.executable, script, "--picture", picture]
    said = subprocess.run(run, capture_output=True, text=True, check=True).stdout.splitlines()
    assert [line.split()[0] for line in said[2:6]] == ["legs", "legt", "fout", "lagt"]
    assert picture.read_bytes()[:4] == b"\x89PNG"
