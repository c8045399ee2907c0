"""The command line, called as a person calls it: what it prints, leaves, refuses and returns."""

import os
import re
import signal
import subprocess
import sys

import pytest
import yaml

from eigenstate.cli import main
from eigenstate.training.presets import read_preset
from eigenstate.training.tasks import SequenceTask

SMALL = [
    "--model.d_model=6",
    "--model.n_layers=1",
    "--model.layer_options.d_state=4",
    "--training.epochs=2",
    "--training.batch_size=90",
]


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def said(capsys, argv):
    """The exit code, and what went to the two outputs."""
    capsys.readouterr()
    code = main(argv)
    return (code, *capsys.readouterr())


def train(*argv):
    assert main(["train", "japanese-vowels", *SMALL, *argv]) == 0


# --- what a person reads --------------------------------------------------------------------------


@pytest.mark.parametrize("argv", [["--help"], ["train", "--help"], ["evaluate", "-h"]])
def test_help_fits_on_a_screen_and_shows_no_types(capsys, argv):
    code, out, _ = said(capsys, argv)
    assert code == 0 and out.startswith("usage: eigenstate")
    lines = out.splitlines()
    assert len(lines) < 64 and max(map(len, lines)) <= 100
    assert not re.search(r"<class|Namespace|None|type:|\[float", out)


def test_help_explains_every_setting(capsys):
    _, out, _ = said(capsys, ["train", "--help"])
    options = re.findall(r"^  (--\S+|TASK)( \S+)? +(.*)$", out, re.MULTILINE)
    assert len(options) > 20 and all(words for _, _, words in options)
    assert "examples:\n  eigenstate train japanese-vowels" in out


def test_tasks_are_listed(capsys):
    code, out, _ = said(capsys, ["tasks"])
    assert code == 0
    about = (
        r"\njapanese-vowels\n  .*nine speakers.*\n  12 channels, 9 classes; nothing to download\n"
    )
    assert re.search(about, out)
    assert "20 tokens, 10 classes; needs its files: --data FOLDER\n" in out
    assert "images of 24 x 24, 2 targets; nothing to download\n" in out
    assert "\nmnist1d\n" in out and "doi:10.24432/C5NS47 (CC BY 4.0)" in out


def test_version(capsys):
    import eigenstate

    assert said(capsys, ["--version"]) == (0, f"eigenstate {eigenstate.__version__}\n", "")


def test_light_commands_do_not_wait_for_the_trainer():
    script = "import sys; from eigenstate.cli import main; code = main({argv}); " \
             "print([m for m in ('pytorch_lightning', 'matplotlib') if m in sys.modules], code)"  # fmt: skip
    for argv in (["tasks"], ["train", "--help"]):
        command = [sys.executable, "-c", script.format(argv=argv)]
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        assert run.stdout.splitlines()[-1] == "[] 0"


# --- train, evaluate, go on -----------------------------------------------------------------------


def test_a_run_is_trained_and_judged_again(capsys, tmp_path):
    code, out, err = said(capsys, ["train", "japanese-vowels", *SMALL])
    assert code == 0
    assert re.match(
        r"japanese-vowels: 270 sequences to learn from, 370 to test on\n"
        r"S5 classifier: \d+ parameters\n"
        r"epoch 1/2  loss \d\.\d+  test accuracy +\d+\.\d+%\nepoch 2/2  loss .*\n$",
        err,
    )
    accuracy = re.match(
        r"test accuracy (\S+%) at the last epoch\nrun folder    runs/japanese-vowels-001\n$", out
    )
    assert accuracy
    code, out, err = said(capsys, ["evaluate", "runs/japanese-vowels-001"])
    assert (code, err) == (0, "")
    assert out.startswith(f"test accuracy {accuracy[1]} at the last epoch\n")
    assert "judged on     370 sequences\n" in out


