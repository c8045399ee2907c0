"""ListOps: nested lists of MIN, MAX, MED and SM over digits, and what they come to.

The recipe of Y. Tay et al., "Long Range Arena", arXiv:2011.04006, section 3.1.1, after N. Nangia
and S. Bowman, "ListOps", arXiv:1804.06028, written in the files of the published set.
"""

import hashlib
import random
from collections.abc import Callable, Generator
from contextlib import closing
from functools import partial
from itertools import count, islice
from pathlib import Path

from eigenstate.data.progress import Progress
from eigenstate.data.workers import in_order

PUBLISHED = 96_000, 2_000, 2_000  # training, validation, test
FILES = "basic_train.tsv", "basic_val.tsv", "basic_test.tsv"
HEADER = "Source\tTarget\n"

DEPTH = 10  # of the deepest digits; the outermost operator stands at 1
ARGUMENTS = 2, 10
NESTED = 0.25  # probability that an argument is itself a list
LENGTH = 500, 2000  # tokens without parentheses: more than, less than
CHUNK = 100  # sequences that are drawn from one random generator


def write_listops(
    folder: Path, *, seed: int, counts: tuple[int, int, int] = PUBLISHED, workers: int = 1
) -> None:
    """Write basic_train.tsv, basic_val.tsv and basic_test.tsv with `counts` sequences to `folder`.

    No sequence occurs twice. The files depend on `seed` and on the sum of the counts before them,
    not on `workers`.
    """
    with (
        closing(_distinct(seed, workers)) as sequences,
        Progress("ListOps sequences", sum(counts)) as progress,
    ):
        done = 0
        for name, size in zip(FILES, counts, strict=True):
            with (folder / name).open("w", encoding="utf-8", newline="") as file:
                file.write(HEADER)
                for source, value in islice(sequences, size):
                    file.write(f"{source}\t{value}\n")
                    done += 1
                    progress(done)


def draw(rng: random.Random) -> tuple[str, int]:
    """Return one sequence of the right length, with its parentheses, and its value."""
    while True:
        words: list[str] = []
        try:
            value, length = _element(rng, words, 1, LENGTH[1] - 1)
        except _TooLong:
            continue
        if length > LENGTH[0]:
            return " ".join(words), value


class _TooLong(Exception):
    """Drawing on could only be thrown away."""


def _element(rng: random.Random, words: list[str], depth: int, room: int) -> tuple[int, int]:
    """Append a digit or a list to `words`; return its value and its tokens without parentheses."""
    if depth == DEPTH or rng.random() > NESTED:
        if room < 1:
            raise _TooLong
        digit = rng.randint(0, 9)
        words.append(str(digit))
        return digit, 1
    arguments = rng.randint(*ARGUMENTS)
    name, combine = OPERATORS[rng.randrange(len(OPERATORS))]
    # ( ( ( [MAX 2 ) 9 ) ] ): the operator takes its arguments and its end one by one.
    words += ["("] * (arguments + 1)
    words.append(f"[{name}")
    values, length = [], 2
    for _ in range(arguments):
        value, tokens = _element(rng, words, depth + 1, room - length)
        words.append(")")
        values.append(value)
        length += tokens
    words += ["]", ")"]
    return combine(values), length


def _median(values: list[int]) -> int:
    """Return the median, rounded down."""
    values = sorted(values)
    return (values[(len(values) - 1) // 2] + values[len(values) // 2]) // 2


def _sum(values: list[int]) -> int:
    return sum(values) % 10


OPERATORS: tuple[tuple[str, Callable[[list[int]], int]], ...] = (
    ("MIN", min),
    ("MAX", max),
    ("MED", _median),
    ("SM", _sum),
)


def _chunk(seed: int, number: int) -> list[tuple[str, int]]:
    rng = random.Random(f"{seed} {number}")
    return [draw(rng) for _ in range(CHUNK)]


def _distinct(seed: int, workers: int) -> Generator[tuple[str, int], None, None]:
    seen: set[bytes] = set()
    with closing(in_order(partial(_chunk, seed), count(), workers=workers)) as chunks:
        for chunk in chunks:
            for source, value in chunk:
                key = hashlib.blake2b(source.encode(), digest_size=16).digest()
                if key not in seen:
                    seen.add(key)
                    yield source, value
