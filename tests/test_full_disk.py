"""A disk that is full at any file of a run: one line says which and what to do, files stay whole,
and the run goes on once there is room."""

import errno
import os

import pytest
from run_cases import assert_same_weights, started

from eigenstate.cli import main
from eigenstate.training.fit import train
from eigenstate.training.runs import Run

NO_ROOM = os.strerror(errno.ENOSPC)


def full_from(monkeypatch, name, count):
    """No room for the file `name` from the time on when it is written for the `count`th time."""
    replace, seen = os.replace, []

    def write(source, target):
        seen.append(1) if os.path.basename(target) == name else None
        if len(seen) >= count:
            raise OSError(errno.ENOSPC, NO_ROOM)
        return replace(source, target)

    monkeypatch.setattr(os, "replace", write)


@pytest.fixture
def whole(tmp_path):
    run = started(tmp_path / "whole")
    train(run, progress=False)
    return run


@pytest.mark.parametrize(
    ("name", "count"), [("metrics.csv", 1), ("metrics.csv", 3), ("checkpoint.pt", 2), ("metrics.json", 1)]
)  # fmt: skip
def test_a_run_stops_in_one_line_and_goes_on(tmp_path, monkeypatch, capsys, whole, name, count):
    run = started(tmp_path / "run")
    with monkeypatch.context() as patch:
        full_from(patch, name, count)
        assert main(["train", "--resume", str(run.folder)]) == 1
    said = capsys.readouterr().err
    line = f"stopped: {run.folder / name}: could not be written: {NO_ROOM}; make room on its disk\n"
    assert line in said and f"eigenstate train --resume {run.folder}" in said
    assert "Traceback" not in said and not run.summary.exists()
    assert not list(run.folder.glob(".*"))
    assert main(["train", "--resume", str(run.folder)]) == 0
    assert_same_weights(Run.open(run.folder), whole)
    assert run.picture.stat().st_size == whole.picture.stat().st_size


def test_a_folder_that_cannot_be_written_to_any_more(tmp_path, monkeypatch, capsys):
    """As on a disk that is mounted again for reading only: the clean-up fails as well."""
    run = started(tmp_path / "run")
    (run.folder / ".left.tmp").touch()

    def refuse(*_, **__):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", refuse)
        patch.setattr("pathlib.Path.unlink", refuse)
        assert main(["train", "--resume", str(run.folder)]) == 1
    said = capsys.readouterr().err
    assert "metrics.csv: could not be written: Read-only file system; choose a place" in said


def test_a_picture_without_room_is_left_out(tmp_path, monkeypatch, capsys):
    run = started(tmp_path / "run")
    with monkeypatch.context() as patch:
        full_from(patch, "learning_curve.png", 1)
        assert main(["train", "--resume", str(run.folder)]) == 0
    assert f"no learning curve: {run.picture}: could not" in capsys.readouterr().err
    assert run.summary.exists() and not run.picture.exists()
