"""A folder that appears when everything in it is written."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def finished_folder(path: Path) -> Iterator[Path]:
    """Yield an empty folder beside `path`, which becomes `path` at the end.

    After an error or Ctrl-C nothing is left; a killed process leaves `PATH.partial-<number>`.
    FileExistsError: there is a file of that name or above it, or a folder with something in it.
    """
    path = Path(os.path.abspath(path))
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise FileExistsError(f"{path}: already there and not an empty folder; choose another name")
    for above in path.parents:
        if above.exists() and not above.is_dir():
            raise FileExistsError(f"{path}: {above} is a file, not a folder; choose another name")
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.partial-{os.getpid()}")
    partial.mkdir()
    try:
        yield partial
        if path.exists():
            path.rmdir()
        os.replace(partial, path)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
