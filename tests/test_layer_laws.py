"""The laws: what every layer promises, each tried on every layer with every option."""

from itertools import pairwise

import numpy as np
import pytest
import torch
import truths
from cases import (
    BIDIRECTIONAL,
    CAUSAL,
    LAYERS,
    ZOH,
    arguments,
    assert_same,
    combinations,
    every,
    inputs,
    loss,
    normal,
    outcome,
)
from hypothesis import given, settings
from hypothesis import strategies as st

modest = settings(max_examples=8, deadline=None, derandomize=True, database=None)


def by_steps(layer, u, state=None, dt=None):
    """The sequence, one `step` after another."""
    state = layer.initial_state(u.shape[0]) if state is None else state
    outputs = []
    for k in range(u.shape[1]):
        y, state = layer.step(u[:, k], state, dt=None if dt is None else dt[:, k])
        outputs.append(y)
    return torch.stack(outputs, 1), state


def in_pieces(layer, cuts, u, state=None, **per_sample):
    """The sequence cut before each index in `cuts`, each piece continuing from the last state."""
    outputs = []
    for start, stop in pairwise([0, *cuts, u.shape[1]]):
        piece = {name: value[:, start:stop] for name, value in per_sample.items()}
        y, state = layer(u[:, start:stop], state, **piece)
        outputs.append(y)
    return torch.cat(outputs, 1), state


def valid(lengths, length):
    """(B, L) bool: the samples that are not pads."""
    return torch.arange(length) < lengths[:, None]


@pytest.mark.parametrize(("case", "names"), combinations())
def test_outputs_states_and_trajectory_are_the_truth(case, names):
    layer = case.make()
    u, extra = inputs(layer), arguments(layer, names)
    y, state = layer(u, **extra)
    expected_y, final, trajectory = case.answer(case.numbers(layer), u, **extra)
    assert truths.error(y, expected_y) < 1e-12
    if case.bidirectional:
        assert state is None
        return
    assert truths.error(state, truths.planes(final, case.plane_axis)) < 1e-12
    states = truths.merge(layer.states(u, **extra), case.plane_axis)
    kept = valid(extra.get("lengths", torch.full((len(u),), u.shape[1])), u.shape[1]).numpy()
    assert truths.error(states[kept], trajectory[kept]) < 1e-12


@pytest.mark.parametrize(("case", "names"), combinations())
def test_gradients_are_slopes_of_the_truth(case, names):
    layer = case.make()
    leaves = {"u": inputs(layer), **arguments(layer, names)}
    got = outcome(layer, layer, **leaves)
    constants = {name: value for name, value in leaves.items() if not value.is_floating_point()}
    variables = case.numbers(layer) | {
        name: truths.array(value) for name, value in leaves.items() if name not in constants
    }

    def answer(changed, value):
        numbers = variables | {changed: value}
        call = {name: numbers.pop(name) for name in leaves if name in numbers}
        y, final, _ = case.answer(numbers, **call, **constants)
        final = (
            None if case.bidirectional else torch.from_numpy(truths.planes(final, case.plane_axis))
        )
        return loss(torch.from_numpy(y), final).item()

    for name, value in variables.items():
        direction = normal(*value.shape, seed=11).numpy()
        expected = truths.slope(lambda x, name=name: answer(name, x), value, direction)
        slope = np.sum(truths.array(got[f"gradient of {name}"]) * direction)
        assert slope == pytest.approx(expected, rel=1e-9, abs=1e-9), name


@every(CAUSAL)
@pytest.mark.parametrize("now", [0, 3, 6])
def test_causal(case, now):
    layer = case.make()
    u, extra = inputs(layer), arguments(layer, ("dt", "state"))
    changed = u.clone()
    changed[:, now + 1 :] += 1.0
    for chosen in (extra, {"state": extra["state"]}):
        before = layer(u, **chosen)[0][:, : now + 1]
        after = layer(changed, **chosen)[0][:, : now + 1]
        assert torch.equal(after, before) if case.exact else truths.error(after, before) < 1e-13