def test_a_file_lies_over_the_preset_and_flags_over_both(tmp_path):
    settings = {"seed": 5, "model": {"dropout": 0.2, "layer_options": {"blocks": 2}}}
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(settings) + "training: {lr: 1e-3}\n")
    train("--config", "mine.yaml", "--seed", "6", "--out", "a/b")
    used = yaml.safe_load((tmp_path / "a/b/config.yaml").read_text())
    assert (used["task"], used["preset"], used["seed"]) == (
        "japanese-vowels", "s5-japanese-vowels", 6,
    )  # fmt: skip
    assert used["model"]["dropout"] == 0.2 and used["training"]["lr"] == 1e-3
    preset = read_preset("s5-japanese-vowels")["model"]["layer_options"]
    assert used["model"]["layer_options"] == preset | {"d_state": 4, "blocks": 2}


def test_another_layer_starts_from_its_own_options(tmp_path):
    argv = [flag for flag in SMALL if "layer_options" not in flag]
    argv += ["--model.layer=s4d", "--model.layer_options.d_state=6", "--out=a"]
    assert main(["train", "japanese-vowels", "--preset=s5-mnist1d", *argv]) == 0
    used = yaml.safe_load((tmp_path / "a/config.yaml").read_text())["model"]
    assert (used["layer"], used["layer_options"]) == ("s4d", {"d_state": 6})


def test_the_config_of_a_run_repeats_it(tmp_path):
    train("--out", "a")
    assert main(["train", "--config", "a/config.yaml", "--out", "b"]) == 0
    a, b = ((tmp_path / name / "metrics.csv").read_text() for name in "ab")
    assert [line.rsplit(",", 1)[0] for line in a.splitlines()] == [
        line.rsplit(",", 1)[0] for line in b.splitlines()
    ]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_run_says_what_it_keeps(capsys, monkeypatch, number, code):
    training_step = SequenceTask.training_step

    def interrupted(self, batch, index):
        if self.global_step == 4:
            os.kill(os.getpid(), number)
        return training_step(self, batch, index)

    with monkeypatch.context() as patch:
        patch.setattr(SequenceTask, "training_step", interrupted)
        got, out, err = said(capsys, ["train", "japanese-vowels", *SMALL])
    assert (got, out) == (code, "")
    assert "interrupted in epoch 2 of 2\n" in err
    assert "kept in runs/japanese-vowels-001/checkpoint.pt\n" in err
    resume, judge = re.findall(r"eigenstate (train --resume \S+|evaluate \S+)", err)
    assert "Traceback" not in err
    _, out, _ = said(capsys, judge.split())
    assert "after 1 of 2 epochs" in out
    code, out, err = said(capsys, resume.split())
    assert code == 0 and "epoch 2/2" in err and "epoch 1/2" not in err
    _, out, _ = said(capsys, judge.split())
    assert "at the last epoch" in out


def test_a_diverging_run_fails_with_the_step_and_the_place(capsys):
    argv = ["train", "japanese-vowels", *SMALL, "--training.lr=1e30", "--training.warmup_epochs=0"]
    code, out, err = said(capsys, argv)
    assert (code, out) == (1, "")
    assert re.search(r"^eigenstate train: stopped: step 1: .*not finite", err, re.MULTILINE)
    assert "Traceback" not in err


# --- mistakes -------------------------------------------------------------------------------------

