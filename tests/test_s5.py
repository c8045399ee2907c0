"""What belongs to S5 alone: options, initial parameters, precision, memory."""

import gc
import math
import resource

import numpy as np
import pytest
import torch
import truths
from cases import BACKENDS, inputs, loss, normal, seeded

import eigenstate as es


def shapes(layer):
    return {name: tuple(value.shape) for name, value in layer.named_parameters()}


@pytest.mark.parametrize(
    ("settings", "options", "modes", "timescales"),
    [
        ({}, {}, 32, 32),
        ({"blocks": 4}, {"timescale": "scalar"}, 32, 1),
        ({"blocks": 64}, {"conjugate": False}, 64, 64),
        ({"bidirectional": True}, {"c_init": "complex_normal"}, 32, 32),
    ],
)
def test_parameters_and_their_shapes(settings, options, modes, timescales):
    layer = es.S5(5, **settings, options=es.S5Options(**options))
    expected = {
        "spectrum.poles": (2, modes),
        "spectrum.log_timescale": (timescales,),
        "B": (2, modes, 5),
        "C": (5, 2, modes),
        "D": (5,),
    }
    if settings.get("bidirectional"):
        expected["C_reverse"] = (5, 2, modes)
        assert not torch.equal(layer.C, layer.C_reverse)
    assert shapes(layer) == expected
    assert set(layer.state_dict()) == set(expected)
    assert (layer.d_model, layer.bidirectional) == (5, settings.get("bidirectional", False))
    assert "5" in repr(layer) and "64" in repr(layer)


def test_options_are_values():
    assert es.S5Options() == es.S5Options(True, "trunc_standard_normal", "exp", "per_mode")
    with pytest.raises(AttributeError):
        es.S5Options().conjugate = False


@pytest.mark.parametrize("stability", ["exp", "clip", "free"])
def test_initial_dynamics_are_hippo(stability):
    layer = es.S5(3, 16, blocks=2, options=es.S5Options(stability=stability))
    growth, frequency = layer.spectrum.poles.detach()
    growth = -growth.exp() if stability == "exp" else growth
    assert np.allclose(growth, -0.5, rtol=0, atol=1e-12)
    A, _ = truths.legs(8)
    p = truths.legs_low_rank(8)
    expected = np.linalg.eigvals(A + np.outer(p, p))
    expected = np.sort(expected[expected.imag < 0].imag)
    assert truths.error(frequency, np.tile(expected, 2)) < 1e-12


def test_initial_timescales_fill_their_range():
    layer = es.S5(2, 4000, blocks=1000, dt_min=0.01, dt_max=0.5)
    values = layer.spectrum.log_timescale.exp()
    assert values.min() >= 0.01 - 1e-12 and values.max() <= 0.5 + 1e-12
    assert values.log().mean().item() == pytest.approx(math.log(math.sqrt(0.005)), abs=0.1)
    assert values.unique().numel() > 1990
    one = es.S5(2, 8, dt_min=0.1, dt_max=0.1).spectrum.log_timescale.exp()
    assert truths.error(one, np.full(4, 0.1)) < 1e-15


def test_the_seed_decides():
    first, again, other = (seeded(seed, lambda: es.S5(4, 8)).state_dict() for seed in (0, 0, 1))
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not torch.equal(first["B"], other["B"])


@pytest.mark.parametrize("discretization", ["zoh", "bilinear"])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_half_of_a_real_spectrum_is_the_whole(discretization, bidirectional):
    """2 Re over one of each conjugate pair = Re over both."""
    common = {"discretization": discretization, "bidirectional": bidirectional, "dt_max": 0.5}
    half = es.S5(3, 8, **common)
    full = es.S5(3, 8, **common, options=es.S5Options(conjugate=False))
    mirror = torch.tensor([[1.0], [-1.0]])
    with torch.no_grad():
        for name, value in half.named_parameters():
            target = full.get_parameter(name)
            if name == "B":
                target.copy_(torch.cat([value, value * mirror[..., None]], -2))
            elif name == "spectrum.log_timescale":
                target.copy_(value.repeat(2))
            elif name == "D":
                target.copy_(value)
            else:
                target.copy_(torch.cat([value, value * mirror], -1))
    u, dt = inputs(half, 2, 20), 2 * torch.rand(2, 20)
    assert truths.error(half(u, dt=dt)[0], full(u, dt=dt)[0]) < 1e-12


def test_clipping_keeps_the_published_limit():
    layer = es.S5(2, 4, options=es.S5Options(stability="clip", timescale="scalar"))
    with torch.no_grad():
        layer.spectrum.poles[0] = torch.tensor([3.0, -0.2])
        layer.spectrum.log_timescale.zero_()
    one = torch.ones(1, 2, 2, dtype=torch.float64)
    decay = layer.states(torch.zeros(1, 1, 2), one)[0, 0].norm(dim=0) / math.sqrt(2)
    assert truths.error(decay, np.exp([-1e-4, -0.2])) < 1e-14
    layer(inputs(layer))[0].sum().backward()
    assert layer.spectrum.poles.grad[0, 0] == 0
    assert layer.spectrum.poles.grad[1, 0] != 0


def test_intervals():
    times = torch.tensor([[0.0, 1.0, 3.0, 3.0], [5.0, 5.5, 7.0, 9.0]])
    expected = torch.tensor([[1.0, 1.0, 2.0, 0.0], [1.0, 0.5, 1.5, 2.0]])
    assert torch.equal(es.intervals(times), expected)
    assert torch.equal(es.intervals(times[1]), expected[1])
    assert es.intervals(times[:, :1]).tolist() == [[1.0], [1.0]]
    assert es.intervals(times[:, :0]).shape == (2, 0)
    assert torch.equal(es.intervals(torch.tensor([3, 4, 6])), torch.tensor([1.0, 1.0, 2.0]))
    large = torch.tensor([1_700_000_000.0, 1_700_000_001.25], dtype=torch.float64)
    assert es.intervals(large)[1] == 1.25


