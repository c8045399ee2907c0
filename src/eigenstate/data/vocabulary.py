"""Numbers for tokens: three special ones, then the rest by how often they occur."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

PAD, UNKNOWN, END = 0, 1, 2
SPECIALS = ("<pad>", "<unk>", "<eos>")


@dataclass(frozen=True)
class Vocabulary:
    """`tokens[number]` is a token; 0 pads, 1 stands for what is not listed, 2 ends a sequence."""

    tokens: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.tokens[: len(SPECIALS)] != SPECIALS or len(set(self.tokens)) != len(self.tokens):
            raise ValueError(
                f"tokens: expected {', '.join(SPECIALS)} and then tokens that all differ, "
                f"got {self.tokens[:9]}"
            )

    @classmethod
    def from_counts(
        cls, counts: Mapping[str, int], *, least: int = 1, most: int | None = None
    ) -> "Vocabulary":
        """Number the tokens by falling count, equal ones by spelling, as the published code does.

        Tokens that occur fewer than `least` times, and all beyond `most` numbers, stay unknown.
        """
        ranked = sorted(counts, key=lambda token: (-counts[token], token))
        tokens = (*SPECIALS, *(token for token in ranked if counts[token] >= least))
        return cls(tokens[:most])

    def __len__(self) -> int:
        return len(self.tokens)

    def check_width(self, width: int) -> None:
        """ValueError: there are more tokens than a one-hot vector of `width` can tell apart."""
        if len(self) > width:
            raise ValueError(
                f"the training texts use {len(self)} tokens, more than the task's one-hot width "
                f"of {width}; are these the published files?"
            )

    def encode(self, tokens: Iterable[str]) -> np.ndarray:
        """Return the numbers of `tokens`, and <eos>: uint32 (number of tokens + 1,)."""
        get = self._numbers.get
        return np.array([*(get(token, UNKNOWN) for token in tokens), END], dtype=np.uint32)

    def encode_characters(self, text: str) -> np.ndarray:
        """Return the numbers of the characters of `text`, and <eos>: uint32 (len(text) + 1,)."""
        points = code_points(text)
        table = self._character_numbers
        known = np.minimum(points, len(table) - 1)  # the last entry of the table is unknown
        return np.append(table[known], np.uint32(END))

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {token: number for number, token in enumerate(self.tokens)}

    @cached_property
    def _character_numbers(self) -> np.ndarray:
        """The number of each character by its code point."""
        characters = {ord(t): n for t, n in self._numbers.items() if len(t) == 1}
        table = np.full(max(characters, default=0) + 2, UNKNOWN, dtype=np.uint32)
        table[list(characters)] = list(characters.values())
        return table


class CharacterCounts:
    """How often each character occurs in the texts that were added."""

    def __init__(self) -> None:
        self._counts = np.zeros(128, dtype=np.int64)

    def add(self, text: str) -> None:
        counts = np.bincount(code_points(text), minlength=len(self._counts))
        counts[: len(self._counts)] += self._counts
        self._counts = counts

    def items(self) -> dict[str, int]:
        return {chr(point): int(self._counts[point]) for point in np.flatnonzero(self._counts)}


def code_points(text: str) -> np.ndarray:
    """Return the code points of `text`: uint32 (len(text),)."""
    return np.frombuffer(text.encode("utf-32-le"), dtype="<u4")