VOWELS = ["train", "japanese-vowels"]
MISTAKES = [
    (["trian"], "no command 'trian'. Did you mean 'train'? Commands: train, evaluate, predict"),
    (["train"], "which task? `eigenstate tasks` lists them"),
    (["train", "japanese-vowel"], "no task .*'japanese-vowel'. Did you mean 'japanese-vowels'"),
    ([*VOWELS, "mnist1d"], "unexpected argument 'mnist1d'"),
    ([*VOWELS, "--preset", "s5-mnst1d"], "preset .*'s5-mnst1d'.*did you mean 's5-mnist1d'"),
    ([*VOWELS, "--model.d_modl", "3"], "'--model.d_modl'. Did you mean '--model.d_model'"),
    ([*VOWELS, "--model.d_mode", "3"], "'--model.d_mode'. Did you mean '--model.d_model'"),
    ([*VOWELS, "--lr=1"], "no option '--lr'. Did you mean '--training.lr'"),
    ([*VOWELS, "--model.d_state=8"], "Did you mean '--model.layer_options.d_state'"),
    ([*VOWELS, "--model.layer_options.d_stat=8"], "'d_stat'; did you mean 'd_state'"),
    ([*VOWELS, "--model.layer_options.d_state=7"], "d_state must be divisible by 2"),
    ([*VOWELS, "--model.d_model=wide"], "model.d_model must be a whole number, got 'wide'"),
    ([*VOWELS, "--model.d_model=0"], "d_model must be at least 1, got 0"),
    ([*VOWELS, "--model.prenorm=maybe"], "model.prenorm must be true or false, got 'maybe'"),
    ([*VOWELS, "--model.layer=s6"], r"layer must be one of \[.*'s5'.*\], got 's6'"),
    ([*VOWELS, "--model.activation=gleu"], "'gleu'; did you mean 'gelu'"),
    ([*VOWELS, "--training.epochs=0"], "training.epochs must be a number from 1 up, got 0"),
    ([*VOWELS, "--training.lr=fast"], "training.lr must be a number, got 'fast'"),
    ([*VOWELS, "--training.dynamics_lr=fast"], "training.dynamics_lr must be a number, got 'fast'"),
    ([*VOWELS, "--seed"], "--seed: expected one argument"),
    ([*VOWELS, "--data", "folder"], "data: the task 'japanese-vowels' brings its own data"),
    ([*VOWELS, "--config", "none.yaml"], "none.yaml: no such file"),
    ([*VOWELS, "--config", "bad.yaml"], "bad.yaml: .*'model.d_modl'; did you mean 'model.d_model'"),
    ([*VOWELS, "--config", "type.yaml"], "type.yaml: model.d_model must be a whole number, got"),
    ([*VOWELS, "--config", "null.yaml"], "null.yaml: seed must have a value, got none"),
    ([*VOWELS, "--out", "full"], "full: is not empty; choose another folder"),
    (["train", "--resume", "none"], "none: there is no such run folder"),
    (["train", "--resume", "full", "--seed", "1"], "give it alone"),
    (["train", "--resume", "broken"], "broken/checkpoint.pt: damaged or not a checkpoint"),
    (["train", "--resume", "odd"], "odd/config.yaml: activation must be one of"),
    (["evaluate"], "which run"),
    (["evaluate", "none"], "none: there is no such run folder"),
    (["evaluate", "full"], "full/config.yaml: no such file"),
    (["evaluate", "empty"], "empty/checkpoint.pt: no such file"),
    (["evaluate", "broken"], "broken/checkpoint.pt: damaged or not a checkpoint"),
    (["tasks", "more"], "unexpected argument 'more'"),
]


@pytest.mark.parametrize(
    ("argv", "message"),
    MISTAKES,
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistake_is_one_line_and_starts_nothing(capsys, tmp_path, argv, message):
    files = {
        "bad.yaml": "model: {d_modl: 3}",
        "type.yaml": "model: {d_model: wide}",
        "null.yaml": "seed:",
        "full/file": "",
        "empty/config.yaml": "task: japanese-vowels",
        "odd/config.yaml": "{task: japanese-vowels, model: {activation: odd}}",
        "broken/config.yaml": "task: japanese-vowels",
        "broken/checkpoint.pt": "not a checkpoint",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    code, out, err = said(capsys, argv)
    assert (code, out) == (2, "")
    assert err.startswith("eigenstate") and err.count("\n") == 1
    assert re.search(": error: .*" + message.replace("?", "[?]"), err), err
    assert not (tmp_path / "runs").exists()


def test_no_command_shows_what_there_is(capsys):
    code, out, _ = said(capsys, [])
    assert code == 2 and "commands:\n  train" in out


def test_a_negative_seed_is_refused_before_a_folder_is_made(tmp_path, capsys):
    assert main(["train", "japanese-vowels", *SMALL, "--seed=-1", "--out=a"]) == 2
    assert "seed must be a whole number from 0 up, got -1" in capsys.readouterr().err
    assert not (tmp_path / "a").exists()
