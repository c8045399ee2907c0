"""Speech Commands: which of 35 words was said, from the raw sound? (Warden, 2018).

Warden, "Speech commands: a dataset for limited-vocabulary speech recognition", arXiv:1804.03209;
all 35 words as in Gu et al., arXiv:2206.11893, and the S5 paper, arXiv:2208.04933, section 6.2.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from eigenstate.data import wav
from eigenstate.data.base import Splits, Task
from eigenstate.data.places import Wanted, find_folder
from eigenstate.data.prepared import ArrayWriter, Prepared, prepared
from eigenstate.data.progress import Progress
from eigenstate.data.quantized import QuantizedSequences, Scaling

RATE = 16_000  # Hz
LENGTH = 16_000  # samples: one second
FULL = 2.0**15
LISTS = {"validation": "validation_list.txt", "test": "testing_list.txt"}
PARTS = ("train", "validation", "test")
# In the order of the published labels.
WORDS = (
    "bed", "cat", "down", "five", "forward", "go", "house", "left", "marvin", "no", "on", "right",
    "sheila", "tree", "up", "visual", "yes", "backward", "bird", "dog", "eight", "follow", "four",
    "happy", "learn", "nine", "off", "one", "seven", "six", "stop", "three", "two", "wow", "zero",
)  # fmt: skip


class _Clip(NamedTuple):
    path: Path
    label: int


def read_speech_commands(folder: Path, *, published_scaling: bool = False) -> Splits:
    """Read the recordings of the 35 words at or below `folder`: u (B, 16000, 1).

    The folder that holds validation_list.txt and testing_list.txt; what neither names is learnt
    from. A recording is padded to 16,000 samples with silence at its end, and all of them count as
    its length. The sound stays on disk, read by memory map.

    Values -1 to 1 are reduced by one mean and divided by one deviation, over all training samples.
    `published_scaling` does what the published code does: divide by 2^15 once more, then use the
    mean and deviation of each of the 16,000 time steps by itself and add 1e-5 to the deviation,
    which outweighs it: what comes out is nearly the sound times a constant, of deviation 0.2.

    A list gives one word/file.wav per line. Errors name the list and line, or the recording: not
    there, in both lists, of no known word, not 16 kHz, not mono, longer than a second, cut short.
    """
    wanted = Wanted(
        "Speech Commands (v0.02)", tuple(LISTS.values()), named=("speech_commands_v0.02",)
    )
    place = find_folder(Path(folder), wanted)
    parts = _divide(place)
    stored = prepared(
        "speech-commands",
        [*(place / name for name in LISTS.values()), *(c.path for p in PARTS for c in parts[p])],
        root=place,
        settings={},
        make=partial(_prepare, parts),
    )
    scaling = _published(stored) if published_scaling else _plain(stored)
    train, validation, test = (
        QuantizedSequences(
            stored.arrays[f"{part}_sound"],
            stored.arrays[f"{part}_labels"],
            class_names=WORDS,
            scaling=scaling,
        )
        for part in PARTS
    )
    return Splits(train, test, validation)


# --- which recordings -----------------------------------------------------------------------------


def _divide(place: Path) -> dict[str, list[_Clip]]:
    """Return the recordings of each part, in the order of words and names."""
    missing = [word for word in WORDS if not (place / word).is_dir()]
    if missing:
        raise FileNotFoundError(
            f"{place}: expected one folder for each of the {len(WORDS)} words, found none for "
            f"{', '.join(missing)}; is this version 0.02?"
        )
    names = {word: sorted(path.name for path in (place / word).glob("[!.]*.wav")) for word in WORDS}
    known = {f"{word}/{name}" for word in WORDS for name in names[word]}
    listed: dict[str, str] = {}
    for part, name in LISTS.items():
        for entry in _listed(place / name, known, listed):
            listed[entry] = part
    parts: dict[str, list[_Clip]] = {part: [] for part in PARTS}
    for label, word in enumerate(WORDS):
        for name in names[word]:
            part = listed.get(f"{word}/{name}", "train")
            parts[part].append(_Clip(place / word / name, label))
    silent = sorted(set(WORDS) - {WORDS[clip.label] for clip in parts["train"]})
    if silent:
        raise ValueError(
            f"{place}: nothing is left to learn {', '.join(silent)} from; unpack the archive again"
        )
    return parts


def _listed(path: Path, known: set[str], before: Mapping[str, str]) -> list[str]:
    """Return the entries of one list, each of them a recording that is there."""
    entries: list[str] = []
    for line, raw in enumerate(path.read_bytes().splitlines(), start=1):
        entry = raw.decode("utf-8", errors="replace").strip()
        if not entry:
            continue
        if entry not in known:
            raise ValueError(
                f"{path}, line {line}: names {entry!r}, which is no recording of the "
                f"{len(WORDS)} words in {path.parent}; unpack the archive again"
            )
        if entry in before:
            raise ValueError(f"{path}, line {line}: {entry} is in both lists; it must be in one")
        entries.append(entry)
    if not entries:
        raise ValueError(f"{path}: the list is empty; unpack the archive again")
    return entries


# --- what they hold -------------------------------------------------------------------------------


def _prepare(parts: Mapping[str, Sequence[_Clip]], writer: ArrayWriter) -> Mapping[str, Any]:
    """Write the sound of each part (N, 16000, 1) as 16-bit numbers, and the training sums."""
    sums = np.zeros((2, LENGTH))  # of the training samples and of their squares, at each step
    for part in PARTS:
        with Progress(f"reading {part} recordings", len(parts[part])) as progress:
            for done, clip in enumerate(parts[part]):
                progress(done)
                sound = _sound(clip.path)
                if part == "train":
                    sums += [sound, np.square(sound, dtype=np.float64)]
                writer.append(f"{part}_sound", sound[None, :, None])
                writer.append(f"{part}_labels", np.array([clip.label], dtype=np.int8))
    writer.append("train_sums", sums)
    return {}


def _sound(path: Path) -> np.ndarray:
    """Return one recording, int16 (16000,), silent after its end."""
    rate, samples = wav.read(path)
    if rate != RATE:
        raise ValueError(
            f"{path}: expected {RATE:,} samples a second, got {rate:,}; resample the recordings"
        )
    if len(samples) > LENGTH:
        raise ValueError(
            f"{path}: expected at most {LENGTH:,} samples, one second, got {len(samples):,}; cut it"
        )
    sound = np.zeros(LENGTH, dtype=np.int16)
    sound[: len(samples)] = samples * FULL
    return sound


def _plain(stored: Prepared) -> Scaling:
    total, squares = stored.arrays["train_sums"].sum(axis=1) / FULL ** np.array([1, 2])
    count = stored.arrays["train_sound"].size
    mean = total / count
    deviation = np.sqrt(squares / count - mean**2)
    if not deviation > 0:
        raise ValueError("the training recordings are silent; unpack the archive again")
    return Scaling(FULL, np.array([mean]), np.array([deviation]))


def _published(stored: Prepared) -> Scaling:
    """Scale (q / 2^30 - mean) / (deviation + 1e-5), mean and deviation (16000, 1) of each step."""
    full = FULL**2
    total, squares = stored.arrays["train_sums"] / full ** np.array([[1], [2]])
    count = len(stored.arrays["train_sound"])
    mean = total / count
    spread = np.maximum(squares - count * mean**2, 0) / max(count - 1, 1)
    return Scaling(full, mean[:, None], np.sqrt(spread)[:, None] + 1e-5)


SPEECH_COMMANDS = Task(
    name="speech-commands",
    summary="which of 35 words was said, from the sound: 105,829 recordings, 16,000 samples",
    kind="classification",
    d_input=1,
    class_names=WORDS,
    max_length=LENGTH,
    source="Speech Commands v0.02, P. Warden, arXiv:1804.03209",
    licence="CC BY 4.0",
    reader=read_speech_commands,
)
