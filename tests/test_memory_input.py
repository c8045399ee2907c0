"""What a memory may be fed, what it refuses, and its copies."""

import copy
import pickle

import numpy as np
import pytest
import torch
import truths
from hippo_truths import noise

from eigenstate.layers.memory import HippoMemory

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


# --- kinds of numbers, copies ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "convert",
    [
        lambda x: x.astype(np.float32),
        lambda x: x.astype(">f8"),
        lambda x: x.round().astype(int),
        lambda x: x[..., ::-1],
        lambda x: x.tolist(),
        lambda x: np.asfortranarray(x),
        lambda x: np.broadcast_to(x[:1], x.shape),
        lambda x: x > 0,
    ],
)
@pytest.mark.parametrize("measure", MEASURES)
def test_arrays_of_every_kind(measure, convert):
    samples = convert(noise(2, 60))
    x = memory(measure).update(samples).coefficients
    expected = memory(measure).update(np.array(samples, dtype=np.float64, order="C")).coefficients
    assert isinstance(x, np.ndarray) and x.dtype == np.float64
    assert truths.error(x, expected) < 1e-15


@pytest.mark.parametrize(
    "dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16, torch.int32, torch.bool]
)
@pytest.mark.parametrize("measure", MEASURES)
def test_tensors_of_every_kind(measure, dtype):
    samples = torch.from_numpy(10 * noise(2, 60)).to(dtype)
    x = memory(measure).update(samples)
    expected = memory(measure).update(samples.double().numpy())
    for got, array in (
        (x.coefficients, expected.coefficients),
        (x.reconstruct(5), expected.reconstruct(5)),
        (
            x.projection(samples).coefficients,
            expected.projection(samples.double().numpy()).coefficients,
        ),
    ):
        assert isinstance(got, torch.Tensor) and got.dtype == torch.float64
        assert truths.error(got, array) < 1e-15


def test_float16_sums_that_overflow_are_not_an_error():
    samples = torch.full((70_000,), 100.0, dtype=torch.float16)
    assert HippoMemory("legs", 2).update(samples).coefficients[0] == pytest.approx(100)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_a_copy_goes_its_own_way(measure, duplicate):
    first, second = noise(2, 2, 30)
    original = memory(measure).update(first)
    before = original.coefficients.copy()
    other = duplicate(original)
    other.update(second)
    assert np.array_equal(original.coefficients, before) and original.count == 30
    original.update(second)
    assert np.array_equal(original.coefficients, other.coefficients)
    assert len(pickle.dumps(original)) < 2000  # the coefficients and the settings


def test_reset_makes_room_for_other_signals():
    x = memory("legs").update(noise(2, 30))
    x.reset()
    assert x.count == 0 and x.time == 0
    fresh = x.update(torch.ones(5)).coefficients
    assert truths.error(fresh, memory("legs").update(torch.ones(5)).coefficients) == 0


def test_no_gradient_is_recorded():
    samples = torch.ones(5, requires_grad=True)
    with pytest.raises(ValueError, match=r"must not require a gradient.*samples\.detach\(\)"):
        memory("legs").update(samples)
    with torch.no_grad():
        x = memory("legs").update(samples).coefficients
    assert not x.requires_grad
    with torch.inference_mode():
        inside = memory("legs", 5).update(torch.ones(5))
    assert inside.update(torch.ones(5)).count == 10


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            ("legss", 8),
            ValueError,
            r"measure must be one of \[.*\], got 'legss'; did you mean 'legs'\?",
        ),
        (("legs", 0), ValueError, "order must be at least 1, got 0"),
        (("legs", 2.0), TypeError, r"order must be an integer, got 2\.0"),
        (("fout", 7, 1.0), ValueError, "order must be even for 'fout'.*got 7"),
        (("legs", 8, 5.0), ValueError, r"window must be None for 'legs'.*got 5\.0"),
        (("legt", 8), ValueError, "window for 'legt' must be a positive number, got None"),
        (("lagt", 8, -1), ValueError, "window for 'lagt' must be a positive number, got -1"),
        (
            ("fout", 8, float("inf")),
            ValueError,
            "window for 'fout' must be a positive number, got inf",
        ),
        (("legs", 8, None, 0), ValueError, "dt must be a positive number, got 0"),
        (("legs", 8, None, "1"), ValueError, "dt must be a positive number, got '1'"),
    ],
)
def test_bad_settings(arguments, error, message):
    names = ("measure", "order", "window", "dt")
    settings = dict(zip(names, arguments, strict=False))
    with pytest.raises(error, match=message):
        HippoMemory(settings.pop("measure"), settings.pop("order"), **settings)


