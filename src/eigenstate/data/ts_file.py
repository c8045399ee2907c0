"""The .ts text files of the UEA and UCR archives.

A. Bagnall et al., arXiv:1811.00075. A header of @ lines, then one series a line: its channels
between colons, the values of each between commas, ? for a missing one, and last its label.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from eigenstate.data.array_texts import is_missing
from eigenstate.data.series import Kind, Series

NO_VALUE = ("?", "nan")  # in lower case


def read_ts(path: Path, kind: Kind, *, labelled: bool = True) -> Series:
    """Read a .ts file: equal or unequal lengths, missing values, class or number labels.

    A regression's number is asked at the last sample of its series. Without `labelled`, what stands
    after the last colon is not looked at where the header promises a label.
    ValueError naming the line: time stamps (not supported), no @data, another number of channels,
    channels of unequal length, a value that is no number, a class the header does not list, bytes
    that are not UTF-8.
    """
    header = _Header()
    values: list[np.ndarray] = []
    labels: list[str] = []
    names: list[str] = []
    in_data = False
    for number, line in _lines(path):
        where = f"{path}, line {number}"
        if not in_data:
            in_data = header.read(where, line)
            if in_data:
                header.check(where, kind, labelled)
            continue
        series, label = _series(where, line, header.labelled)
        if values and series.shape[1] != values[0].shape[1]:
            raise ValueError(
                f"{where}: expected {values[0].shape[1]} channels between colons, as in the "
                f"series before, got {series.shape[1]}"
            )
        if labelled:
            header.check_label(where, label)
        values.append(series)
        labels.append(label)
        names.append(where)
    if not values:
        raise ValueError(f"{path}: expected an @data line and series below it, got none")
    classes, targets = None, None
    if labelled and header.labelled and kind == "classification":
        classes = tuple(labels)
    elif labelled and header.labelled:
        targets = tuple(map(_target, names, labels, map(len, values)))
    return Series(
        names=tuple(names),
        ids=tuple(map(str, range(len(names)))),
        groups=tuple(names),
        channels=tuple(f"channel {c}" for c in range(values[0].shape[1])),
        values=tuple(values),
        labels=classes,
        targets=targets,
    )


@dataclass
class _Header:
    """What the @ lines say."""

    classes: Sequence[str] = ()
    tags: dict[str, str] = field(default_factory=dict)

    @property
    def labelled(self) -> bool:
        return any(self.tags.get(tag) == "true" for tag in ("classlabel", "targetlabel"))

    def read(self, where: str, line: str) -> bool:
        """Take in one line; True at @data, after which the series begin."""
        if not line.startswith("@"):
            raise ValueError(f"{where}: expected a line that starts with @ before @data")
        tag, *words = line[1:].split() or [""]
        if not tag:
            raise ValueError(
                f"{where}: expected a word after @, such as @data; the file may be cut short"
            )
        self.tags[tag.lower()] = words[0].lower() if words else ""
        if tag.lower() == "classlabel":
            self.classes = words[1:]
        return tag.lower() == "data"

    def check(self, where: str, kind: Kind, labelled: bool) -> None:
        if self.tags.get("timestamps") == "true":
            raise ValueError(
                f"{where}: @timeStamps true is not supported; write the series as a csv or parquet "
                "file with the columns id, time, channels and label"
            )
        tag = "classlabel" if kind == "classification" else "targetlabel"
        if labelled and self.labelled and self.tags.get(tag) != "true":
            raise ValueError(f"{where}: the labels of this file are not those of a {kind}")

    def check_label(self, where: str, label: str) -> None:
        if self.classes and label not in self.classes:
            raise ValueError(
                f"{where}: the label {label!r} is not among the @classLabel {self.classes}"
            )
        if self.tags.get("classlabel") == "true" and is_missing(label):
            raise ValueError(f"{where}: the label {label!r} is a missing value; fill it in")


def _lines(path: Path) -> "list[tuple[int, str]]":
    """Return the lines that say something, with their numbers."""
    data = path.read_bytes()
    if not data:
        raise ValueError(f"{path}: the file is empty")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"{path}, line {line}: byte 0x{data[error.start]:02x} is not UTF-8; save the file as "
            "UTF-8"
        ) from None
    lines = ((number, line.strip()) for number, line in enumerate(text.splitlines(), start=1))
    return [(number, line) for number, line in lines if line and not line.startswith("#")]


def _series(where: str, line: str, labelled: bool) -> tuple[np.ndarray, str]:
    """Return one series (L, C) and its label."""
    *parts, label = line.split(":") if labelled else [*line.split(":"), ""]
    if not parts:
        raise ValueError(f"{where}: expected values, a colon and a label, got {line[:40]!r}")
    channels = [_numbers(where, part) for part in parts]
    lengths = {len(channel) for channel in channels}
    if len(lengths) > 1:
        raise ValueError(
            f"{where}: expected channels of one length, got {[len(c) for c in channels]}; the line "
            "may be cut short"
        )
    return np.stack(channels, axis=1), label.strip()


def _numbers(where: str, part: str) -> np.ndarray:
    words = [word.strip() for word in part.split(",")]
    try:
        return np.array([np.nan if w.lower() in NO_VALUE else float(w) for w in words])
    except ValueError as error:
        raise ValueError(f"{where}: expected numbers between commas: {error}") from None


def _target(where: str, label: str, length: int) -> np.ndarray:
    """Return (length, 1): the number at the last sample, NaN before it."""
    target = np.full((length, 1), np.nan)
    try:
        target[-1] = float(label)
    except ValueError:
        raise ValueError(
            f"{where}: expected a number after the last colon, got {label!r}"
        ) from None
    return target
