"""Runs: what they leave, the same for the same seed, resumed exactly, stopped in time."""

import copy
import csv
import json

import pytest
import torch
import yaml
from model_cases import classifier
from run_cases import TINY, assert_same_weights, at_step, finish, started

from eigenstate.files import CheckpointError
from eigenstate.training.config import RunSettings, TrainingSettings
from eigenstate.training.finite import NonFiniteError
from eigenstate.training.fit import train
from eigenstate.training.objectives import CLASSES
from eigenstate.training.runs import Run, RunError
from eigenstate.training.tasks import SequenceTask
from eigenstate.training.trained import load_trained, prepared, score


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return finish(tmp_path_factory.mktemp("runs") / "finished")


def test_a_run_leaves_what_it_did(finished):
    run, summary = finished
    assert sorted(path.name for path in run.folder.iterdir()) == [
        "checkpoint.pt", "config.yaml", "learning_curve.png", "metrics.csv", "metrics.json",
    ]  # fmt: skip
    assert RunSettings.from_dict(yaml.safe_load(run.config.read_text())) == run.settings
    with run.metrics.open() as file:
        rows = list(csv.DictReader(file))
    assert [int(row["epoch"]) for row in rows] == [1, 2, 3]
    assert float(rows[-1]["test_accuracy"]) == pytest.approx(summary["test_accuracy"], abs=1e-5)
    assert float(rows[-1]["train_loss"]) < float(rows[0]["train_loss"])
    assert json.loads(run.summary.read_text()) == summary
    assert summary["versions"]["torch"] == torch.__version__
    assert run.picture.read_bytes().startswith(b"\x89PNG")


def test_a_checkpoint_is_plain_and_gives_the_model_back(finished):
    run, summary = finished
    checkpoint = torch.load(run.checkpoint, weights_only=True)
    assert not any(value.is_complex() for value in checkpoint["state_dict"].values())
    trained = load_trained(run)
    assert {p.dtype for p in trained.model.parameters()} == {torch.float32}
    test = prepared(trained.task.load(), trained.standardizer).test
    result = score(run, trained.model, test)
    assert result.figure == pytest.approx(summary["test_accuracy"])
    assert (result.loss, result.total) == (pytest.approx(summary["test_loss"]), 370)
    assert trained.epoch == 3


def test_the_same_seed_gives_the_same_run_and_another_one_another(finished, tmp_path):
    torch.manual_seed(99)
    again = started(tmp_path / "again")
    state = torch.get_rng_state()
    train(again, progress=False)
    assert torch.equal(torch.get_rng_state(), state)
    assert_same_weights(again, finished[0])
    other = Run.create(RunSettings.from_dict({**TINY, "seed": 4}), tmp_path / "other")
    train(other, progress=False)
    with pytest.raises(AssertionError):
        assert_same_weights(other, finished[0])


# --- stopping in time -----------------------------------------------------------------------------


def spoil_gradient(task):
    weight = task.model.decoder.weight
    weight.register_hook(lambda gradient: gradient * torch.nan)


def spoil_output(task):
    task.model.backbone.blocks[0].activation.register_forward_hook(
        lambda *_: torch.tensor(torch.inf)
    )


def spoil_parameter(task):
    task.model.backbone.blocks[0].layer.spectrum.poles.data[0, 0] = torch.nan


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (spoil_gradient, "step 4: the gradient of parameter decoder.weight is not finite"),
        (spoil_output, "step 4: the loss is nan; .*: the output of backbone.blocks.0.activation"),
        (spoil_parameter, "step 4: .*parameter backbone.blocks.0.layer.spectrum.poles"),
    ],
)
def test_the_first_number_that_is_not_finite_stops_a_run(tmp_path, monkeypatch, spoil, message):
    run = started(tmp_path / "run")
    at_step(monkeypatch, 4, spoil)
    with pytest.raises(NonFiniteError, match=message):
        train(run, progress=False)
    trained = load_trained(run)
    assert trained.epoch == 1
    assert all(p.isfinite().all() for p in trained.model.parameters())


