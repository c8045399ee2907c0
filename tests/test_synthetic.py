"""The small memory tasks: each answer found again from the input alone, and their batches."""

import numpy as np
import pytest
import torch

from eigenstate.data import synthetic
from eigenstate.data.targets import UNASKED, StepTargets

MAKERS = {
    "copy": lambda count, seed: synthetic.copy(count, seed=seed, noise=7, memorize=3),
    "selective copy": lambda count, seed: synthetic.selective_copy(count, seed=seed, noise=7),
    "adding": lambda count, seed: synthetic.adding(count, seed=seed, length=11),
    "delay": lambda count, seed: synthetic.delay(count, seed=seed, length=13, lag=5),
    "reconstruct": lambda count, seed: synthetic.reconstruct(count, seed=seed, length=13, window=5),
}


@pytest.fixture(params=MAKERS, name="make")
def fixture_make(request):
    return MAKERS[request.param]


# --- answers --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("noise", "memorize", "n_tokens"), [(100, 10, 10), (0, 1, 3), (5, 2, 4)])
@pytest.mark.parametrize("maker", [synthetic.copy, synthetic.selective_copy])
def test_the_tokens_are_asked_for_in_order(maker, noise, memorize, n_tokens):
    tokens = set()
    for u, target in maker(50, seed=1, noise=noise, memorize=memorize, n_tokens=n_tokens):
        assert u.dtype == target.dtype == torch.int64 and len(u) == noise + 2 * memorize
        shown, markers = u[:-memorize], u[-memorize:]
        assert (markers == n_tokens - 1).all()
        assert shown[shown != 0].tolist() == target.tolist()
        tokens |= set(target.tolist())
    assert tokens == set(range(1, n_tokens - 1))


def test_copied_tokens_come_first_and_selected_ones_anywhere():
    first = synthetic.copy(200, seed=0, noise=9, memorize=1).inputs != 0
    assert first[:, 0].all() and not first[:, 1:-1].any()
    anywhere = synthetic.selective_copy(3000, seed=0, noise=9, memorize=1).inputs != 0
    counts = anywhere[:, :-1].sum(0)
    assert counts.sum() == 3000 and counts.min() > 240 and counts.max() < 360


@pytest.mark.parametrize("length", [2, 3, 1000])
def test_the_two_marked_numbers_add_up(length):
    pairs = synthetic.adding(200, seed=1, length=length)
    for u, target in pairs:
        numbers, marks = u.unbind(-1)
        assert marks[: length // 2].sum() == marks[length // 2 :].sum() == 1
        assert set(marks.tolist()) <= {0, 1}
        assert numbers.min() >= 0 and numbers.max() < 1
        assert target.shape == (1, 1)
        torch.testing.assert_close(target[0, 0], numbers[marks == 1].sum())


def test_answering_one_always_is_a_sixth_off():
    targets = synthetic.adding(20_000, seed=0, length=2).targets
    assert (targets - 1).square().mean().item() == pytest.approx(1 / 6, rel=0.03)


@pytest.mark.parametrize(("length", "lag"), [(40, 7), (5, 0), (3, 3), (2, 9)])
def test_delayed_is_what_came_before(length, lag):
    for u, target in synthetic.delay(3, seed=0, length=length, lag=lag):
        for step in range(length):
            assert target[step] == (u[step - lag] if step >= lag else 0)


@pytest.mark.parametrize(("length", "window"), [(20, 6), (5, 5), (1, 1)])
def test_reconstructed_is_the_end_of_the_input(length, window):
    for u, target in synthetic.reconstruct(3, seed=0, length=length, window=window):
        assert target.tolist() == [u[-window:, 0].tolist()]


@pytest.mark.parametrize(("length", "band"), [(4000, 0.5), (1001, 0.1), (1000, 1.0), (999, 1.0)])
def test_the_noise_has_its_band_and_its_strength(length, band):
    u = synthetic.delay(200, seed=2, length=length, lag=1, band=band).inputs[..., 0].double()
    assert u.square().mean().sqrt().item() == pytest.approx(0.5, rel=0.02)
    power = torch.fft.rfft(u).abs().square().mean(0)
    share = torch.fft.rfftfreq(length, dtype=torch.float64) * 2
    assert power[share > band + 1e-9].sum() < 1e-9 * power.sum()
    inside = power[share <= band][1:-1]
    assert inside.min() > 0.5 * inside.mean() and inside.max() < 2 * inside.mean()


# --- conduct --------------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_numbers(make):
    state = np.random.get_state()[1].copy()
    first, again, other = make(4, 1), make(4, 1), make(4, 2)
    assert torch.equal(first.inputs, again.inputs) and torch.equal(first.targets, again.targets)
    assert not torch.equal(first.inputs, other.inputs)
    np.testing.assert_array_equal(np.random.get_state()[1], state)


@pytest.mark.parametrize("pad_to", [None, 60])
@pytest.mark.parametrize("count", [1, 3])
def test_a_batch_asks_at_the_last_steps_of_each_sequence(make, count, pad_to):
    pairs = make(count, 0)
    u, lengths, labels, dt = pairs.collate([pairs[i] for i in range(count)], pad_to)
    (length, asked), padded = (len(part) for part in pairs[0]), pad_to or len(pairs[0][0])
    assert dt is None and lengths.tolist() == [length] * count
    assert u.shape[:2] == labels.shape[:2] == (count, padded)
    for i in range(count):
        assert torch.equal(u[i, :length], pairs[i][0]) and not u[i, length:].any()
        assert torch.equal(labels[i, length - asked : length], pairs[i][1])
    unasked = torch.cat([labels[:, : length - asked], labels[:, length:]], dim=1)
    assert (unasked.isnan() if labels.is_floating_point() else unasked == UNASKED).all()


REAL, WHOLE = np.zeros((2, 5, 1)), np.zeros((2, 5), int)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: synthetic.copy(0, seed=0), "count: expected a whole number of at least 1, got 0"),
        (lambda: synthetic.copy(1, seed=0, noise=-1), "noise: .* at least 0, got -1"),
        (lambda: synthetic.copy(1, seed=0, memorize=0), "memorize: .* at least 1, got 0"),
        (lambda: synthetic.selective_copy(1, seed=0, n_tokens=2), "n_tokens: .* at least 3, got 2"),
        (lambda: synthetic.adding(1, seed=0, length=1), "length: .* at least 2, got 1"),
        (lambda: synthetic.adding(1.5, seed=0), r"count: expected a whole number .* got 1\.5"),
        (lambda: synthetic.delay(1, seed=0, lag=-1), "lag: .* at least 0, got -1"),
        (lambda: synthetic.delay(1, seed=0, band=0), "band: expected a share .* got 0"),
        (lambda: synthetic.delay(1, seed=0, length=0), "length: .* at least 1, got 0"),
        (lambda: synthetic.reconstruct(1, seed=0, length=3), "window: expected at most 3, got 512"),
        (lambda: StepTargets(REAL[:1], REAL), r"targets: expected shape \(1, 1 to 5, \.\.\.\)"),
        (lambda: StepTargets(REAL[:, :4], REAL), r"targets: .*1 to 4.* got \(2, 5, 1\)"),
        (lambda: StepTargets(REAL[..., 0], REAL), "inputs: expected real numbers of shape"),
        (lambda: StepTargets(WHOLE, WHOLE[..., None]), "targets: .* got int64 of shape"),
        (lambda: StepTargets(REAL + np.nan, REAL), "inputs: expected finite values"),
    ],
)
def test_bad_arguments_are_explained(call, message):
    with pytest.raises(ValueError, match=message):
        call()
