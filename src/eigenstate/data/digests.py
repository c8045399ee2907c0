"""One digest of what files hold, remembered so that a large set is not read twice to know it.

It is remembered under what the file system says of the files: places, sizes and times, among them
the time of the last change of any kind, which a copy that keeps its times, or an edit that sets
them back, cannot keep.
"""

import contextlib
import hashlib
import json
import os
import re
import time
from collections.abc import Sequence
from pathlib import Path

from eigenstate.data.cache import cache_folder
from eigenstate.data.progress import Progress
from eigenstate.files import replace_text

# A file changed so recently could change again within the same tick of the file system's clock.
RECENT = 2_000_000_000  # ns


def content_digest(sources: Sequence[Path], root: Path) -> str:
    """Return a digest of the files' names, relative to `root`, and of every byte they hold."""
    begun = time.time_ns()
    known_by = _outside(sources, root)
    remembered = cache_folder() / "digests" / known_by
    with contextlib.suppress(OSError, ValueError):
        digest = remembered.read_text(encoding="ascii")
        if re.fullmatch("[0-9a-f]{64}", digest):
            return digest
    digest = _inside(sources, root)
    newest = max((os.stat(path).st_ctime_ns for path in sources), default=0)
    if newest < begun - RECENT and _outside(sources, root) == known_by:
        with contextlib.suppress(OSError):  # then it is read again the next time
            remembered.parent.mkdir(parents=True, exist_ok=True)
            replace_text(remembered, digest)
    return digest


def _outside(sources: Sequence[Path], root: Path) -> str:
    digest = hashlib.sha256(os.path.abspath(root).encode())
    for path in sources:
        s = os.stat(path)
        numbers = [s.st_dev, s.st_ino, s.st_size, s.st_mtime_ns, s.st_ctime_ns]
        digest.update(json.dumps([os.path.relpath(path, root), *numbers]).encode())
    return digest.hexdigest()


def _inside(sources: Sequence[Path], root: Path) -> str:
    digest = hashlib.sha256()
    with Progress("looking for changes in files", len(sources)) as progress:
        for done, path in enumerate(sources, 1):
            with path.open("rb") as file:
                content = hashlib.file_digest(file, "sha256").hexdigest()
            digest.update(json.dumps([os.path.relpath(path, root), content]).encode())
            progress(done)
    return digest.hexdigest()
