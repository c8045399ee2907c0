"""How every layer behaves in a program: storage, casts, layouts, NaN, extreme values."""

import copy
import io
import pickle

import pytest
import torch
import truths
from cases import (
    BACKENDS,
    BIDIRECTIONAL,
    LAYERS,
    arguments,
    assert_same,
    every,
    inputs,
    loss,
    normal,
    optional,
    outcome,
)

import eigenstate as es


@every(LAYERS)
def test_storage_changes_nothing(case):
    layer, other = case.make(), case.make()
    u = inputs(layer)
    expected = layer(u)[0]
    file = io.BytesIO()
    torch.save(layer.state_dict(), file)
    file.seek(0)
    for parameter in other.parameters():
        torch.nn.init.zeros_(parameter)
    other.load_state_dict(torch.load(file, weights_only=True))
    for twin in (other, copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert torch.equal(twin(u)[0], expected)
        assert twin.state_dict().keys() == layer.state_dict().keys()
    loss(expected).backward()
    copy.deepcopy(layer)


@every(LAYERS)
def test_no_complex_tensors(case):
    layer = case.make()
    tensors = [*layer.state_dict().values(), *layer.parameters(), *layer.buffers()]
    if not case.bidirectional:
        u = inputs(layer)
        tensors += [layer.initial_state(3), layer(u)[1], layer.states(u)]
    assert tensors
    assert not any(tensor.is_complex() for tensor in tensors)


CASTS = {
    "half": (lambda layer: layer.half(), torch.float16, 2e-3),
    "bfloat16": (lambda layer: layer.bfloat16(), torch.bfloat16, 2e-2),
    "float": (lambda layer: layer.float(), torch.float32, 2e-6),
    "to-bfloat16": (lambda layer: layer.to(torch.bfloat16), torch.bfloat16, 2e-2),
    "to-float64": (lambda layer: layer.float().to(torch.float64), torch.float64, 2e-6),
    "double": (lambda layer: layer.double(), torch.float64, 0.0),
    "type": (lambda layer: layer.type(torch.float32), torch.float32, 2e-6),
}


@every(LAYERS)
@pytest.mark.parametrize("cast", CASTS)
def test_casts_keep_the_dynamics(case, cast):
    convert, dtype, tolerance = CASTS[cast]
    layer = case.make()
    before, u = layer.impulse_response(200), inputs(layer)
    poles, timescale = layer.spectrum.poles.clone(), layer.spectrum.log_timescale.clone()
    layer = convert(layer)
    assert truths.error(layer.impulse_response(200).double(), before) <= tolerance
    wide = torch.promote_types(dtype, torch.float32)
    for value, old in ((layer.spectrum.poles, poles), (layer.spectrum.log_timescale, timescale)):
        assert value.dtype == wide
        assert truths.error(value, old) <= 1e-7
    y, state = layer(u.to(dtype))
    assert y.dtype == dtype
    assert state is None or state.dtype == torch.float64
    loss(y.double(), state).backward()
    assert all(parameter.grad.isfinite().all() for parameter in layer.parameters())


@every(LAYERS)
def test_calls_do_not_influence_each_other(case):
    layer = case.make()
    u = inputs(layer)
    before = {name: value.clone() for name, value in layer.state_dict().items()}
    first = layer(u)[0]
    layer(inputs(layer, 2, 5, seed=3), dt=0.5)
    layer.impulse_response(4)
    layer(torch.full_like(u, float("nan")))
    assert torch.equal(layer(u)[0], first)
    assert all(torch.equal(value, before[name]) for name, value in layer.state_dict().items())


@every(LAYERS)
def test_rows_may_be_permuted(case):
    layer = case.make()
    leaves = {"u": inputs(layer, 5), **arguments(layer, optional(case), 5)}
    order = torch.tensor([3, 0, 4, 2, 1])
    y, state = layer(**leaves)
    permuted, moved = layer(**{name: value[order] for name, value in leaves.items()})
    assert torch.equal(permuted, y[order])
    assert state is None or torch.equal(moved, state[order])


LAYOUTS = {
    "transposed": lambda x: x.transpose(0, 1).contiguous().transpose(0, 1),
    "channels-first": lambda x: x.transpose(-1, -2).contiguous().transpose(-1, -2),
    "sliced": lambda x: torch.stack([x, x], -1)[..., 0],
    "strided": lambda x: x.repeat_interleave(2, 1)[:, ::2],
    "flipped": lambda x: x.flip(1).flip(1),
    "expanded": lambda x: x[:1].expand_as(x),
}


@every(LAYERS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_any_memory_layout(case, layout):
    layer, change = case.make(), LAYOUTS[layout]
    leaves = {"u": inputs(layer), **arguments(layer, optional(case))}
    shaped = {name: change(value) if value.ndim > 1 else value for name, value in leaves.items()}
    contiguous = {name: value.contiguous() for name, value in shaped.items()}

    def compute(**leaves):  # `outcome` copies its leaves: the layout is given again, inside
        return layer(
            **{name: change(value) if value.ndim > 1 else value for name, value in leaves.items()}
        )

    assert torch.equal(layer(**shaped)[0], layer(**contiguous)[0])
    if layout != "expanded":
        assert_same(outcome(layer, compute, **leaves), outcome(layer, layer, **leaves), 1e-12)


@every(LAYERS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_nan_reaches_only_later_outputs_of_its_own_row(case, backend):
    layer = case.make()
    u = inputs(layer, 3, 9)
    resets = torch.zeros(3, 9, dtype=torch.bool)
    resets[:, 6] = True
    spoiled = u.clone()
    spoiled[1, 3] = float("nan")
    with es.use_backend(backend):
        clean, dirty = layer(u, resets=resets), layer(spoiled, resets=resets)
    reached = torch.zeros(3, 9, dtype=torch.bool)
    reached[1, 0 if case.bidirectional else 3 : 6] = True
    assert torch.equal(dirty[0][~reached], clean[0][~reached])
    assert dirty[0][reached].isnan().all()
    assert case.bidirectional or torch.equal(dirty[1], clean[1])


@every(LAYERS)
@pytest.mark.parametrize(("batch", "length"), [(0, 5), (3, 0), (0, 0)])
def test_nothing_in_nothing_out(case, batch, length):
    layer = case.make()
    state = None if case.bidirectional else normal(batch, *layer.state_shape)
    y, after = layer(inputs(layer, batch, length), state)
    assert y.shape == (batch, length, layer.d_model)
    assert case.bidirectional or torch.equal(after, state)
    loss(y, after).backward()


@every([case for case in LAYERS if case not in BIDIRECTIONAL or "full" not in case.name])
def test_an_input_may_be_longer_than_any_before(case):
    layer = case.make()
    layer(inputs(layer, 1, 2))
    u = inputs(layer, 1, 40)
    assert truths.error(layer(u)[0], case.answer(case.numbers(layer), u)[0]) < 1e-12


@every([case for case in LAYERS if case not in BIDIRECTIONAL])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_narrower_layer_carries_its_wide_state_on(case, dtype):
    layer = case.make().to(dtype)
    u, extra = inputs(layer).to(dtype), arguments(layer, ("dt", "resets"))
    for given in ({}, {"dt": extra["dt"]}, {"resets": extra["resets"]}):
        _, state = layer(u, **given)
        y, after = layer(u, state, **given)
        loss(y.double(), after).backward()
        y_k, after = layer.step(u[:, 0], after)
        assert (y.dtype, y_k.dtype) == (dtype, dtype)
        assert (state.dtype, after.dtype) == (torch.float64, torch.float64)
