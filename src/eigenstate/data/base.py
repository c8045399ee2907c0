"""What a task is: a name, its shape, where the data come from, and how to load them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

from torch import Tensor


class Batch(NamedTuple):
    """Sequences padded at the end with zeros, and what is asked of them.

    u        (B, L, channels), or (B, L) token numbers, or (B, L, height, width) images
    lengths  (B,)
    labels   (B,) classes; (B, L) classes or (B, L, D) targets at every sample
    dt       (B, L) elapsed time before each sample, or None where it is always 1

    Pairs stand on the batch axis, first all the firsts, then their partners: u (2B, L, ...),
    lengths (2B,), labels (B,).
    """

    u: Tensor
    lengths: Tensor
    labels: Tensor
    dt: Tensor | None = None


class Samples(Protocol):
    """A data set: `len(set)`, `set[i]`, and how a list of its items becomes one batch."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> Any: ...

    def collate(self, samples: Sequence[Any], pad_to: int | None = None) -> Batch:
        """Pad at the end, to the longest of `samples` or to `pad_to`."""
        ...


class Splits(NamedTuple):
    """The published division of a data set: learnt from, judged, and watched while learning."""

    train: Samples
    test: Samples
    validation: Samples | None = None


@dataclass(frozen=True)
class Task:
    """A published task: what it asks, its shapes, and its data.

    `summary` is one line for people; `source` and `licence` say whose data these are. A sequence
    has at most `max_length` samples, each of `d_input` channels, or one of `d_input` tokens, or an
    image `d_input` pixels high and wide, as `inputs` says. Classes are 0 .. n_classes - 1, and
    `class_names[label]` is the name the source gives one; a regression has `n_outputs` targets.
    The data come from a `loader` that needs nothing, or from a `reader` of the published files.
    """

    name: str
    summary: str
    kind: Literal["classification", "retrieval", "regression"]
    d_input: int
    class_names: tuple[str, ...]
    max_length: int
    source: str
    licence: str
    loader: Callable[[], Splits] | None = field(default=None, repr=False)
    reader: Callable[[Path], Splits] | None = field(default=None, repr=False)
    inputs: Literal["channels", "tokens", "images"] = "channels"
    n_outputs: int = 0
    standardize: bool = False

    @property
    def n_classes(self) -> int:
        return len(self.class_names)

    def load(self, data: str | PathLike[str] | None = None) -> Splits:
        """Return the training, the test and perhaps a validation set.

        ValueError: `data` is given, though the task carries (or generates) its own data; or it is
        not, though the task reads files.
        """
        if self.loader is not None:
            if data is not None:
                raise ValueError(
                    f"data: the task {self.name!r} brings its own data and reads no files, "
                    f"got {str(data)!r}; leave data out"
                )
            return self.loader()
        if data is None:
            raise ValueError(
                f"data: the task {self.name!r} reads the files of {self.source}; give the folder "
                "that holds them (--data on the command line)"
            )
        assert self.reader is not None, f"the task {self.name!r} has neither loader nor reader"
        return self.reader(Path(data))