@every(LAYERS)
def test_linear_from_the_zero_state(case):
    layer = case.make()
    u, v, extra = inputs(layer), inputs(layer, seed=5), arguments(layer, ("dt", "resets"))
    together = layer(2 * u - 3 * v, **extra)[0]
    apart = 2 * layer(u, **extra)[0] - 3 * layer(v, **extra)[0]
    assert truths.error(together, apart) < 1e-12


@every(CAUSAL)
@pytest.mark.parametrize("names", [(), ("state",), ("state", "dt")], ids="+".join)
def test_forward_is_a_loop_of_steps(case, names):
    layer = case.make()
    leaves = {"u": inputs(layer), **arguments(layer, names)}
    assert_same(
        outcome(layer, lambda **leaves: by_steps(layer, **leaves), **leaves),
        outcome(layer, layer, **leaves),
    )


@every(CAUSAL)
@modest
@given(cuts=st.sets(st.integers(1, 10)), seed=st.integers(0, 99))
def test_cut_anywhere_and_continued(case, cuts, seed):
    layer = case.make()
    names = ("state", "dt", "resets")
    leaves = {"u": inputs(layer, 2, 11, seed), **arguments(layer, names, 2, 11, seed)}
    assert_same(
        outcome(layer, lambda **leaves: in_pieces(layer, sorted(cuts), **leaves), **leaves),
        outcome(layer, layer, **leaves),
    )


@every(CAUSAL)
def test_any_state_of_the_trajectory_continues_the_sequence(case):
    layer = case.make()
    u, dt = inputs(layer), arguments(layer, ("dt",))["dt"]
    y, final = layer(u, dt=dt)
    states = layer.states(u, dt=dt)
    for k in range(u.shape[1]):
        rest, last = layer(u[:, k + 1 :], states[:, k], dt=dt[:, k + 1 :])
        assert truths.error(rest, y[:, k + 1 :]) < 1e-12
        assert truths.error(last, final) < 1e-12


@every(LAYERS)
def test_a_reset_is_two_separate_runs(case):
    layer = case.make()
    names = ("dt",) if case.bidirectional else ("dt", "state")
    u, extra = inputs(layer), arguments(layer, names)
    resets = torch.zeros(u.shape[:2], dtype=torch.bool)
    resets[:, 4] = True
    y, state = layer(u, resets=resets, **extra)
    first, _ = layer(u[:, :4], **extra | {"dt": extra["dt"][:, :4]})
    second, last = layer(u[:, 4:], dt=extra["dt"][:, 4:])
    assert truths.error(y, torch.cat([first, second], 1)) < 1e-12
    assert case.bidirectional or truths.error(state, last) < 1e-12


@every(CAUSAL)
def test_a_reset_drops_the_carried_state(case):
    layer = case.make()
    u, state = inputs(layer), arguments(layer, ("state",))["state"]
    resets = torch.zeros(u.shape[:2], dtype=torch.bool)
    resets[:, 0] = True
    y, _ = layer(u, torch.full_like(state, float("nan")), resets=resets)
    expected = layer(u)[0]
    assert torch.equal(y, expected) if case.exact else truths.error(y, expected) < 1e-13


@every(LAYERS)
@pytest.mark.parametrize("pad", [0.0, 1e30, float("nan"), float("inf")])
def test_pads_change_nothing(case, pad):
    layer = case.make()
    names = ("dt", "resets", "lengths", *(() if case.bidirectional else ("state",)))
    leaves = {"u": inputs(layer), **arguments(layer, names)}
    u, lengths = leaves["u"], leaves["lengths"]
    padded = {"u": u.clone(), "dt": leaves["dt"].clone()}
    for value in padded.values():
        value[~valid(lengths, u.shape[1])] = pad
    got = outcome(layer, layer, **leaves | padded)
    assert_same(got, outcome(layer, layer, **leaves), 0.0)
    for row, end in enumerate(lengths.tolist()):
        alone = {
            name: value[row : row + 1, :end]
            if name in ("u", "dt", "resets")
            else value[row : row + 1]
            for name, value in leaves.items()
            if name != "lengths"
        }
        y, state = layer(**alone)
        assert truths.error(got["y"][row, :end], y[0]) < 1e-12
        assert got["y"][row, end:].count_nonzero() == 0
        assert state is None or truths.error(got["state"][row], state[0]) < 1e-12


