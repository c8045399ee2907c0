"""JapaneseVowels: which of nine men said /ae/? (Kudo, Toyama and Shimbo, 1999)."""

from functools import lru_cache
from importlib.resources import files

import numpy as np

from eigenstate.data.base import Splits, Task
from eigenstate.data.sequences import Sequences


@lru_cache(maxsize=1)
def recordings() -> dict[str, np.ndarray]:
    """Return the data as published, in float64, read-only.

    values (9961, 12): the frames of all utterances, one after another; lengths, labels and
    is_train (640,): frames, speaker 0 .. 8 and part of each utterance, 270 training then 370 test.
    """
    with files("eigenstate.data").joinpath("japanese_vowels.npz").open("rb") as file:
        stored = np.load(file, allow_pickle=False)
        data = {name: stored[name] for name in ("lengths", "labels", "is_train")}
        # The source prints six decimals. A whole number of millionths divided by a million is
        # correctly rounded, hence the very double that reading the printed decimal gives.
        data["values"] = stored["millionths"] / 1e6
    for array in data.values():
        array.setflags(write=False)
    return data


def _load() -> Splits:
    data = recordings()
    utterances = np.split(data["values"], np.cumsum(data["lengths"])[:-1])

    def part(indices: np.ndarray) -> Sequences:
        chosen = [utterances[i] for i in indices]
        names = JAPANESE_VOWELS.class_names
        return Sequences(chosen, data["labels"][indices], class_names=names)

    is_train = data["is_train"]
    return Splits(part(np.flatnonzero(is_train)), part(np.flatnonzero(~is_train)))


JAPANESE_VOWELS = Task(
    name="japanese-vowels",
    summary="which of nine speakers said a vowel: 270 + 370 recorded utterances, 7-29 frames",
    kind="classification",
    d_input=12,
    class_names=tuple(f"speaker {number}" for number in range(1, 10)),
    max_length=29,
    source="UCI Japanese Vowels, M. Kudo, J. Toyama, M. Shimbo, doi:10.24432/C5NS47",
    licence="CC BY 4.0",
    standardize=True,
    loader=_load,
)
