"""Text: is a film review favourable, read letter by letter? (Maas et al., 2011).

Maas et al., "Learning word vectors for sentiment analysis", ACL 2011; as a task of the Long Range
Arena, Tay et al., arXiv:2011.04006, section 2.2.2.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from eigenstate.data.base import Splits, Task
from eigenstate.data.places import Wanted, find_folder
from eigenstate.data.prepared import ArrayWriter, prepared
from eigenstate.data.progress import Progress
from eigenstate.data.tokens import stored_tokens
from eigenstate.data.vocabulary import CharacterCounts, Vocabulary

PARTS = ("train", "test")
FOLDERS = ("neg", "pos")  # the label is the place in this list
MAX_LENGTH = 4096
LEAST = 15  # a character that occurs less often in the training texts stays unknown


def read_text(folder: Path) -> Splits:
    """Read aclImdb/{train,test}/{neg,pos}/*.txt at or below `folder`.

    A review is its first 4,095 characters, nothing changed, then <eos>. Characters are numbered by
    how often they occur in the training reviews as cut; those seen fewer than 15 times are unknown.
    The published files give 135 numbers. There is no validation set: as published, the test set
    is watched while training, so a result at the best epoch is chosen on the test set.
    Errors name the file: empty, not UTF-8; or the folder: without a review.
    """
    wanted = Wanted(
        "IMDB reviews (aclImdb)",
        tuple(f"{part}/{name}" for part in PARTS for name in FOLDERS),
        named=("aclImdb",),
    )
    place = find_folder(Path(folder), wanted)
    reviews = {part: _reviews(place, part) for part in PARTS}
    stored = prepared(
        "text",
        [path for part in PARTS for path, _ in reviews[part]],
        root=place,
        settings={},
        make=partial(_prepare, reviews),
    )
    train, test = (stored_tokens(TEXT, stored, part) for part in PARTS)
    return Splits(train, test, test)


def _reviews(place: Path, part: str) -> list[tuple[Path, int]]:
    """List the files of a part with their labels, in the order of classes and names."""
    reviews: list[tuple[Path, int]] = []
    for label, name in enumerate(FOLDERS):
        paths = sorted((place / part / name).glob("[!.]*.txt"))
        if not paths:
            raise FileNotFoundError(
                f"{place / part / name}: there is no .txt file; unpack the archive again"
            )
        reviews += [(path, label) for path in paths]
    return reviews


def _prepare(
    reviews: Mapping[str, list[tuple[Path, int]]], writer: ArrayWriter
) -> Mapping[str, Any]:
    counts = CharacterCounts()
    for text, _ in _read(reviews["train"], "counting characters, reviews"):
        counts.add(text)
    vocabulary = Vocabulary.from_counts(counts.items(), least=LEAST)
    vocabulary.check_width(TEXT.d_input)
    for part in PARTS:
        for text, label in _read(reviews[part], f"reading {part} reviews"):
            tokens = vocabulary.encode_characters(text).astype(np.uint8)
            writer.append(f"{part}_tokens", tokens)
            writer.append(f"{part}_lengths", np.array([len(tokens)], dtype=np.int32))
            writer.append(f"{part}_labels", np.array([label], dtype=np.int8))
    return {"tokens": vocabulary.tokens}


def _read(reviews: list[tuple[Path, int]], doing: str) -> Iterator[tuple[str, int]]:
    with Progress(doing, len(reviews)) as progress:
        for done, (path, label) in enumerate(reviews):
            progress(done)
            yield _decode(path)[: MAX_LENGTH - 1], label


def _decode(path: Path) -> str:
    data = path.read_bytes()
    if not data:
        raise ValueError(f"{path}: the file is empty; unpack the archive again")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"{path}, line {line}: byte {error.start + 1} of the file, 0x{data[error.start]:02x}, "
            "is not UTF-8; save the file as UTF-8"
        ) from None


TEXT = Task(
    name="text",
    summary="is a film review favourable, by its characters: 25,000 + 25,000, up to 4,096 long",
    kind="classification",
    inputs="tokens",
    d_input=135,
    class_names=("negative", "positive"),
    max_length=MAX_LENGTH,
    source="Large Movie Review Dataset (aclImdb_v1), Maas et al., ACL 2011",
    licence="none stated; cite the paper",
    reader=read_text,
)
