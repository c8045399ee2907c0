"""Pendulum regression: where is the rod, seen through noise at irregular times?"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset

from eigenstate.data import pendulum_simulation as simulation
from eigenstate.data.base import Batch, Splits, Task
from eigenstate.data.cache import Arrays, cached
from eigenstate.data.progress import Progress
from eigenstate.data.sequences import pad

TRAIN, TEST, VALIDATION = 2000, 1000, 1000
SEED, VALIDATION_SEED = 42, 43
# Sequence i of a part shows the frames that seed i + this picks.
FRAME_SEEDS = {"train": TRAIN, "test": 0, "validation": VALIDATION}


class Frames(Dataset[tuple[Tensor, Tensor, Tensor]]):
    """Image sequences with a target at every frame, at times of their own.

    images (N, L, h, w) uint8, times (N, L) rising, targets (N, L, D). An item is
    (images (L, h, w) uint8, intervals (L,), targets (L, D)); the interval of the first frame is 1.
    ValueError: other shapes or dtypes, or times that do not rise.
    """

    def __init__(self, images: np.ndarray, times: np.ndarray, *, targets: np.ndarray) -> None:
        if images.dtype != np.uint8 or images.ndim != 4:
            raise ValueError(
                "images: expected uint8 of shape (N, L, height, width), "
                f"got {images.dtype} of shape {images.shape}"
            )
        if times.shape != images.shape[:2]:
            raise ValueError(f"times: expected shape {images.shape[:2]}, got {times.shape}")
        if targets.ndim != 3 or targets.shape[:2] != images.shape[:2]:
            raise ValueError(
                f"targets: expected shape ({len(images)}, {images.shape[1]}, outputs), "
                f"got {targets.shape}"
            )
        gaps = np.diff(times, axis=1)
        if not (gaps > 0).all():
            row = int(np.argwhere(~(gaps > 0))[0][0])
            raise ValueError(f"times[{row}]: expected each time to be later than the one before")
        self.images = torch.from_numpy(images)
        first = np.ones((len(times), min(1, times.shape[1])))
        self.intervals = torch.from_numpy(np.hstack([first, gaps]).astype(np.float32))
        self.targets = torch.from_numpy(targets.astype(np.float32))

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor, Tensor]:
        return self.images[index], self.intervals[index], self.targets[index]

    def collate(
        self, samples: Sequence[tuple[Tensor, Tensor, Tensor]], pad_to: int | None = None
    ) -> Batch:
        """Return u (B, L, h, w) in 0 .. 1, labels (B, L, D) and dt (B, L), all float32.

        Pads, up to `pad_to` frames, are black, with targets and intervals of 0.
        """
        images, lengths = pad([sample[0] for sample in samples], pad_to)
        dt, _ = pad([sample[1] for sample in samples], pad_to)
        targets, _ = pad([sample[2] for sample in samples], pad_to)
        return Batch(images.to(torch.float32) / 255, lengths, targets, dt)


@lru_cache(maxsize=1)
def load() -> Splits:
    """Return the published sequences, generated once and then kept in the user's cache folder."""
    arrays = cached(f"pendulum-{simulation.VERSION}", generate)

    def part(name: str) -> Frames:
        targets = arrays[f"{name}_targets"]
        return Frames(arrays[f"{name}_images"], arrays[f"{name}_times"], targets=targets)

    return Splits(part("train"), part("test"), part("validation"))


def generate(
    counts: tuple[int, int, int] = (TRAIN, TEST, VALIDATION), *, all_frames: bool = False
) -> Arrays:
    """Simulate the three parts: {train,test,validation}_{images,times,targets}.

    The counts are those of training, test and validation. The test set's random numbers follow
    those of the training set, so fewer training sequences give another test set. With `all_frames`
    the sequences have 100 frames, not the 50 that are kept.
    """
    rng = np.random.RandomState(SEED)
    sources = {"train": rng, "test": rng, "validation": np.random.RandomState(VALIDATION_SEED)}
    arrays, before = {}, 0
    with Progress("pendulum sequences", sum(counts)) as progress:
        for (name, source), count in zip(sources.items(), counts, strict=True):

            def drawn(done: int, before: int = before) -> None:
                progress(before + done)

            first = None if all_frames else FRAME_SEEDS[name]
            part = simulation.simulate(count, source, first_seed=first, drawn=drawn)
            arrays |= {f"{name}_{key}": value for key, value in part._asdict().items()}
            before += count
    return arrays


PENDULUM = Task(
    name="pendulum",
    summary="where a pendulum is, seen through noise at irregular times: 4,000 generated, "
    "50 of 100 frames",
    kind="regression",
    d_input=simulation.SIDE,
    class_names=(),
    max_length=simulation.KEPT,
    source="pendulum regression, M. Schirmer et al., arXiv:2111.11344, generated by its constants",
    licence="MIT",
    loader=load,
    inputs="images",
    n_outputs=2,
)
