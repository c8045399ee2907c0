"""Files that are either the old one or the new one, whole: never half of either."""

import contextlib
import errno
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO


class CheckpointError(RuntimeError):
    """A checkpoint that cannot be read, or weights not written; names the file and the reason."""


class WriteError(OSError):
    """A file that could not be written; names it, the reason, and what to do."""

    def __str__(self) -> str:
        full = self.errno in (errno.ENOSPC, errno.EDQUOT)
        advice = "make room on its disk" if full else "choose a place that can be written to"
        return f"{self.filename}: could not be written: {self.strerror}; {advice}"


def replace_file(path: Path, write: Callable[[BinaryIO], Any]) -> None:
    """Let `write` fill a temporary neighbour of `path`, then put that in its place.

    A process killed at any moment leaves the old file or the new one, and perhaps a temporary
    file for `remove_leftovers`. WriteError: it could not be written; the old file stays.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException as error:
        with contextlib.suppress(OSError):  # what hindered the writing may hinder this
            temporary.unlink()
        if isinstance(error, OSError):
            reason = error.strerror or str(error)
            raise WriteError(error.errno, reason, str(path)) from error
        raise
    _sync_folder(path.parent)


def replace_text(path: Path, text: str) -> None:
    """Put a text file in the place of `path`."""
    replace_file(path, lambda file: file.write(text.encode("utf-8")))


def replace_json(path: Path, values: Mapping[str, Any]) -> None:
    """Put a JSON file in the place of `path`."""
    replace_text(path, json.dumps(values, indent=2) + "\n")


def remove_leftovers(folder: Path) -> None:
    """Remove what killed writers left behind in `folder`, where that may be written to."""
    for leftover in folder.glob(".*.tmp"):
        with contextlib.suppress(OSError):
            leftover.unlink()


def _sync_folder(folder: Path) -> None:
    """Make the renaming itself survive a power cut, where folders can be synced."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
