"""Spoken words without the silence around them: the recordings of `data make spoken-words`."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import cast

import torch
from torch import Tensor
from torch.utils.data import Dataset

from eigenstate.data.base import Batch, Splits, Task
from eigenstate.data.quantized import QuantizedSequences
from eigenstate.data.sequences import pad
from eigenstate.data.speech_commands import LENGTH, WORDS, read_speech_commands


class CutToSound(Dataset[tuple[Tensor, int]]):
    """Recordings from their first sample that is not 0 to their last, read from disk one by one.

    u = q / deviation, with the deviation of all training samples, so that silence stays 0.
    `set[i]` is (whole numbers (L_i, 1), label); a recording of silence alone keeps one sample.
    """

    def __init__(self, recordings: QuantizedSequences) -> None:
        self._recordings = recordings
        self.class_names = recordings.class_names
        self._scale = 1 / (recordings.scaling.full * float(recordings.scaling.deviation[0]))

    def __len__(self) -> int:
        return len(self._recordings)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        q, label = self._recordings[index]  # (16000, 1)
        heard = q[:, 0].nonzero()[:, 0]
        first, last = (int(heard[0]), int(heard[-1])) if len(heard) else (0, 0)
        return q[first : last + 1], label

    @cached_property
    def lengths(self) -> Tensor:
        """The length of each recording, (N,): all of them are read once."""
        return torch.tensor([len(self[i][0]) for i in range(len(self))])

    def collate(self, samples: Sequence[tuple[Tensor, int]], pad_to: int | None = None) -> Batch:
        """Scale, then pad with zeros: u float32 (B, L, 1)."""
        u, lengths = pad([q for q, _ in samples], pad_to)
        return Batch(
            u.float() * self._scale, lengths, torch.tensor([label for _, label in samples])
        )


def read_spoken_words(folder: Path) -> Splits:
    """Read recordings laid out as Speech Commands at or below `folder`, cut to their sound.

    Errors are those of `read_speech_commands`.
    """
    parts = [CutToSound(cast("QuantizedSequences", part)) for part in read_speech_commands(folder)]
    return Splits(*parts)


SPOKEN_WORDS = Task(
    name="spoken-words",
    summary="which of 35 words a voice never heard said, from the sound: 16 kHz, up to a second",
    kind="classification",
    d_input=1,
    class_names=WORDS,
    max_length=LENGTH,
    source="`eigenstate data make spoken-words` (espeak-ng), laid out as Speech Commands v0.02",
    licence="made here",
    reader=read_spoken_words,
)