def spoiled(value, kind):
    samples = noise(2, 3, 20)
    samples[1, 2, 17] = value
    return kind(samples)


@pytest.mark.parametrize(
    ("samples", "error", "message"),
    [
        (
            spoiled(np.nan, np.asarray),
            ValueError,
            r"samples must be finite, got nan at index \(1, 2, 17",
        ),
        (
            spoiled(np.inf, torch.tensor),
            ValueError,
            r"must be finite, got inf at index \(1, 2, 17\)",
        ),
        (
            noise(2, 20),
            ValueError,
            r"shape \(2, 3, T\) as in the first update.* got \(2, 20\); reset",
        ),
        (noise(2, 3), ValueError, r"shape \(2, 3, T\) as in the first update.* got \(2, 3\)"),
        (1.0, ValueError, r"must have shape \(2, 3, T\) as in the first update.* got \(1,\)"),
        (noise(2, 3, 4) * 1j, TypeError, "samples must be real numbers, got complex128"),
        (torch.zeros(2, 3, 4) * 1j, TypeError, r"samples must be real numbers, got torch\.complex"),
        (["a"], TypeError, "samples must be real numbers, got <U1"),
    ],
)
@pytest.mark.parametrize("measure", MEASURES)
def test_bad_samples(measure, samples, error, message):
    """Nothing is taken in: neither a part of the samples nor their kind."""
    x = memory(measure)
    x.update(torch.ones(2, 3, 5) if isinstance(samples, torch.Tensor) else np.ones((2, 3, 5)))
    before, count = truths.array(x.coefficients).copy(), x.count
    with pytest.raises(error, match=message):
        x.update(samples)
    assert x.count == count and np.array_equal(truths.array(x.coefficients), before)


def test_arrays_and_tensors_do_not_mix():
    with pytest.raises(
        TypeError, match="must be NumPy arrays as in the first update, got a tensor"
    ):
        memory("legs").update(noise(5)).update(torch.ones(5))
    with pytest.raises(TypeError, match="must be tensors as in the first update, got NumPy"):
        memory("legs").update(torch.ones(5)).update(noise(5))
    with pytest.raises(ValueError, match="samples must be on cpu as in the first update, got meta"):
        memory("legs").update(torch.ones(5)).update(torch.ones(5, device="meta"))


@pytest.mark.parametrize(
    ("measure", "times", "message"),
    [
        ("legs", [0, 91], r"in the remembered past, from 0 to 90, got 91 at index 1"),
        ("legs", [-1e-3], r"in the remembered past, from 0 to 90, got -0\.001 at index 0"),
        ("legt", [52.6], r"in the remembered past, from 52\.7 to 90, got 52\.6 at index 0"),
        ("fout", [3, 60], r"in the remembered past, from 52\.7 to 90, got 3 at index 0"),
        ("lagt", [np.nan], r"in the remembered past, from 0 to 90, got nan at index 0"),
        ("legs", 5.0, r"times must be an array of shape \(P,\) or an integer, got shape \(\)"),
        (
            "legs",
            [[1.0]],
            r"times must be an array of shape \(P,\) or an integer, got shape \(1, 1\)",
        ),
        ("legs", 0, "points must be at least 1, got 0"),
    ],
)
def test_bad_times(measure, times, message):
    with pytest.raises(ValueError, match=message):
        memory(measure).update(noise(90)).reconstruct(times)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("look", [lambda x: x.coefficients, lambda x: x.reconstruct(3)])
def test_an_empty_memory_says_so(measure, look):
    for x in (memory(measure), memory(measure).update(np.ones((2, 0)))):
        with pytest.raises(ValueError, match=r"no sample yet; call update\(samples\) first"):
            look(x)
    with pytest.raises(ValueError, match="at least one sample to be projected, got none"):
        memory(measure).projection([])
