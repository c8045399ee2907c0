"""What is learnt from a user's training series and done to all others: plain numbers, so that a
run can write them down and new files just work."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset

from eigenstate.data.base import Batch
from eigenstate.data.sequences import pad
from eigenstate.data.series import Kind, Series

UNASKED = float("nan")


@dataclass(frozen=True)
class Preparation:
    """How series become inputs.

    kind         classification or regression
    channels     names, which new files have to have in this order
    incomplete   those with missing values in training: each gets two more inputs, a mask (1 seen,
                 0 missing) and the time since it was last seen, in intervals
    mean, scale  of each channel, then of each time since last seen: u -> (u - mean) / scale
    interval     the median time between two samples, the unit of `dt`; None without times
    class_names  in order; empty for a regression
    outputs      targets of a regression; 0 for a classification
    """

    kind: Kind
    channels: tuple[str, ...]
    incomplete: tuple[str, ...]
    mean: tuple[float, ...]
    scale: tuple[float, ...]
    interval: float | None
    class_names: tuple[str, ...]
    outputs: int

    @classmethod
    def fit(cls, series: Series, kind: Kind) -> "Preparation":
        """Learn from the training series. ValueError: no labels, one class, a channel never seen."""
        classes, outputs = _asked(series, kind)
        _check_finite(series)
        missing = np.any([np.isnan(values).any(axis=0) for values in series.values], axis=0)
        bare = cls(
            kind=kind,
            channels=series.channels,
            incomplete=tuple(n for n, lacks in zip(series.channels, missing, strict=True) if lacks),
            mean=(0.0,) * (len(missing) + int(missing.sum())),
            scale=(1.0,) * (len(missing) + int(missing.sum())),
            interval=_interval(series),
            class_names=classes,
            outputs=outputs,
        )
        since = [
            bare._since_seen(values, bare._dt(series, i)) for i, values in enumerate(series.values)
        ]
        rows = np.concatenate([np.hstack(p) for p in zip(series.values, since, strict=True)])
        unseen = np.isnan(rows).all(axis=0)
        if unseen.any():
            name = series.channels[int(np.argmax(unseen))]
            raise ValueError(f"channel {name!r}: expected a value in the training set, got none")
        scale = np.nanstd(rows, axis=0)
        # What is constant up to rounding must not be blown up to rounding noise of deviation 1.
        constant = scale <= 1e-12 * np.nanmax(abs(rows), axis=0)
        return dataclasses.replace(
            bare,
            mean=tuple(np.nanmean(rows, axis=0).tolist()),
            scale=tuple(np.where(constant, 1.0, scale).tolist()),
        )

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> "Preparation":
        """Rebuild from what `state` returned."""
        values: dict[str, Any] = {
            k: tuple(v) if isinstance(v, list) else v for k, v in state.items()
        }
        return cls(**values)

    def state(self) -> dict[str, Any]:
        """Return everything as plain values that JSON holds exactly."""
        values = dataclasses.asdict(self)
        return {k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}

    @property
    def d_input(self) -> int:
        return len(self.channels) + 2 * len(self.incomplete)

    def apply(self, series: Series, *, labelled: bool = True) -> "TimedSequences":
        """Return the data set of these series; without labels, for prediction, if not `labelled`.

        ValueError naming the series: other channels, a missing value in a channel that never had
        one in training, a class that is not in the training set, no labels though asked for.
        """
        if series.channels != self.channels:
            raise ValueError(
                f"channels: expected {list(self.channels)} in this order, as in training, "
                f"got {list(series.channels)}"
            )
        if (series.times is None) != (self.interval is None):
            said = ("with", "without") if self.interval is not None else ("without", "with")
            raise ValueError(f"times: the model was trained {said[0]} times, these come {said[1]}")
        _check_finite(series)
        self._check_complete(series)
        dt = [self._dt(series, i) for i in range(len(series))]
        inputs = [self._inputs(values, d) for values, d in zip(series.values, dt, strict=True)]
        regular = all((gaps == 1).all() for gaps in dt)
        answers = self._answers(series) if labelled else None
        return TimedSequences(inputs, None if regular else dt, answers=answers)

    def _dt(self, series: Series, index: int) -> np.ndarray:
        """Return the interval before each sample (L,), the first 1, in units of the training's."""
        dt = np.ones(len(series.values[index]))
        if series.times is not None and self.interval is not None:
            gaps = np.diff(series.times[index]) / self.interval
            # Times in decimals, 0.1, 0.2, ..., differ by rounding alone.
            dt[1:] = np.where(abs(gaps - 1) < 1e-6, 1.0, gaps)
        return dt

    def _since_seen(self, values: np.ndarray, dt: np.ndarray) -> np.ndarray:
        """Return the time since each incomplete channel was last seen, or since the start: (L, M)."""
        columns = [self.channels.index(name) for name in self.incomplete]
        seen = ~np.isnan(values[:, columns])
        clock = np.cumsum(dt)[:, None]
        last = np.maximum.accumulate(np.where(seen, clock, clock[:1]), axis=0)
        return clock - last

    def _inputs(self, values: np.ndarray, dt: np.ndarray) -> Tensor:
        """Return (L, d_input): channels held at their last value, masks, times since last seen.

        Before its first value a channel is at its training mean, which is 0.
        """
        split = len(self.channels)
        mean, scale = np.array(self.mean), np.array(self.scale)
        scaled = (values - mean[:split]) / scale[:split]
        seen = ~np.isnan(scaled)
        places = np.where(seen, np.arange(len(values))[:, None], -1)
        places = np.maximum.accumulate(places, axis=0)
        held = np.take_along_axis(scaled, np.maximum(places, 0), axis=0)
        held = np.where(places >= 0, held, 0.0)
        mask = seen[:, [self.channels.index(name) for name in self.incomplete]]
        since = (self._since_seen(values, dt) - mean[split:]) / scale[split:]
        return torch.from_numpy(np.hstack([held, mask, since]).astype(np.float32))

    def _check_complete(self, series: Series) -> None:
        complete = [name not in self.incomplete for name in self.channels]
        for name, values in zip(series.names, series.values, strict=True):
            bad = np.argwhere(np.isnan(values) & complete)
            if len(bad):
                step, channel = bad[0]
                raise ValueError(
                    f"{name}, sample {step}: channel {self.channels[channel]!r} is missing, which it "
                    "never was in training; fill it in, or train on series where it is missing too"
                )

    def _answers(self, series: Series) -> list[Any]:
        if self.kind == "regression":
            if series.targets is None:
                raise ValueError(
                    "labels: expected a target for each series, got a file without any"
                )
            return [torch.from_numpy(target.astype(np.float32)) for target in series.targets]
        if series.labels is None:
            raise ValueError("labels: expected a class for each series, got a file without any")
        number = {name: i for i, name in enumerate(self.class_names)}
        for name, label in zip(series.names, series.labels, strict=True):
            if label not in number:
                raise ValueError(
                    f"{name}: the class {label!r} is not in the training set, which has "
                    f"{', '.join(self.class_names)}"
                )
        return [number[label] for label in series.labels]


