"""Runs that were stopped, told to or killed, go on as if they had not been."""

import csv
import os
import signal
import threading
import time

import pytest
import torch
from run_cases import assert_same_weights, at_step, finish, started

from eigenstate.training.checkpoints import read_checkpoint
from eigenstate.training.fit import Interrupted, train
from eigenstate.training.runs import Run
from eigenstate.training.trained import load_trained


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return finish(tmp_path_factory.mktemp("runs") / "finished")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_goes_on_as_if_it_had_not_stopped(
    finished, tmp_path, monkeypatch, number
):
    run, handler = started(tmp_path / "run"), signal.getsignal(signal.SIGINT)
    with monkeypatch.context() as patch:
        at_step(patch, 4, lambda _: os.kill(os.getpid(), number))  # in the second of three epochs
        with pytest.raises(Interrupted, match="interrupted in epoch 2 of 3") as caught:
            train(run, progress=False)
    assert caught.value.exit_code == 128 + number
    assert signal.getsignal(signal.SIGINT) is handler
    assert load_trained(run).epoch == 1
    torch.manual_seed(7)
    (run.folder / ".checkpoint.pt.99.tmp").write_bytes(b"left by a killed writer")
    train(Run.open(run.folder), progress=False)
    assert not list(run.folder.glob(".*"))
    assert_same_weights(run, finished[0])
    assert run.metrics.read_text().count("\n") == 4


@pytest.mark.parametrize("step", [2, 4, 8])
def test_a_run_killed_within_an_epoch_goes_on_from_its_last_save(
    finished, tmp_path, monkeypatch, step
):
    """Of 3 steps an epoch, the first 2 are saved one by one; then the epoch's end is."""
    begun = time.perf_counter()
    monkeypatch.setattr("eigenstate.training.log.SAVE_EVERY", 0.0)
    run = started(tmp_path / "run")

    class Killed(Exception):
        pass

    def kill(_):
        raise Killed

    with monkeypatch.context() as patch:
        at_step(patch, step, kill)
        with pytest.raises(Killed):
            train(run, progress=False)
    assert read_checkpoint(run.checkpoint)["global_step"] == step
    assert load_trained(run).epoch == step // 3
    seen = []
    with monkeypatch.context() as patch:
        at_step(patch, step, lambda task: seen.append(task.global_step))
        train(Run.open(run.folder), progress=False)
    assert seen == [step]
    assert_same_weights(run, finished[0])
    assert losses(run) == losses(finished[0])
    with run.metrics.open() as file:
        seconds = [float(row["seconds"]) for row in csv.DictReader(file)]
    assert 0 < min(seconds) and sum(seconds) < time.perf_counter() - begun


def losses(run):
    with run.metrics.open() as file:
        return [(row["train_loss"], row["test_loss"]) for row in csv.DictReader(file)]


def test_a_run_interrupted_before_its_first_checkpoint_starts_again(
    finished, tmp_path, monkeypatch
):
    run = started(tmp_path / "run")
    with monkeypatch.context() as patch:
        at_step(patch, 1, lambda _: os.kill(os.getpid(), signal.SIGINT))
        with pytest.raises(Interrupted):
            train(run, progress=False)
    assert not run.checkpoint.exists()
    train(Run.open(run.folder), progress=False)
    assert_same_weights(run, finished[0])


def test_a_run_can_be_trained_outside_the_main_thread(finished, tmp_path):
    run = started(tmp_path / "run")
    thread = threading.Thread(target=train, args=(run,), kwargs={"progress": False})
    thread.start()
    thread.join()
    assert_same_weights(run, finished[0])
