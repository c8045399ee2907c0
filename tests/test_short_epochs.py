"""Epochs of so many steps, and what is measured of a run's speed and memory."""

import json

import numpy as np
import pytest
import torch
from run_cases import assert_same_weights, at_step, started

from eigenstate.training.batches import ShuffledLoader
from eigenstate.training.fit import train
from eigenstate.training.machine import PeakMemory
from eigenstate.training.runs import Run
from eigenstate.training.trained import load_trained


def test_a_short_epoch_is_the_start_of_a_long_one(tmp_path):
    """Of 270 sequences in batches of 90, two steps; the next epoch draws anew from all of them."""
    torch.set_default_dtype(torch.float64)
    orders = []
    for steps in (2, None):
        run = started(tmp_path / str(steps), epoch_steps=steps, epochs=2)
        seen = []
        with pytest.MonkeyPatch.context() as patch:
            for step in range(6):
                at_step(patch, step, lambda task, seen=seen: seen.append(task.global_step))
            summary = train(run, progress=False)
        orders.append(seen)
        assert summary["epochs"] == 2
    assert orders == [[0, 1, 2, 3], [0, 1, 2, 3, 4, 5]]


@pytest.mark.parametrize(("step", "steps"), [(1, 2), (2, 2), (3, 2), (4, 5), (8, 5)])
def test_a_run_of_such_epochs_goes_on_bit_for_bit(tmp_path, monkeypatch, step, steps):
    monkeypatch.setattr("eigenstate.training.log.SAVE_EVERY", 0.0)
    whole = started(tmp_path / "whole", epoch_steps=steps)
    train(whole, progress=False)

    class Killed(Exception):
        pass

    def kill(_):
        raise Killed

    run = started(tmp_path / "run", epoch_steps=steps)
    with monkeypatch.context() as patch:
        at_step(patch, step, kill)
        with pytest.raises(Killed):
            train(run, progress=False)
    assert load_trained(run).epoch == step // steps
    train(Run.open(run.folder), progress=False)
    assert_same_weights(run, whole)


def test_as_many_steps_as_a_pass_has_change_nothing(tmp_path):
    runs = [started(tmp_path / str(steps), epoch_steps=steps) for steps in (3, None)]
    for run in runs:
        train(run, progress=False)
    assert_same_weights(*runs)


@pytest.mark.parametrize("size", [1, 3, 4, 7, 8, 10])
@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("by_length", [False, True])
def test_more_steps_than_a_pass_has_are_several_passes(size, drop_last, by_length):
    """All batches are full, and no sequence is ahead of another by more than one pass."""
    data = list(range(size))
    lengths = torch.arange(size) % 3 if by_length else None
    loader = ShuffledLoader(
        data, 4, seed=0, drop_last=drop_last, collate=torch.tensor, steps=9, lengths=lengths
    )
    assert len(loader) == 9
    batches = list(loader)
    assert [len(batch) for batch in batches] == [4] * 9
    counts = torch.cat(batches).bincount(minlength=size)
    assert counts.max() - counts.min() <= 1
    loader.order.set_epoch(1)
    assert size < 4 or not torch.equal(torch.stack(batches), torch.stack(list(loader)))


def test_no_step_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"training.epoch_steps must be a number from 1 up, got 0"):
        started(tmp_path / "run", epoch_steps=0)


def test_a_run_says_how_fast_it_was_and_what_it_held(tmp_path):
    run = started(tmp_path / "run")
    summary = train(run, progress=False)
    assert json.loads(run.summary.read_text()) == summary
    with run.metrics.open() as file:
        times = np.loadtxt(file, delimiter=",", skiprows=1)[:, -1]
    tokens = 4274  # of the 270 training utterances
    assert summary["tokens_per_second"] > tokens / times.max() / 2
    assert summary["peak_memory"] is None or summary["peak_memory"] > 50 * 2**20


def test_the_peak_of_memory_is_that_since_it_was_asked_for():
    before = np.ones(64 * 2**20, np.uint8)
    del before
    memory = PeakMemory()
    if not memory.known:
        pytest.skip("this system does not tell")
    start = memory.read()
    between = np.ones(128 * 2**20, np.uint8)
    del between
    assert 100 * 2**20 < memory.read() - start < 200 * 2**20
