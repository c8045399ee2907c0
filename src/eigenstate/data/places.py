"""Where the files of a data set lie below the folder that was given."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

DEPTH = 6  # levels below the given folder: releases nest their files at most 4 deep
MOST_FOLDERS = 20_000
ARCHIVES = (".tar.gz", ".tgz", ".tar", ".zip", "lra_release.gz")
UNFINISHED = ".partial-"  # in the name of a folder that was still being written
INNER_RELEASE = ("lra_release", "lra_release")


@dataclass(frozen=True)
class Wanted:
    """What makes a folder the right one.

    what    the data set, for people
    files   relative paths of files or folders that all have to be there; a tuple of paths means
            any one of them
    named   folder names that decide, ignoring case, where several folders have the files
    """

    what: str
    files: Sequence[str | tuple[str, ...]]
    named: Sequence[str] = ()


def find_folder(given: Path, wanted: Wanted) -> Path:
    """Return the folder at or below `given`, at most six levels deep, that holds the files wanted.

    Of several, those in a folder with one of the names asked for are preferred, then the copy in
    lra_release/lra_release, which is the one the published results were made from.
    FileNotFoundError: there is none; lists what was looked for and where, what came closest, and
    archives still to be unpacked. NotADirectoryError: `given` is a file.
    ValueError: several remain; lists them. Or `given` was never finished being written, which is
    also never looked into.
    """
    given = Path(given)
    if given.is_file():
        raise NotADirectoryError(f"data: expected a folder, got the file {given}; unpack it first")
    if not given.is_dir():
        raise FileNotFoundError(f"data: no such folder: {given}")
    if UNFINISHED in given.name:
        raise ValueError(f"data: {given} was never finished being written; make the data again")
    looked, found = _search(given, wanted)
    if not found:
        raise FileNotFoundError(_not_found(given, wanted, looked))
    best = _preferred(found, wanted.named)
    if len(best) > 1:
        raise ValueError(
            f"data: {len(best)} folders below {given} hold {wanted.what}; give the one you mean: "
            + ", ".join(map(str, best))
        )
    return best[0]


def first_of(folder: Path, names: str | tuple[str, ...]) -> Path:
    """Return the first of the names that exists in `folder`, as `find_folder` made sure."""
    names = (names,) if isinstance(names, str) else names
    return next(folder / name for name in names if (folder / name).exists())


def _search(given: Path, wanted: Wanted) -> tuple[list[Path], list[Path]]:
    """Look level by level; return all folders looked into, and those that hold what is wanted."""
    looked: list[Path] = []
    found: list[Path] = []
    level = [given]
    for _ in range(DEPTH + 1):
        below: list[Path] = []
        for folder in level:
            if len(looked) == MOST_FOLDERS:
                return looked, found
            looked.append(folder)
            if _missing(folder, wanted):
                below += _subfolders(folder)
            else:
                found.append(folder)
        level = below
    return looked, found


def _subfolders(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries if entry.is_dir())
    except PermissionError:
        return []
    return [folder / n for n in names if not n.startswith(".") and UNFINISHED not in n]


def _missing(folder: Path, wanted: Wanted) -> list[str]:
    """Return what is wanted and not there."""
    return [
        " or ".join(names)
        for names in ((entry,) if isinstance(entry, str) else entry for entry in wanted.files)
        if not any((folder / name).exists() for name in names)
    ]


def _preferred(found: list[Path], named: Sequence[str]) -> list[Path]:
    names = {name.lower() for name in named}
    best = [f for f in found if names & {part.lower() for part in f.parts}] or found
    return [f for f in best if _is_inner(f)] or best


def _is_inner(folder: Path) -> bool:
    parts = folder.parts
    return any(parts[i : i + 2] == INNER_RELEASE for i in range(len(parts) - 1))


def _not_found(given: Path, wanted: Wanted, looked: list[Path]) -> str:
    count = len(wanted.files)
    closest = min(looked, key=lambda folder: len(_missing(folder, wanted)))
    below = f" and the {len(looked) - 1:,} folders below it" if len(looked) > 1 else ""
    together = " together in one folder," if count > 1 else ""
    names = [entry if isinstance(entry, str) else " or ".join(entry) for entry in wanted.files]
    text = (
        f"data: found no {wanted.what} in {given}: looked for {', '.join(names)},{together} in "
        f"{given}{below}"
    )
    missing = _missing(closest, wanted)
    if len(missing) < count:
        text += f"; closest is {closest}, which lacks {', '.join(missing)}"
    archives = [p.name for p in sorted(given.iterdir()) if p.name.endswith(ARCHIVES)]
    if archives:
        text += f"; unpack {', '.join(archives)} first"
    return text
