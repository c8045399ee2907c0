"""Prepared arrays: made once, made again when anything changed or broke, never half there; and
how a data set's folder is found."""

import errno
import os
import shutil

import numpy as np
import pytest
from true_formats import write

from eigenstate.data.places import Wanted, find_folder
from eigenstate.data.prepared import prepared

pytestmark = pytest.mark.usefixtures("cache")


@pytest.fixture
def source(tmp_path):
    return write(tmp_path / "data" / "a.txt", "abc")


class Maker:
    """Writes two arrays piece by piece, and counts how often it was asked."""

    def __init__(self, fail=None):
        self.calls, self.fail = 0, fail

    def __call__(self, writer):
        self.calls += 1
        for i in range(5):
            writer.append("pixels", np.full((i, 2, 3), i, np.uint8))
            writer.append("count", np.array([i], np.float64))
        if self.fail:
            raise self.fail
        return {"names": ["x", "é"]}


def get(source, make, **settings):
    return prepared("thing", [source], root=source.parent, settings=settings, make=make)


def test_arrays_grow_row_by_row_and_come_back(source):
    make = Maker()
    for _ in range(2):
        stored = get(source, make)
        truth = np.repeat(np.arange(5, dtype=np.uint8), np.arange(5))
        assert np.array_equal(stored.arrays["pixels"], np.tile(truth[:, None, None], (1, 2, 3)))
        assert stored.arrays["count"].tolist() == [0, 1, 2, 3, 4]
        assert isinstance(stored.arrays["count"], np.memmap) and stored.notes["names"] == ["x", "é"]
        with pytest.raises(ValueError, match="read-only"):
            stored.arrays["count"][0] = 1
    assert make.calls == 1


def test_the_files_are_plain_npy(source, cache):
    get(source, Maker())
    (folder,) = cache.iterdir()
    assert np.load(folder / "pixels.npy").shape == (10, 2, 3)
    assert sorted(path.name for path in folder.iterdir()) == [
        "count.npy", "index.json", "pixels.npy",
    ]  # fmt: skip


def test_whatever_changes_makes_them_again(source, tmp_path):
    make = Maker()
    get(source, make)
    get(source, make, level=1)
    assert make.calls == 2
    source.write_text("abd")
    get(source, make)
    assert make.calls == 3
    source.rename(source.with_name("b.txt"))
    get(source.with_name("b.txt"), make)
    assert make.calls == 4


def test_the_same_content_anywhere_at_any_time_is_the_same(source, tmp_path):
    make = Maker()
    get(source, make)
    os.utime(source, ns=(1, 1))
    get(source, make)
    moved = shutil.move(source.parent, tmp_path / "elsewhere")
    get(moved / "a.txt", make)
    assert make.calls == 1


def test_another_content_under_the_same_name_size_and_time_is_another(source, tmp_path):
    os.utime(source, ns=(1, 1))
    other = write(tmp_path / "copy" / "a.txt", "abd")
    os.utime(other, ns=(1, 1))
    make = Maker()
    get(source, make)
    get(other, make)
    assert make.calls == 2


@pytest.mark.parametrize(
    "damage", ["flip", "header", "cut", "extend", "remove", "index", "swap", "no index"]
)
def test_a_damaged_folder_is_made_again(source, cache, damage, capsys):
    make = Maker()
    get(source, make)
    (folder,) = cache.iterdir()
    path, data = folder / "pixels.npy", bytearray((folder / "pixels.npy").read_bytes())
    if damage == "flip":
        data[-1] ^= 1
        path.write_bytes(data)
    elif damage == "header":
        data[12] ^= 64
        path.write_bytes(data)
    elif damage == "cut":
        path.write_bytes(data[:-1])
    elif damage == "extend":
        np.save(path, np.zeros((11, 2, 3), np.uint8))
    elif damage == "remove":
        path.unlink()
    elif damage == "index":
        (folder / "index.json").write_text("{")
    elif damage == "swap":
        shutil.copy(folder / "count.npy", path)
    else:
        (folder / "index.json").unlink()
    assert get(source, make).arrays["pixels"].shape == (10, 2, 3)
    assert make.calls == 2 and list(cache.iterdir()) == [folder]
    said = capsys.readouterr().err
    assert f"{folder}: unusable (" in said and said.endswith("preparing it again\n")


@pytest.mark.parametrize(
    "failure", [ValueError("row 3"), KeyboardInterrupt(), OSError(5, "x", "y")]
)
def test_a_failure_leaves_nothing(source, cache, failure):
    with pytest.raises(type(failure)) as caught:
        get(source, Maker(failure))
    assert caught.value is failure
    assert list(cache.iterdir()) == []


