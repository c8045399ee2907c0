"""Zero mean and unit deviation per channel, learnt from one set and remembered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from eigenstate.data.sequences import Sequences


@dataclass(frozen=True)
class Standardizer:
    """u -> (u - mean) / scale, per channel; plain numbers, so that a run can write them down.

    Works on sequences (L, C), batches (B, L, C) and single frames (C,) alike, so a stream is
    treated exactly as the recordings were. Pads of a batch do not stay zero: standardise first.
    """

    mean: tuple[float, ...]
    scale: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.mean or len(self.mean) != len(self.scale):
            raise ValueError(
                "mean, scale: expected one number per channel each, "
                f"got {len(self.mean)} and {len(self.scale)}"
            )
        if not all(0 < value < float("inf") for value in self.scale):
            raise ValueError(f"scale: expected positive finite numbers, got {self.scale}")

    @classmethod
    def fit(cls, data: Sequences) -> "Standardizer":
        """Take mean and deviation of every channel over all frames; scale 1 if it is constant."""
        frames = torch.cat(data.sequences).double()  # (sum of lengths, C)
        scale = frames.std(dim=0, correction=0)
        scale = torch.where(scale > 0, scale, 1.0)
        return cls(tuple(frames.mean(dim=0).tolist()), tuple(scale.tolist()))

    @classmethod
    def from_state(cls, state: Mapping[str, Sequence[float]]) -> "Standardizer":
        """Rebuild from what `state` returned."""
        return cls(tuple(map(float, state["mean"])), tuple(map(float, state["scale"])))

    def state(self) -> dict[str, list[float]]:
        """Return the statistics as plain numbers (JSON, YAML and checkpoints keep them exactly)."""
        return {"mean": list(self.mean), "scale": list(self.scale)}

    def __call__(self, u: Tensor) -> Tensor:
        """Standardise u (..., C), in its own dtype and on its own device."""
        if u.ndim == 0 or u.shape[-1] != len(self.mean):
            raise ValueError(
                f"u: expected {len(self.mean)} channels on the last axis, got shape "
                f"{tuple(u.shape)}"
            )
        return (u - u.new_tensor(self.mean)) / u.new_tensor(self.scale)

    def apply(self, data: Sequences) -> Sequences:
        """Return the set with every sequence standardised."""
        return data.map(self)
