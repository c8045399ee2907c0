"""ListOps: what does a nested list of operations on digits come to? (Tay et al., 2021).

Nangia and Bowman, "ListOps", arXiv:1804.06028; Long Range Arena, arXiv:2011.04006, section 2.2.1.
"""

from collections import Counter
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from eigenstate.data.base import Splits, Task
from eigenstate.data.places import Wanted, find_folder
from eigenstate.data.prepared import ArrayWriter, prepared
from eigenstate.data.tokens import stored_tokens
from eigenstate.data.tsv import read_rows
from eigenstate.data.vocabulary import SPECIALS, Vocabulary

FILES = {part: f"basic_{part}.tsv" for part in ("train", "val", "test")}
COLUMNS = ("Source", "Target")
MAX_LENGTH = 2048
WORDS = ("[MIN", "[MAX", "[MED", "[SM", "X", *"0123456789")
# As the published code does: parentheses only group what the operators group already.
SPELLING = str.maketrans({"]": "X", "(": None, ")": None})


def read_listops(folder: Path, *, published_order: bool = False) -> Splits:
    """Read basic_train.tsv, basic_val.tsv and basic_test.tsv at or below `folder`.

    A source is its operators, digits and closing brackets, at most 2,047 of them, then <eos>.
    Tokens have the same numbers in every data set; with `published_order` they are numbered by how
    often they occur in the training file, as published, which only permutes the one-hot channels.
    Errors name the file and line: another header, a token or a target that ListOps does not have.
    """
    wanted = Wanted("ListOps", tuple(FILES.values()), named=("listops-1000", "listops"))
    place = find_folder(Path(folder), wanted)
    stored = prepared(
        "listops",
        [place / name for name in FILES.values()],
        root=place,
        settings={"published_order": published_order},
        make=partial(_prepare, place, published_order),
    )
    return Splits(*(stored_tokens(LISTOPS, stored, part) for part in ("train", "test", "val")))


def _prepare(place: Path, published_order: bool, writer: ArrayWriter) -> Mapping[str, Any]:
    vocabulary = Vocabulary((*SPECIALS, *WORDS))
    if published_order:
        counts: Counter[str] = Counter()
        for _, (source, _) in read_rows(place / FILES["train"], COLUMNS, header=True):
            counts.update(_words(source))
        vocabulary = Vocabulary.from_counts(counts)
    for part, name in FILES.items():
        _write_part(place / name, part, vocabulary, writer)
    return {"tokens": vocabulary.tokens}


def _write_part(path: Path, part: str, vocabulary: Vocabulary, writer: ArrayWriter) -> None:
    known = set(WORDS)
    for line, (source, target) in read_rows(path, COLUMNS, header=True):
        words = _words(source)
        strange = next((word for word in words if word not in known), None)
        if strange is not None or not words:
            got = "nothing" if strange is None else repr(strange)
            raise ValueError(
                f"{path}, line {line}: expected tokens among {' '.join(WORDS[:4])} ] 0 .. 9, got "
                f"{got}; is this the ListOps file as released?"
            )
        if len(target) != 1 or target not in "0123456789":
            raise ValueError(f"{path}, line {line}: expected a target 0 to 9, got {target!r}")
        tokens = vocabulary.encode(words).astype(np.uint8)
        writer.append(f"{part}_tokens", tokens)
        writer.append(f"{part}_lengths", np.array([len(tokens)], dtype=np.int32))
        writer.append(f"{part}_labels", np.array([int(target)], dtype=np.int8))


def _words(source: str) -> list[str]:
    return source.translate(SPELLING).split()[: MAX_LENGTH - 1]


LISTOPS = Task(
    name="listops",
    summary="what nested MIN, MAX, MED, SUM MOD come to: 96,000 + 2,000 + 2,000, up to 2,048 long",
    kind="classification",
    inputs="tokens",
    d_input=20,
    class_names=tuple("0123456789"),
    max_length=MAX_LENGTH,
    source="Long Range Arena ListOps (listops-1000), Tay et al., arXiv:2011.04006",
    licence="Apache-2.0",
    reader=read_listops,
)
