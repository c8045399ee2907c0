"""What a task is: a name, its shape, where the data come from, and how to load them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from os import PathLike
from typing import Literal, NamedTuple

from eigenstate.data.sequences import Sequences


class Splits(NamedTuple):
    """The published division of a data set: what is learnt from, and what is judged."""

    train: Sequences
    test: Sequences


@dataclass(frozen=True)
class Task:
    """A published task: what it asks, its shapes, and its data.

    `summary` is one line for people; `source` and `licence` say whose data these are.
    Sequences are (length, d_input) with length at most `max_length`; labels are
    0 .. n_classes - 1, and `class_names[label]` is the name the source gives that class.
    """

    name: str
    summary: str
    kind: Literal["classification"]
    d_input: int
    class_names: tuple[str, ...]
    max_length: int
    source: str
    licence: str
    loader: Callable[[], Splits] = field(repr=False)

    @property
    def n_classes(self) -> int:
        return len(self.class_names)

    def load(self, data: str | PathLike[str] | None = None) -> Splits:
        """Return the training and the test set.

        ValueError: `data` is given, though the task carries (or generates) its own data.
        """
        if data is not None:
            raise ValueError(
                f"data: the task {self.name!r} brings its own data and reads no files, "
                f"got {str(data)!r}; leave data out"
            )
        return self.loader()