class TimedSequences(Dataset[tuple[Tensor, "Tensor | None", Any]]):
    """Series with their intervals. `set[i]` is (u (L_i, C), dt (L_i,) or None, answer).

    An answer is a class number, or targets (L_i, D) with NaN where nothing is asked.
    """

    def __init__(
        self,
        inputs: Sequence[Tensor],
        dt: Sequence[np.ndarray] | None,
        *,
        answers: Sequence[Any] | None,
    ) -> None:
        self.inputs = list(inputs)
        self.lengths = torch.tensor([len(u) for u in self.inputs])
        self.dt = None if dt is None else [torch.from_numpy(d.astype(np.float32)) for d in dt]
        # Where nothing is known class 0 stands in; a prediction does not look at it.
        self.answers = [0] * len(self.inputs) if answers is None else list(answers)

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor | None, Any]:
        return self.inputs[index], None if self.dt is None else self.dt[index], self.answers[index]

    def collate(
        self, samples: Sequence[tuple[Tensor, Tensor | None, Any]], pad_to: int | None = None
    ) -> Batch:
        """Pad with zeros, and targets with NaN: u (B, L, C), labels (B,) or (B, L, D), dt (B, L)."""
        u, lengths = pad([sample[0] for sample in samples], pad_to)
        dt = [sample[1] for sample in samples if sample[1] is not None]
        answers = [sample[2] for sample in samples]
        if isinstance(answers[0], Tensor):
            labels = answers[0].new_full((*u.shape[:2], answers[0].shape[1]), UNASKED)
            for row, target in zip(labels, answers, strict=True):
                row[: len(target)] = target
        else:
            labels = torch.tensor(answers)
        return Batch(u, lengths, labels, pad(dt, u.shape[1])[0] if dt else None)


def _asked(series: Series, kind: Kind) -> tuple[tuple[str, ...], int]:
    """Return the classes in order, or how many numbers are asked for."""
    if kind == "classification":
        if series.labels is None:
            raise ValueError("labels: expected a class for each series, got a file without any")
        classes = sorted(set(series.labels), key=_natural)
        if len(classes) < 2:
            raise ValueError(f"labels: expected at least two classes to learn, got {classes}")
        return tuple(classes), 0
    if series.targets is None:
        raise ValueError("labels: expected a target for each series, got a file without any")
    if all(np.isnan(target).all() for target in series.targets):
        raise ValueError("labels: expected numbers in the training set, got none")
    return (), series.targets[0].shape[1]


def _interval(series: Series) -> float | None:
    """Return the median time between two samples; 1 if no series has two."""
    if series.times is None:
        return None
    gaps = np.concatenate([np.diff(times) for times in series.times])
    return float(np.median(gaps)) if len(gaps) else 1.0


def _natural(name: str) -> tuple[int, float, str]:
    """Sort numbers by their size, and before words."""
    try:
        return 0, float(name), name
    except ValueError:
        return 1, 0.0, name


def _check_finite(series: Series) -> None:
    for name, values in zip(series.names, series.values, strict=True):
        bad = np.argwhere(np.isinf(values))
        if len(bad):
            step, channel = bad[0]
            raise ValueError(
                f"{name}, sample {step}: expected a finite value in channel "
                f"{series.channels[channel]!r}, got {values[step, channel]}"
            )
    for name, target in zip(series.names, series.targets or (), strict=False):
        bad = np.argwhere(np.isinf(target))
        if len(bad):
            raise ValueError(f"{name}, sample {bad[0][0]}: expected a finite target, got infinity")
