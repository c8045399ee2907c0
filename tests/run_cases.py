"""A tiny run, for tests of runs."""

import copy

import torch

from eigenstate.training.checkpoints import read_checkpoint
from eigenstate.training.config import RunSettings
from eigenstate.training.fit import train
from eigenstate.training.runs import Run
from eigenstate.training.tasks import SequenceTask

TINY = {
    "task": "japanese-vowels",
    "seed": 3,
    "model": {"d_model": 6, "n_layers": 1, "layer_options": {"d_state": 4}},
    "training": {"epochs": 3, "batch_size": 90, "threads": 1},
}


def started(folder, **changes):
    settings = copy.deepcopy(TINY)
    settings["training"] |= changes
    return Run.create(RunSettings.from_dict(settings), folder)


def finish(folder):
    """A whole run, and its summary."""
    torch.set_default_dtype(torch.float64)
    run = started(folder)
    return run, train(run, progress=False)


def assert_same_weights(got, expected):
    """Parameters and optimiser states are equal bit for bit."""
    a, b = (read_checkpoint(run.checkpoint) for run in (got, expected))
    assert all(
        torch.equal(a["state_dict"][name], b["state_dict"][name]) for name in b["state_dict"]
    )
    (a,), (b,) = a["optimizer_states"], b["optimizer_states"]
    for index, moments in b["state"].items():
        assert all(torch.equal(a["state"][index][name], moments[name]) for name in moments)
    for mine, other in zip(a["param_groups"], b["param_groups"], strict=True):
        assert mine["lr"] == other["lr"]


def at_step(monkeypatch, step, act):
    """Do something to the training at one of its steps."""
    training_step = SequenceTask.training_step

    def watched(self, batch, index):
        if self.global_step == step:
            act(self)
        return training_step(self, batch, index)

    monkeypatch.setattr(SequenceTask, "training_step", watched)