@pytest.mark.parametrize(
    "name", ["model.decoder.bias", "model.backbone.blocks.0.layer.spectrum.poles"]
)
def test_parameters_that_are_not_finite_are_never_saved(tmp_path, monkeypatch, name):
    run = started(tmp_path / "run")

    def spoil(task, *_):
        if task.global_step == 6:  # the second epoch's steps are done
            task.get_parameter(name).data.fill_(torch.nan)

    monkeypatch.setattr(SequenceTask, "on_train_batch_end", spoil)
    with pytest.raises(NonFiniteError, match=f"step 6: parameter {name.removeprefix('model.')} is"):
        train(run, progress=False)
    assert load_trained(run).epoch == 1


# --- run folders ----------------------------------------------------------------------------------


def test_folders_are_numbered_and_never_shared(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    settings = RunSettings.from_dict(TINY)
    folders = [Run.create(settings).folder for _ in range(3)]
    assert [str(f) for f in folders] == [f"runs/japanese-vowels-00{k}" for k in (1, 2, 3)]
    with pytest.raises(RunError, match="runs/japanese-vowels-001: is not empty; choose another"):
        Run.create(settings, folders[0])
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match="file: cannot be made a run folder"):
        Run.create(settings, tmp_path / "file")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "config.yaml: no such file"),
        ("{", "config.yaml: not valid YAML: line 1"),
        ("hello", "config.yaml: must hold settings"),
        ("task: japanese-vowels\nmodle: {}", "config.yaml: .*'modle'; did you mean 'model'"),
        ("seed: 1", "config.yaml: names no task; is it empty or cut short[?]"),
        ("", "config.yaml: names no task; is it empty or cut short[?]"),
        (
            "task: japanese-vowels\ntraining: {epochs: 0}",
            "training.epochs must be a number from 1 up, got 0",
        ),
        ("task: japanese-vowels\ntraining: {lr: fast}", "config.yaml: .*training.lr.*'fast'"),
        ("task: japanese-vowel", "config.yaml: .*Did you mean 'japanese-vowels'"),
        ("task: japanese-vowels\nmodel: {d_model: x}", "config.yaml: .*d_model.*'x'"),
    ],
)
def test_a_broken_run_folder_is_one_clear_error(tmp_path, text, message):
    if text is not None:
        (tmp_path / "config.yaml").write_text(text)
    with pytest.raises(RunError, match=message) as caught:
        load_trained(Run.open(tmp_path))
    assert "\n" not in str(caught.value)


def test_a_checkpoint_of_another_model_is_one_clear_error(finished, tmp_path):
    wide = copy.deepcopy(TINY)
    wide["model"]["d_model"] = 8
    run = Run.create(RunSettings.from_dict(wide), tmp_path / "wide")
    run.checkpoint.write_bytes(finished[0].checkpoint.read_bytes())
    message = (
        r"checkpoint.pt: does not fit .*config.yaml .* encoder.weight: expected \(8, 12\), got"
    )
    with pytest.raises(CheckpointError, match=message):
        load_trained(run)


def test_offset_noise_shifts_each_channel_of_each_training_sequence():
    settings = TrainingSettings(offset_noise=0.4)
    task = SequenceTask(classifier(), CLASSES, settings=settings)
    u = torch.randn(500, 7, 3)
    shift = task._offset(u) - u
    torch.testing.assert_close(shift, shift[:, :1].expand_as(shift))
    assert shift[:, 0].std(0).sub(0.4).abs().max() < 0.05
    assert shift[:, 0].unique().numel() > 1400


def test_no_step_computes_with_denormal_numbers(tmp_path, monkeypatch):
    def tiny():
        return float(torch.tensor(1e-40, dtype=torch.float32) * 1)

    seen = []
    run = started(tmp_path / "run", epochs=1)
    at_step(monkeypatch, 0, lambda _: seen.append(tiny()))
    train(run, progress=False)
    assert seen == [0.0] and tiny() > 0
