"""Checkpoints: the old one or the new one, whole, and never code."""

import errno
import os
import random
import signal
import time

import pytest
import torch

from eigenstate.files import CheckpointError, WriteError, remove_leftovers, replace_text
from eigenstate.training.checkpoints import read_checkpoint, write_checkpoint


def content(number):
    """A checkpoint of 2 MB, all of whose parts say the same number."""
    return {"number": number, "weights": torch.full((500, 500), float(number)), "name": "x"}


def number_in(path):
    checkpoint = read_checkpoint(path)
    assert (checkpoint["weights"] == checkpoint["number"]).all()
    return checkpoint["number"]


def test_what_is_written_is_read(tmp_path):
    path = tmp_path / "checkpoint.pt"
    write_checkpoint(path, content(1))
    write_checkpoint(path, content(2))
    assert number_in(path) == 2
    assert torch.load(path, weights_only=True)["number"] == 2
    assert [entry.name for entry in tmp_path.iterdir()] == ["checkpoint.pt"]
    assert path.stat().st_mode & 0o777 == 0o666 & ~umask()


def umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_writer_killed_at_any_moment_leaves_a_whole_checkpoint(tmp_path):
    path = tmp_path / "checkpoint.pt"
    write_checkpoint(path, content(0))
    rng, last = random.Random(0), 0
    for _ in range(20):
        writer = os.fork()
        if writer == 0:
            number = last
            while True:
                number += 1
                write_checkpoint(path, content(number))
        time.sleep(rng.uniform(0, 0.05))
        os.kill(writer, signal.SIGKILL)
        os.waitpid(writer, 0)
        number = number_in(path)
        assert number >= last
        last = number
    assert last > 0
    remove_leftovers(tmp_path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["checkpoint.pt"]


def test_a_full_disk_leaves_the_old_checkpoint(tmp_path, monkeypatch):
    path = tmp_path / "checkpoint.pt"
    write_checkpoint(path, content(1))

    def full(_descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(
        WriteError, match=r"checkpoint.pt: could not be written: .*space left.*; make room"
    ):
        write_checkpoint(path, content(2))
    assert number_in(path) == 1
    assert [entry.name for entry in tmp_path.iterdir()] == ["checkpoint.pt"]


def test_flipped_bits_and_cuts_are_noticed(tmp_path):
    path = tmp_path / "checkpoint.pt"
    small = {"number": 1, "weights": torch.arange(40.0)}
    write_checkpoint(path, small)
    whole = path.read_bytes()
    rng, silent = random.Random(0), 0
    for _ in range(150):
        bits = bytearray(whole)
        place = rng.randrange(len(bits))
        bits[place] ^= 1 << rng.randrange(8)
        path.write_bytes(bits)
        silent += not is_noticed(path, small)
    for cut in range(0, len(whole), len(whole) // 40):
        path.write_bytes(whole[:cut])
        silent += not is_noticed(path, small)
    assert silent == 0


def is_noticed(path, expected):
    """A damaged file is refused; damage where nothing is stored may leave the content as it was."""
    try:
        got = read_checkpoint(path)
    except CheckpointError as error:
        assert str(path) in str(error)
        return True
    return got["number"] == expected["number"] and torch.equal(got["weights"], expected["weights"])


class Intruder:
    def __reduce__(self):
        return os.mkdir, ("intruded",)


def test_code_in_a_checkpoint_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    torch.save({"state_dict": Intruder()}, tmp_path / "checkpoint.pt")
    with pytest.raises(CheckpointError, match=r"checkpoint.pt: refused"):
        read_checkpoint(tmp_path / "checkpoint.pt")
    assert not (tmp_path / "intruded").exists()


@pytest.mark.parametrize("name", ["missing.pt", "."])
def test_no_file_is_one_clear_error(tmp_path, name):
    with pytest.raises(CheckpointError):
        read_checkpoint(tmp_path / name)


def test_text_is_replaced_whole(tmp_path):
    replace_text(tmp_path / "a.txt", "Δ = 1\n")
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == "Δ = 1\n"