@every(LAYERS)
@pytest.mark.parametrize("shape", ["number", (), (7,), (3, 7)], ids=str)
def test_dt_of_one_is_no_dt(case, shape):
    layer = case.make()
    u = inputs(layer)
    dt = 1.0 if shape == "number" else torch.ones(shape)
    tolerance = 1e-13 if case.exact else 1e-11
    assert_same(
        outcome(layer, lambda u: layer(u, dt=dt), u=u), outcome(layer, layer, u=u), tolerance
    )


@every(LAYERS)
def test_dt_of_every_shape(case):
    layer = case.make()
    u, numbers = inputs(layer), case.numbers(layer)
    rows = arguments(layer, ("dt",))["dt"]
    for dt in (
        0.7,
        2,
        torch.tensor(0.7),
        rows[1],
        rows,
        rows[:, :1].expand(3, 7),
        rows.float(),
        torch.arange(7),
    ):
        assert truths.error(layer(u, dt=dt)[0], case.answer(numbers, u, dt=dt)[0]) < 1e-12
    for lengths in (torch.tensor([7, 1, 4]), torch.tensor([7, 1, 4], dtype=torch.int32)):
        extra = {"dt": 0.7, "lengths": lengths}
        assert truths.error(layer(u, **extra)[0], case.answer(numbers, u, **extra)[0]) < 1e-12


@every([case for case in CAUSAL if case in ZOH])
def test_a_held_input_over_two_is_two_samples_of_one(case):
    layer = case.make()
    u, state = inputs(layer), arguments(layer, ("state",))["state"]
    once, last = layer(u, state, dt=2.0)
    twice, end = layer(u.repeat_interleave(2, 1), state)
    assert truths.error(once, twice[:, 1::2]) < 1e-12
    assert truths.error(last, end) < 1e-12


@every(CAUSAL)
def test_dt_of_zero_leaves_the_state_bit_for_bit(case):
    layer = case.make()
    u, state = inputs(layer), arguments(layer, ("state",))["state"]
    y, end = layer(u, state, dt=0.0)
    assert torch.equal(end, state)
    assert torch.equal(layer.step(u[:, 0], state, dt=0.0)[1], state)
    through_state = y - u * layer.D  # the sample itself reaches the output only through D
    assert truths.error(through_state, through_state[:, :1].expand_as(y)) < 1e-13
    dt = torch.tensor([0.5, 0.0, 0.0, 1.5, 0.0, 2.0, 0.0])
    states = layer.states(u, state, dt=dt)
    for k in (1, 2, 4, 6):
        assert torch.equal(states[:, k], states[:, k - 1])


@every(LAYERS)
def test_the_response_is_the_output_to_an_impulse(case):
    layer = case.make()
    impulses = torch.zeros(layer.d_model, 9, layer.d_model)  # one row for each input feature
    impulses[range(layer.d_model), 0, range(layer.d_model)] = 1.0
    expected = layer(impulses)[0].permute(1, 2, 0)  # (L, H_out, H_in)
    response = layer.impulse_response(9)
    if response.dim() == 2:  # one system per feature: nothing off the diagonal
        response = torch.diag_embed(response)
    assert truths.error(response, expected) < 1e-12
    if not case.bidirectional:  # then the output is a causal convolution with it
        u = inputs(layer, 1, 9)
        y = sum(torch.nn.functional.pad(u[0] @ response[k].T, (0, 0, k, 0))[:9] for k in range(9))
        assert truths.error(layer(u)[0][0], y) < 1e-12


@every(BIDIRECTIONAL)
def test_bidirectional_sees_the_future_and_carries_nothing(case):
    layer = case.make()
    u = inputs(layer)
    changed = u.clone()
    changed[:, -1] += 1.0
    assert (layer(u)[0] != layer(changed)[0]).all()
    for call in (
        lambda: layer(u, torch.zeros(3, 2, 4)),
        lambda: layer.step(u[:, 0], None),
        lambda: layer.states(u),
    ):
        with pytest.raises(ValueError, match=r"bidirectional|causal"):
            call()
