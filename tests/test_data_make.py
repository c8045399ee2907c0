"""`eigenstate data make`: what it leaves, what it refuses, and that half of it is never taken for
all."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import BrokenExecutor

import numpy as np
import pytest

from eigenstate.cli import main
from eigenstate.data import (
    finished,
    listops_generator,
    pathfinder_generator,
    pendulum,
    pendulum_generator,
)

PARTIAL = "*.partial-*"


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def said(capsys, *argv):
    """The exit code, and what went to the two outputs."""
    capsys.readouterr()
    code = main(["data", *argv])
    return (code, *capsys.readouterr())


# --- what a person reads --------------------------------------------------------------------------


@pytest.mark.parametrize("argv", [["--help"], ["make", "--help"], ["make", "listops", "-h"]])
def test_help_fits_on_a_screen_and_explains_every_option(capsys, argv):
    code, out, _ = said(capsys, *argv)
    assert code == 0 and out.startswith("usage: eigenstate data make KIND --out DIR")
    lines = out.splitlines()
    assert len(lines) < 45 and max(map(len, lines)) <= 100
    options = re.findall(r"^  (--\S+|KIND)( \S+)? +(\S.*)$", out, re.MULTILINE)
    assert len(options) == 6
    for kind in ("listops", "pathfinder", "pendulum", "spoken-words"):
        assert f"\n  {kind} " in out


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["mak"], r"expected `eigenstate data make KIND --out DIR`, got 'mak'"),
        (["make"], r"make what\? eigenstate data make listops\|pathfinder\|"),
        (["make", "listop", "--out=a"], r"Did you mean 'listops'\? Kinds: listops, pathfinder,"),
        (["make", "listops"], r"where to\? eigenstate data make listops --out DIR"),
        (["make", "listops", "--out=a", "--size=32"], r"--size: listops has no size to choose"),
        (["make", "pendulum", "--out=a", "--seed=1"], r"--seed: pendulum has no seed to choose"),
        (["make", "pendulum", "--out=a", "--count=1"], r"--count: pendulum has no count to choose"),
        (["make", "pathfinder", "--out=a", "--size=64"], r"--size: expected 32 or 128, got 64"),
        (["make", "pathfinder", "--out=a", "--count=0"], r"--count: expected at least 1, got 0"),
        (["make", "listops", "--out=a", "--workers=0"], r"--workers: expected at least 1, got 0"),
        (["make", "listops", "--out=a", "--seed=-1"], r"--seed: expected 0 to 4294967295, got -1"),
        (["make", "listops", "--out=a", "--seed=one"], r"seed must be a whole number, got 'one'"),
    ],
)
def test_wrong_usage_is_explained_before_any_work(capsys, tmp_path, argv, message):
    code, out, err = said(capsys, *argv)
    assert (code, out) == (2, "")
    assert re.search(message, err) and len(err.splitlines()) == 1
    assert not list(tmp_path.iterdir())


# --- what it leaves -------------------------------------------------------------------------------


def test_listops_are_made_and_described(capsys, tmp_path):
    code, out, err = said(capsys, "make", "listops", "--out", "a/b", "--seed=5", "--count=12")
    assert (code, err) == (0, "")
    assert re.fullmatch(
        r"12 \+ 12 \+ 12 sequences in a/b \(\d+ s\)\n  eigenstate train listops --data a/b\n", out
    )
    made = json.loads((tmp_path / "a/b/made.json").read_text())
    assert (made["kind"], made["seed"]) == ("listops", 5)
    names = {path.name for path in (tmp_path / "a/b").iterdir()}
    assert names == {*listops_generator.FILES, "made.json"}
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["b"]


@pytest.mark.parametrize(("size", "task"), [("32", "pathfinder"), ("128", "pathx")])
def test_pathfinder_is_made_in_an_empty_folder(capsys, tmp_path, size, task):
    (tmp_path / "my pictures").mkdir()
    code, out, _ = said(
        capsys, "make", "pathfinder", "--out=my pictures", f"--size={size}", "--count=3"
    )
    assert code == 0
    assert out.startswith(f"3 pictures of {size} x {size} pixels in my pictures (")
    assert out.endswith(f"\n  eigenstate train {task} --data 'my pictures'\n")
    assert len(list((tmp_path / "my pictures").rglob("*.png"))) == 3


def test_the_pendulum_is_made_in_the_published_file(capsys, tmp_path, monkeypatch):
    generate = pendulum.generate
    monkeypatch.setattr(pendulum, "generate", lambda **options: generate((3, 2, 1), **options))
    code, out, _ = said(capsys, "make", "pendulum", "--out=a")
    assert code == 0 and out.startswith("pend_regression.npz: ")
    kept = generate((3, 2, 1))
    with np.load(tmp_path / "a" / pendulum_generator.FILE) as file:
        assert set(file) == {
            f"{part}_{what}"
            for part in ("train", "test", "valid")
            for what in ("obs", "targets", "ts")
        }
        assert file["train_obs"].shape == (3, 100, 24, 24, 1)
        assert file["train_obs"].dtype == np.uint8
        assert file["test_targets"].shape == (2, 100, 2)
        assert file["valid_ts"].tolist() == [list(range(100))]
        for part, name in pendulum_generator.NAMES.items():
            for i, times in enumerate(kept[f"{part}_times"]):
                images = file[f"{name}_obs"][i, times, :, :, 0]
                np.testing.assert_array_equal(images, kept[f"{part}_images"][i])


def test_spoken_words_without_the_program_are_refused(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    code, out, err = said(capsys, "make", "spoken-words", "--out=a")
    assert (code, out) == (2, "")
    assert "espeak-ng speaks the words, and is not installed: apt-get install espeak-ng" in err
    assert not list(tmp_path.iterdir())


# --- never half -----------------------------------------------------------------------------------


def test_a_folder_with_something_in_it_is_left_alone(capsys, tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "mine").write_text("kept")
    (tmp_path / "b").write_text("a file")
    for name in ("a", "b"):
        code, _, err = said(capsys, "make", "listops", f"--out={name}", "--count=2")
        assert code == 2 and "already there and not an empty folder" in err
    code, _, err = said(capsys, "make", "listops", "--out=b/below", "--count=2")
    assert code == 2 and "b is a file, not a folder; choose another name" in err
    assert (tmp_path / "a" / "mine").read_text() == "kept"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError(28, "No space left on device"), "stopped: a: No space left on device. Nothing"),
        (BrokenExecutor("a worker was killed"), "stopped: a: a worker was killed. Nothing was"),
    ],
)
def test_a_full_disk_leaves_nothing(capsys, tmp_path, monkeypatch, error, message):
    written = []

    def write_gray(path, image):
        if len(written) == 5:
            raise error
        written.append(path.write_bytes(b"picture"))

    monkeypatch.setattr(pathfinder_generator, "write_gray", write_gray)
    code, out, err = said(capsys, "make", "pathfinder", "--out=a", "--count=9")
    assert (code, out) == (1, "") and message in err
    assert len(written) == 5 and not list(tmp_path.iterdir())


def test_a_folder_filled_meanwhile_is_not_overwritten(tmp_path):
    with pytest.raises(OSError), finished.finished_folder(tmp_path / "a") as folder:
        (folder / "new").write_text("new")
        (tmp_path / "a").mkdir()
        (tmp_path / "a" / "mine").write_text("kept")
    assert (tmp_path / "a" / "mine").read_text() == "kept"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize("workers", ["1", "2"])
def test_ctrl_c_leaves_nothing_that_looks_finished(tmp_path, workers):
    """As a terminal does it: the signal goes to the command and to all its workers."""
    command = [sys.executable, "-m", "eigenstate_command", "data", "make", "pathfinder"]
    (tmp_path / "eigenstate_command.py").write_text(
        "import sys\nfrom eigenstate.cli import main\n"
        "if __name__ == '__main__':\n    sys.exit(main(sys.argv[1:]))\n"
    )
    run = subprocess.Popen(
        [*command, "--out=made", f"--workers={workers}"],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob(f"{PARTIAL}/**/*.png")) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert run.poll() is None and not (tmp_path / "made").exists()
    os.killpg(run.pid, signal.SIGINT)
    _, err = run.communicate(timeout=60)
    assert run.returncode == 130 and err == "\ninterrupted\n"
    assert [path.name for path in tmp_path.iterdir()] == ["eigenstate_command.py"]


# --- progress -------------------------------------------------------------------------------------


def test_a_terminal_shows_one_line_that_goes_away(capsys, monkeypatch):
    from eigenstate.data import progress

    parent, child = pty.openpty()
    with open(child, "w") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        monkeypatch.setattr(progress, "PAUSE", 0)
        with progress.Progress("things", 4_000) as line:
            line(1_000)
            line(4_000)
    shown = os.read(parent, 1000).decode()
    os.close(parent)
    assert "things 1,000 of 4,000  25%  0 s left" in shown and "\n" not in shown
    assert "things 4,000 of 4,000  100%" in shown and shown.endswith("\r\x1b[K")


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.4, "0 s"), (59, "59 s"), (80, "1 min 20 s"), (7300, "2 h 1 min")]
)
def test_times_are_read_at_a_glance(seconds, words):
    from eigenstate.data import progress

    assert progress._words(seconds) == words
