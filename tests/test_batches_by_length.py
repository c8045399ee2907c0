"""Batches of sequences about as long: few pads, each sequence once, resumed bit for bit."""

import pytest
import torch
from run_cases import assert_same_weights, at_step, started

from eigenstate.data import Splits, get_task
from eigenstate.training.batches import ALIKE, Collate, EpochSampler, ShuffledLoader, check_splits
from eigenstate.training.config import ModelSettings
from eigenstate.training.fit import train
from eigenstate.training.runs import Run

TASK = get_task("japanese-vowels")


def loader(data, **options):
    return ShuffledLoader(
        data,
        4,
        seed=0,
        drop_last=False,
        collate=Collate(data, task=TASK, model=ModelSettings()),
        **options,
    )


def padded(batches) -> int:
    return sum(batch.u.shape[1] * len(batch.u) - int(batch.lengths.sum()) for batch in batches)


def test_few_pads() -> None:
    data = TASK.load().train
    assert padded(loader(data, lengths=data.lengths)) < padded(loader(data)) / 4


@pytest.mark.parametrize("size", [1, 3, 4, 5, 4 * ALIKE, 4 * ALIKE + 1, 131])
def test_every_sequence_once_in_an_order_of_the_seed_and_the_epoch(size) -> None:
    def order(seed, epoch):
        lengths = torch.arange(size) % 7
        sampler = EpochSampler(size, seed, lengths=lengths, batch_size=4)
        sampler.set_epoch(epoch)
        torch.rand(3)
        return list(sampler)

    assert sorted(order(0, 0)) == list(range(size))
    assert order(0, 5) == order(0, 5)
    if size > 60:
        assert len({tuple(order(seed, epoch)) for seed in range(2) for epoch in range(2)}) == 4


def test_what_is_left_over_for_the_last_batch_may_have_any_length() -> None:
    lengths = torch.arange(4 * ALIKE + 2)
    sampler = EpochSampler(len(lengths), 0, lengths=lengths, batch_size=4)
    left_over = set()
    for epoch in range(200):
        sampler.set_epoch(epoch)
        left_over |= set(list(sampler)[-2:])
    assert len(left_over) == len(lengths)


def test_a_run_goes_on_in_the_middle_of_an_epoch(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("eigenstate.training.log.SAVE_EVERY", 0.0)
    whole = started(tmp_path / "whole", by_length=True, batch_size=60)
    train(whole, progress=False)

    class Killed(Exception):
        pass

    def kill(_):
        raise Killed

    run = started(tmp_path / "run", by_length=True, batch_size=60)
    with monkeypatch.context() as patch:
        at_step(patch, 7, kill)
        with pytest.raises(Killed):
            train(run, progress=False)
    train(Run.open(run.folder), progress=False)
    assert_same_weights(run, whole)


def test_sets_that_do_not_say_how_long_their_sequences_are_are_refused(tmp_path) -> None:
    run = started(tmp_path / "run", by_length=True)
    silent = Splits(list(TASK.load().train), [])
    with pytest.raises(
        ValueError, match=r"training\.by_length: the sequences of 'japanese-vowels'"
    ):
        check_splits(run.settings, silent)
