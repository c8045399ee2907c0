"""The recipes: every one builds its model, and the published ones are what was published."""

import math

import pytest
import torch

from eigenstate.cli import main
from eigenstate.data import get_task
from eigenstate.training.build import build_model
from eigenstate.training.config import RunSettings
from eigenstate.training.own_facts import any_task
from eigenstate.training.presets import about, presets, read_preset

# Parameters of the official S5 models, counted from the shapes in its code.
COUNTS = {
    "s5-listops": 188_490,
    "s5-text": 1_321_154,
    "s5-retrieval": 772_098,
    "s5-image": 5_133_706,
    "s5-pathfinder": 1_113_602,
    "s5-pathx": 694_018,
    "s5-speech-commands": 283_523,
}


def settings_of(name):
    return RunSettings.from_dict(read_preset(name))


def built(name):
    settings = settings_of(name)
    return build_model(settings.model, any_task(settings.task))


@pytest.mark.parametrize("name", COUNTS)
def test_the_published_models_have_the_published_number_of_parameters(name):
    assert sum(parameter.numel() for parameter in built(name).parameters()) == COUNTS[name]


@pytest.mark.parametrize("name", presets())
def test_every_preset_builds_a_model_and_says_what_it_is(name):
    model, settings = built(name), settings_of(name)
    assert settings.preset == name and settings.model.layer == name.split("-")[0]
    assert model.backbone.config["layer"] == settings.model.layer
    assert {p.dtype for p in model.parameters()} == {torch.float32}
    assert len(about(presets()[name])) > 10
    if settings.training.schedule == "s5":
        assert settings.training.drop_last and settings.training.select == "best"


# ssm_lr, lr, weight decay, batch, epochs, warm-up, dropout, as in the official scripts.
SCRIPTS = {
    "s5-listops": (0.001, 0.003, 0.04, 50, 40, 1, 0.0),
    "s5-text": (0.001, 0.004, 0.07, 50, 35, 0, 0.1),
    "s5-retrieval": (0.001, 0.002, 0.05, 32, 20, 1, 0.0),
    "s5-image": (0.001, 0.0045, 0.07, 50, 250, 1, 0.1),
    "s5-pathfinder": (0.0009, 0.0045, 0.03, 64, 200, 1, 0.05),
    "s5-pathx": (0.0006, 0.0018, 0.06, 32, 75, 1, 0.0),
    "s5-speech-commands": (0.002, 0.008, 0.04, 16, 40, 1, 0.1),
    "s5-pendulum": (0.003, 0.012, 0.0, 32, 100, 1, 0.0),
}


# d_model, layers, state, batch, epochs, lr of the S4 repository.
S4_SETTINGS = {
    "listops": (256, 6, 4, 32, 40, 0.01),
    "pathx": (256, 6, 64, 16, 50, 0.001),
    "speech-commands": (128, 6, 64, 16, 40, 0.01),
}


@pytest.mark.parametrize("layer", ["s4", "s4d"])
@pytest.mark.parametrize("task", S4_SETTINGS)
def test_the_published_settings_of_s4(task, layer):
    s = settings_of(f"{layer}-{task}")
    m, t = s.model, s.training
    found = (m.d_model, m.n_layers, m.layer_options["d_state"], t.batch_size, t.epochs, t.lr)
    assert found == S4_SETTINGS[task] and m.prenorm == (task != "listops")


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_published_settings(name):
    s = settings_of(name)
    t = s.training
    found = (
        t.dynamics_lr, t.lr, t.weight_decay, t.batch_size, t.epochs, t.warmup_epochs, s.model.dropout,
    )  # fmt: skip
    assert found == SCRIPTS[name]


def test_the_pendulum_s_variants_differ_in_one_setting_each():
    plain, append, drop = (
        settings_of(name).model
        for name in ("s5-pendulum", "s5-pendulum-append", "s5-pendulum-drop")
    )
    assert append.encoder_options == {"append_dt": True} and plain.encoder_options == {}
    assert plain.use_dt and append.use_dt and not drop.use_dt
    task = get_task("pendulum")
    sizes = [sum(p.numel() for p in build_model(m, task).parameters()) for m in (plain, append)]
    assert sizes[1] - sizes[0] == 30  # one more input of the dense layer 30 wide


@pytest.mark.parametrize("name", ["s5-listops", "s5-pathx"])
def test_the_published_start(name):
    model, options = built(name), settings_of(name).model.layer_options
    layer = model.backbone.blocks[0].layer
    logs = layer.spectrum.log_timescale.detach()
    assert layer.options.stability == "free" and layer.bidirectional
    assert logs.min() >= math.log(options["dt_min"]) - 1e-6
    assert (layer.spectrum.poles[0] == -0.5).all()
    # Equal blocks start with equal poles: ListOps has one mode in each of 8.
    block = layer.spectrum.poles.shape[1] // options["blocks"]
    first = layer.spectrum.poles[:, :block].repeat(1, options["blocks"])
    assert torch.equal(first, layer.spectrum.poles)


def test_presets_are_listed_and_shown(capsys):
    assert main(["presets"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in presets()) and "188,490" in out
    assert main(["presets", "s5-listops"]) == 0
    assert "grouping: BfastandCdecay" in capsys.readouterr().out
    assert main(["presets", "s5-lstops"]) == 2
    assert "did you mean 's5-listops'?" in capsys.readouterr().err


def test_a_preset_whose_files_are_missing_says_what_to_give(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["train", "--preset", "s5-listops"]) == 2
    err = capsys.readouterr().err
    assert "give the folder that holds them (--data on the command line)" in err
    assert main(["train", "--preset", "s5-listops", "--data", "nowhere"]) == 2
    assert "no such folder: nowhere" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (
            ["--training.schedule", "s5", "--training.warmup_epochs", "0.5"],
            "warm-up of whole epochs",
        ),
        (["--training.schedule", "s5", "--training.epochs", "2"], "fewer than the training has"),
        (["--model.encoder", "one-hot"], "model.encoder of a task of channels must be"),
        (["--training.select", "best"], "needs validation data, and the task 'mnist1d' has none"),
        (
            ["--training.drop_last", "true", "--training.batch_size", "5000"],
            "leaves nothing of 4000",
        ),
    ],
)
def test_what_cannot_be_trained_is_refused_before_there_is_a_folder(
    capsys, tmp_path, monkeypatch, flags, message
):
    monkeypatch.chdir(tmp_path)
    assert main(["train", "mnist1d", "--out", "run", *flags]) == 2
    err = capsys.readouterr().err
    assert message in err and err.count("\n") == 1
    assert not (tmp_path / "run").exists()
