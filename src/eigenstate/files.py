"""Files that are either the old one or the new one, whole: never half of either."""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO


class CheckpointError(RuntimeError):
    """A checkpoint that cannot be written or read; names the file and the reason."""


def replace_file(path: Path, write: Callable[[BinaryIO], Any]) -> None:
    """Let `write` fill a temporary neighbour of `path`, then put that in its place.

    A process killed at any moment leaves the old file or the new one, and perhaps a temporary
    file for `remove_leftovers`. An error while writing leaves the old file.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def replace_text(path: Path, text: str) -> None:
    """Put a text file in the place of `path`."""
    replace_file(path, lambda file: file.write(text.encode("utf-8")))


def replace_json(path: Path, values: Mapping[str, Any]) -> None:
    """Put a JSON file in the place of `path`."""
    replace_text(path, json.dumps(values, indent=2) + "\n")


def remove_leftovers(folder: Path) -> None:
    """Remove what killed writers left behind in `folder`."""
    for leftover in folder.glob(".*.tmp"):
        leftover.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """Make the renaming itself survive a power cut, where folders can be synced."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
