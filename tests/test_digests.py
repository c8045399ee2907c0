"""What files hold, as one digest: remembered until they change, and never trusted when damaged."""

import os

import pytest
from true_formats import write

from eigenstate.data import digests

pytestmark = pytest.mark.usefixtures("cache")


@pytest.fixture
def source(tmp_path):
    return write(tmp_path / "data" / "a.txt", "abc")


def test_what_files_hold_is_remembered_until_they_change(source, monkeypatch):
    monkeypatch.setattr(digests, "RECENT", 0)
    read = []
    inside = digests._inside
    monkeypatch.setattr(digests, "_inside", lambda *given: read.append(1) or inside(*given))
    digest = [digests.content_digest([source], source.parent) for _ in range(2)]
    assert digest[0] == digest[1] and len(read) == 1
    before = source.stat()
    source.write_text("abd")
    os.utime(source, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert digests.content_digest([source], source.parent) != digest[0]
    assert len(read) == 2


def test_a_file_that_has_just_changed_is_read_again(source, cache):
    digests.content_digest([source], source.parent)
    assert not cache.exists()


@pytest.mark.parametrize("damage", [b"", b"\xff" * 64, b"z" * 64])
def test_a_damaged_memory_of_contents_is_made_again(source, cache, monkeypatch, damage):
    monkeypatch.setattr(digests, "RECENT", 0)
    digest = digests.content_digest([source], source.parent)
    (remembered,) = (cache / "digests").iterdir()
    remembered.write_bytes(damage)
    assert digests.content_digest([source], source.parent) == digest
    assert remembered.read_text() == digest