def test_a_full_disk_is_named(source, cache, monkeypatch):
    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(
        OSError, match=r"could not be stored \(No space left on device\); make room, or"
    ):
        get(source, Maker())
    assert list(cache.iterdir()) == []


def test_a_cache_that_cannot_be_made_is_named(source, cache):
    write(cache, "a file where the folder should be")
    with pytest.raises(OSError, match=r"could not be stored .*XDG_CACHE_HOME"):
        get(source, Maker())


def test_another_process_may_be_quicker(source):
    inner, outer = Maker(), Maker()

    def slow(writer):
        get(source, inner)
        return outer(writer)

    assert get(source, slow).arrays["pixels"].shape == (10, 2, 3)
    assert inner.calls == outer.calls == 1


def test_a_source_that_changes_while_it_is_read_is_refused(source, cache):
    def make(writer):
        source.write_text("abd")
        return Maker()(writer)

    with pytest.raises(ValueError, match="a file changed while it was read; start again"):
        get(source, make)
    assert list(cache.iterdir()) == []


def test_a_damaged_folder_may_be_removed_by_another_process(source, cache, monkeypatch):
    get(source, Maker())
    (folder,) = cache.iterdir()
    (folder / "index.json").write_text('{"arrays": []}')
    rename = os.rename

    def late(old, new):
        if old == folder:
            shutil.rmtree(folder)
        return rename(old, new)

    monkeypatch.setattr(os, "rename", late)
    assert get(source, Maker()).arrays["pixels"].shape == (10, 2, 3)
    assert list(cache.iterdir()) == [folder]


def test_old_leftovers_are_removed(source, cache):
    old, new = cache / ".thing-1.1.tmp", cache / ".thing-2.2.tmp"
    for folder in (old, new):
        write(folder / "pixels.npy", "half")
    os.utime(old, (0, 0))
    get(source, Maker())
    assert not old.exists() and new.exists()


def test_rows_of_another_shape_are_refused(source):
    def make(writer):
        writer.append("x", np.zeros((1, 2), np.uint8))
        writer.append("x", np.zeros((1, 3), np.uint8))
        return {}

    with pytest.raises(
        ValueError, match=r"rows: expected uint8 of shape \(n, 2\), got uint8 of .*3"
    ):
        get(source, make)


# --- places ---------------------------------------------------------------------------------------

WANTED = Wanted("letters", ("a.txt", ("b.txt", "b.txt.gz")), named=("letters",))


def place(folder):
    write(folder / "a.txt", "a")
    write(folder / "b.txt.gz", "b")
    return folder


@pytest.mark.parametrize("nesting", ["", "x", "x/y/z"])
def test_a_folder_is_found_at_any_nesting(tmp_path, nesting):
    folder = place(tmp_path / nesting)
    assert find_folder(tmp_path, WANTED) == folder


def test_of_several_the_name_decides_then_the_inner_release(tmp_path):
    place(tmp_path / "one")
    place(tmp_path / "two")
    with pytest.raises(ValueError, match=r"2 folders below .* hold letters; .*one, .*two"):
        find_folder(tmp_path, WANTED)
    outer = place(tmp_path / "lra_release" / "Letters")
    assert find_folder(tmp_path, WANTED) == outer
    inner = place(tmp_path / "lra_release" / "lra_release" / "Letters")
    assert find_folder(tmp_path, WANTED) == inner
    assert find_folder(tmp_path / "one", WANTED) == tmp_path / "one"


def test_what_was_looked_for_is_listed(tmp_path):
    write(tmp_path / "x" / "b.txt", "b")
    write(tmp_path / "letters.tar.gz", "")
    with pytest.raises(FileNotFoundError) as caught:
        find_folder(tmp_path, WANTED)
    assert str(caught.value) == (
        f"data: found no letters in {tmp_path}: looked for a.txt, b.txt or b.txt.gz, together in "
        f"one folder, in {tmp_path} and the 1 folders below it; closest is {tmp_path / 'x'}, which "
        "lacks a.txt; unpack letters.tar.gz first"
    )


def test_a_folder_that_is_none_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"data: no such folder: .*nowhere"):
        find_folder(tmp_path / "nowhere", WANTED)
    archive = write(tmp_path / "letters.zip", "")
    with pytest.raises(NotADirectoryError, match=r"got the file .*letters\.zip; unpack it first"):
        find_folder(archive, WANTED)


def test_what_was_never_finished_is_left_out(tmp_path):
    half = place(tmp_path / "letters.partial-17")
    with pytest.raises(FileNotFoundError, match="found no letters"):
        find_folder(tmp_path, WANTED)
    with pytest.raises(ValueError, match="was never finished being written"):
        find_folder(half, WANTED)
    whole = place(tmp_path / "other")
    assert find_folder(tmp_path, WANTED) == whole
