"""Arrays that take a while to generate, kept in a file between runs."""

import hashlib
import os
import sys
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from eigenstate.files import replace_file

Arrays = dict[str, np.ndarray]
DIGEST = "sha256"  # the entry that holds the checksum of all others


def cached(name: str, generate: Callable[[], Arrays]) -> Arrays:
    """Return the arrays stored as `name`, or generate and store them.

    `name` has to change whenever the arrays do. They are compared with their checksum; a damaged
    file is generated anew, and where none can be written the arrays come from memory. Both are
    said in one line on stderr.
    """
    path = cache_folder() / f"{name}.npz"
    try:
        return _read(path)
    except (FileNotFoundError, NotADirectoryError):
        pass
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        print(f"{path}: unusable ({error}); generating it again", file=sys.stderr)
    arrays = generate()
    try:
        _write(path, arrays)
    except OSError as error:
        reason = error.strerror or error
        print(f"{path}: cannot be stored ({reason}); the next run generates it again",
              file=sys.stderr)  # fmt: skip
    return arrays


def cache_folder() -> Path:
    """Return $XDG_CACHE_HOME/eigenstate, or ~/.cache/eigenstate."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    # The specification says that a relative path is to be ignored.
    base = Path(given) if os.path.isabs(given) else Path(os.path.expanduser("~")) / ".cache"
    return base / "eigenstate"


def _read(path: Path) -> Arrays:
    # A handle of our own, as NumPy leaves its own open when the archive is damaged.
    with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    if str(arrays.pop(DIGEST)) != _digest(arrays):
        raise ValueError("its checksum is wrong")
    return arrays


def _write(path: Path, arrays: Arrays) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    stored = arrays | {DIGEST: np.array(_digest(arrays))}
    replace_file(path, lambda file: np.savez(file, allow_pickle=False, **stored))


def _digest(arrays: Mapping[str, np.ndarray]) -> str:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.data)
    return digest.hexdigest()
