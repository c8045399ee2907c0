"""eigenstate data make KIND --out DIR"""

import json
import shlex
import sys
import time
from collections.abc import Callable
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eigenstate.cli.arguments import UsageError, did_you_mean, new_parser, parse

FAILURE = 1
LARGEST_SEED = 2**32 - 1
ABOUT = """\
Generate a data set and write it in the files of the published one, so that whatever reads those
reads these.

kinds:
  listops       nested lists to evaluate; --count to learn from (96,000), and as many to validate
                and to test, 2,000 at most
  pathfinder    are two points joined by a dashed path: --count pictures (200,000) of --size pixels
  pendulum      pend_regression.npz, the published arrays: no seed, no count
  spoken-words  the 35 words of Speech Commands, --count clips of each (500), spoken by espeak-ng
                (apt-get install espeak-ng)"""
MORE = """\
DIR appears when everything in it is written. The same seed gives the same files, however many
workers write them.

examples:
  eigenstate data make listops --out data/listops-1000 --seed 0
  eigenstate data make pathfinder --size 32 --count 20000 --workers 2 --out data/pathfinder32
  eigenstate data make spoken-words --out data/spoken-words
"""


@dataclass(frozen=True)
class Order:
    """What was asked for; None where nothing was said."""

    seed: int | None
    count: int | None
    size: int | None
    workers: int


@dataclass(frozen=True)
class Kind:
    """A data set that can be made: what an order may say, who makes it, which tasks read it."""

    allowed: tuple[str, ...]
    make: Callable[[Path, Order], str]
    tasks: tuple[str, ...]


def data(argv: list[str]) -> int:
    """Make a data set."""
    parser = _parser()
    if not argv or argv[0] in ("-h", "--help"):
        parser.print_help()
        return 0 if argv else 2
    if argv[0] != "make":
        raise UsageError(f"expected `eigenstate data make KIND --out DIR`, got {argv[0]!r}")
    given = parse(parser, argv[1:])
    if given is None:
        return 0
    kind, order = _order(given)
    return _make(given.kind, kind, order, given.out)


def _order(given: Any) -> tuple[Kind, Order]:
    if given.kind is None:
        raise UsageError(f"make what? eigenstate data make {'|'.join(KINDS)} --out DIR")
    if given.kind not in KINDS:
        near = did_you_mean(given.kind, KINDS)
        raise UsageError(f"nothing is called {given.kind!r}.{near} Kinds: {', '.join(KINDS)}")
    if given.out is None:
        raise UsageError(f"where to? eigenstate data make {given.kind} --out DIR")
    kind = KINDS[given.kind]
    for name in ("seed", "count", "size", "workers"):
        if given[name] is not None and name not in kind.allowed:
            raise UsageError(f"--{name}: {given.kind} has no {name} to choose; leave it out")
    if given.seed is not None and not 0 <= given.seed <= LARGEST_SEED:
        raise UsageError(f"--seed: expected 0 to {LARGEST_SEED}, got {given.seed}")
    for name in ("count", "workers"):
        if given[name] is not None and given[name] < 1:
            raise UsageError(f"--{name}: expected at least 1, got {given[name]}")
    if given.size not in (None, 32, 128):
        raise UsageError(f"--size: expected 32 or 128, got {given.size}")
    return kind, Order(given.seed, given.count, given.size, given.workers or 1)


def _make(name: str, kind: Kind, order: Order, out: Path) -> int:
    from eigenstate import __version__
    from eigenstate.data.finished import finished_folder
    from eigenstate.data.spoken_words import SpeakerError

    start = time.monotonic()
    try:
        with finished_folder(out) as folder:
            made = kind.make(folder, order)
            seed = (order.seed or 0) if "seed" in kind.allowed else None
            notes = {"kind": name, "seed": seed, "made": made, "eigenstate": __version__}
            (folder / "made.json").write_text(json.dumps(notes, indent=2) + "\n", encoding="utf-8")
    except (FileExistsError, ImportError, SpeakerError) as error:
        raise UsageError(str(error)) from None
    except (OSError, BrokenExecutor) as error:
        reason = getattr(error, "strerror", None) or error
        print(f"eigenstate data: stopped: {out}: {reason}. Nothing was kept", file=sys.stderr)
        return FAILURE
    print(f"{made} in {out} ({time.monotonic() - start:.0f} s)")
    for task in kind.tasks[:1] if order.size != 128 else kind.tasks[1:]:
        print(f"  eigenstate train {task} --data {shlex.quote(str(out))}")
    return 0


def _listops(folder: Path, order: Order) -> str:
    from eigenstate.data.listops_generator import PUBLISHED, write_listops

    train = PUBLISHED[0] if order.count is None else order.count
    counts = (train, min(train, PUBLISHED[1]), min(train, PUBLISHED[2]))
    write_listops(folder, seed=order.seed or 0, counts=counts, workers=order.workers)
    return f"{counts[0]:,} + {counts[1]:,} + {counts[2]:,} sequences"


def _pathfinder(folder: Path, order: Order) -> str:
    from eigenstate.data.pathfinder_generator import PUBLISHED, write_pathfinder

    size, count = order.size or 32, order.count or PUBLISHED
    write_pathfinder(folder, size=size, seed=order.seed or 0, count=count, workers=order.workers)
    return f"{count:,} pictures of {size} x {size} pixels"


def _pendulum(folder: Path, order: Order) -> str:
    from eigenstate.data.pendulum_generator import FILE, write_pendulum

    write_pendulum(folder)
    return f"{FILE}: 2,000 + 1,000 + 1,000 sequences of 100 frames"


def _spoken_words(folder: Path, order: Order) -> str:
    from eigenstate.data.spoken_words import CLIPS, WORDS, write_spoken_words

    count = order.count or CLIPS
    write_spoken_words(folder, seed=order.seed or 0, count=count, workers=order.workers)
    return f"{count:,} clips of each of {len(WORDS)} words"


KINDS = {
    "listops": Kind(("seed", "count", "workers"), _listops, ("listops",)),
    "pathfinder": Kind(("seed", "count", "size", "workers"), _pathfinder, ("pathfinder", "pathx")),
    "pendulum": Kind((), _pendulum, ()),
    "spoken-words": Kind(("seed", "count", "workers"), _spoken_words, ("spoken-words",)),
}


def _parser() -> Any:
    parser = new_parser("data make", "KIND --out DIR [options]", ABOUT, MORE)
    parser.add_argument("kind", metavar="KIND", nargs="?", help=", ".join(KINDS))
    parser.add_argument("--out", metavar="DIR", type=Path, help="a folder that is new or empty")
    parser.add_argument("--seed", metavar="N", type=int, help="of all random numbers (0)")
    parser.add_argument("--count", metavar="N", type=int, help="how many")
    parser.add_argument("--size", metavar="N", type=int, help="pathfinder: 32 or 128 (32)")
    parser.add_argument("--workers", metavar="N", type=int, help="processes (1)")
    return parser