def test_a_finer_grid_of_held_samples_is_the_same_signal():
    """Each sample ten times with a tenth of the interval: the same states at common times."""
    layer = es.S5(3, 8)
    u = inputs(layer, 2, 20)
    coarse = layer.states(u)
    fine = layer.states(u.repeat_interleave(10, 1), dt=0.1)[:, 9::10]
    assert truths.error(fine, coarse) < 1e-12


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float32, 1e-6), (torch.bfloat16, 1e-2), (torch.float16, 2e-3)]
)
def test_precision_of_narrow_layers(backend, dtype, tolerance):
    layer = es.S5(8, 16, options=es.S5Options(stability="free")).to(dtype)
    u = normal(2, 300, 8).to(dtype)
    numbers = {name: value.double() for name, value in layer.named_parameters()}
    meaning = {"conjugate": True, "stability": "free", "discretization": "zoh"}
    expected, final, _ = truths.s5(numbers, meaning, u.double())
    with es.use_backend(backend):
        y, state = layer(u)
        one, carried = [], layer.initial_state(2)
        for k in range(300):
            value, carried = layer.step(u[:, k], carried)
            one.append(value)
    assert y.dtype == one[0].dtype == dtype
    assert state.dtype == carried.dtype == torch.float64
    assert layer.states(u).dtype == torch.float32
    assert truths.error(y.double(), expected) < tolerance
    assert truths.error(torch.stack(one, 1).double(), expected) < tolerance
    assert truths.error(state, truths.planes(final)) < tolerance
    assert truths.error(carried, truths.planes(final)) < tolerance


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast(dtype):
    layer, u = es.S5(8, 16).float(), normal(2, 40, 8).float()
    expected = layer(u)[0]
    with torch.autocast("cpu", dtype=dtype):
        y, state = layer(u)
        loss(y.double(), state).backward()
    assert truths.error(y.double(), expected) < 2e-2
    assert state.dtype == torch.float64
    assert all(
        p.grad.dtype == torch.float32 and p.grad.isfinite().all() for p in layer.parameters()
    )


def test_a_slow_mode_keeps_its_gain_in_16_bits():
    """a = 0.999 accumulates to 1000; a state in bfloat16 would stop at 256."""
    layer = es.S5(1, 2, options=es.S5Options(stability="free")).bfloat16()
    with torch.no_grad():
        layer.spectrum.poles[:] = torch.tensor([[math.log(0.999)], [0.0]])
        layer.spectrum.log_timescale.zero_()
        layer.B[:] = torch.tensor([1.0, 0.0])[:, None, None]
    states = layer.states(torch.ones(1, 5000, 1, dtype=torch.bfloat16))
    gain = (1 - 0.999**5000) / -math.log(0.999)
    assert states[0, -1, 0].item() == pytest.approx(gain, rel=1e-5)


def test_a_million_steps_stay_on_the_truth():
    """One undamped mode, float32: the stream of chunks ends where the formula says."""
    layer = es.S5(1, 2, options=es.S5Options(stability="free")).float()
    with torch.no_grad():
        layer.spectrum.poles[:] = torch.tensor([[0.0], [-0.25]])
        layer.spectrum.log_timescale.zero_()
        layer.B[:] = torch.tensor([1.0, 0.0])[:, None, None]
    state, u = None, torch.ones(1, 100_000, 1)
    for _ in range(10):
        _, state = layer(u.float(), state)
    expected = (np.exp(-0.25j * 1_000_000) - 1) / -0.25j
    assert truths.error(truths.merge(state)[0], np.array([expected])) < 1e-7


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64])
def test_lengths_of_any_integer_type(dtype):
    layer, lengths = es.S5(2, 4), torch.tensor([127, 3])
    u = inputs(layer, 2, 300)
    assert torch.equal(layer(u, lengths=lengths.to(dtype))[0], layer(u, lengths=lengths)[0])


def test_shapes_without_numbers():
    """On the meta device: what a summary of a large model asks for."""
    layer = es.S5(3, 8).to("meta")
    y, state = layer(torch.zeros(2, 7, 3, device="meta"), dt=torch.ones(7, device="meta"))
    assert (y.shape, state.shape) == ((2, 7, 3), (2, 2, 4))
    assert y.device.type == "meta"


def saved_bytes(call):
    """Bytes that one forward pass keeps for the backward pass, each storage once."""
    kept = {}

    def note(tensor):
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        result = call()
    del result
    return sum(kept.values())


def test_intervals_per_sample_cost_memory_per_mode_not_per_input():
    layer = es.S5(64, 128).float()
    u, dt = normal(2, 4000, 64).float(), torch.rand(2, 4000)
    extra = saved_bytes(lambda: layer(u, dt=dt)) - saved_bytes(lambda: layer(u))
    assert extra <= 40 * 2 * 4000 * 64


def test_many_calls_leave_nothing_behind():
    layer = es.S5(4, 8)

    def calls(count):
        for k in range(count):
            loss(*layer(inputs(layer, 2, 1 + k % 60), dt=0.5)).backward()
        gc.collect()
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    before = calls(200)
    assert calls(1000) - before <= 5 * 1024  # kilobytes
