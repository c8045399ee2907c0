"""Retrieval: are two papers related, read letter by letter? (Radev et al., 2013).

Radev et al., "The ACL anthology network corpus"; as a task of the Long Range Arena, Tay et al.,
arXiv:2011.04006, section 2.2.3.
"""

import ast
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from eigenstate.data.base import Splits, Task
from eigenstate.data.places import Wanted, find_folder
from eigenstate.data.prepared import ArrayWriter, Prepared, prepared
from eigenstate.data.tokens import Ragged, TokenPairs
from eigenstate.data.tsv import read_rows
from eigenstate.data.vocabulary import CharacterCounts, Vocabulary

FILES = {part: f"new_aan_pairs.{part}.tsv" for part in ("train", "eval", "test")}
COLUMNS = ("label", "id1", "id2", "text1", "text2")  # the files have no header
SIDES = ("first", "second")
MAX_LENGTH = 4000
LABELS = {"0": 0, "1": 1, "0.0": 0, "1.0": 1}


def read_retrieval(folder: Path, *, published_literals: bool = False) -> Splits:
    """Read new_aan_pairs.{train,eval,test}.tsv at or below `folder`.

    A text is its first 3,999 characters, then <eos>. The files hold each text as a Python bytes
    literal, b'...' with \\n and \\xe9 spelt out. By default it is decoded, and of its characters
    the 95 most frequent in the training texts are numbered. With `published_literals` the literal
    itself is the text, as in the published results: every document starts with b', a line end is
    two characters and é is eight, so less of it fits; its 95 characters make 98 numbers.
    Errors name the file and line: not five fields, a label other than 0 or 1, a text that is not a
    bytes literal of UTF-8.
    """
    wanted = Wanted("AAN pairs", tuple(FILES.values()), named=("tsv_data", "aan"))
    place = find_folder(Path(folder), wanted)
    stored = prepared(
        "retrieval",
        [place / name for name in FILES.values()],
        root=place,
        settings={"published_literals": published_literals},
        make=partial(_prepare, place, published_literals),
    )
    return Splits(*(_part(stored, part) for part in ("train", "test", "eval")))


def _prepare(place: Path, literal: bool, writer: ArrayWriter) -> Mapping[str, Any]:
    counts = CharacterCounts()
    for _, texts in _read(place / FILES["train"], literal):
        for text in texts:
            counts.add(text)
    most = None if literal else RETRIEVAL.d_input
    vocabulary = Vocabulary.from_counts(counts.items(), most=most)
    vocabulary.check_width(RETRIEVAL.d_input)
    for part, name in FILES.items():
        for label, texts in _read(place / name, literal):
            for side, text in zip(SIDES, texts, strict=True):
                tokens = vocabulary.encode_characters(text).astype(np.uint8)
                writer.append(f"{part}_{side}_tokens", tokens)
                writer.append(f"{part}_{side}_lengths", np.array([len(tokens)], dtype=np.int32))
            writer.append(f"{part}_labels", np.array([label], dtype=np.int8))
    return {"tokens": vocabulary.tokens}


def _read(path: Path, literal: bool) -> Iterator[tuple[int, tuple[str, str]]]:
    """Yield (label, both texts, cut) for each row."""
    for line, (label, _, _, *texts) in read_rows(path, COLUMNS, header=False):
        if label not in LABELS:
            raise ValueError(
                f"{path}, line {line}: expected a label 0.0 or 1.0 in the first of the fields "
                f"{', '.join(COLUMNS)}, got {label[:30]!r}"
            )
        if not literal:
            texts = [_decode(path, line, text) for text in texts]
        first, second = (text[: MAX_LENGTH - 1] for text in texts)
        yield LABELS[label], (first, second)


def _decode(path: Path, line: int, text: str) -> str:
    try:
        value = ast.literal_eval(text)
        if isinstance(value, bytes):
            return value.decode("utf-8")
        reason = f"it is a {type(value).__name__}"
    except UnicodeDecodeError as error:
        reason = f"byte {error.start + 1} of it is not UTF-8"
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        reason = f"{type(error).__name__}: {error}"
    raise ValueError(
        f"{path}, line {line}: expected the texts as bytes literals of UTF-8, b'...', got "
        f"{text[:30]!r} ({reason}); published_literals=True takes any text as it is"
    )


def _part(stored: Prepared, part: str) -> TokenPairs:
    arrays = stored.arrays
    first, second = (
        Ragged(arrays[f"{part}_{side}_tokens"], arrays[f"{part}_{side}_lengths"]) for side in SIDES
    )
    return TokenPairs(
        first,
        second,
        labels=arrays[f"{part}_labels"],
        vocabulary=Vocabulary(tuple(stored.notes["tokens"])),
        class_names=RETRIEVAL.class_names,
    )


RETRIEVAL = Task(
    name="retrieval",
    summary="are two papers related, by their characters: 147,086 + 18,090 + 17,437 pairs",
    kind="retrieval",
    inputs="tokens",
    d_input=98,
    class_names=("unrelated", "related"),
    max_length=MAX_LENGTH,
    source="Long Range Arena AAN pairs (tsv_data), Radev et al., ACL Anthology Network",
    licence="none stated by the release",
    reader=read_retrieval,
)
