"""What a run learns of a user's own files once, and keeps in its data.json."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenstate.data import Task, get_task
from eigenstate.data.own_data import OWN
from eigenstate.data.preparation import Preparation, TimedSequences
from eigenstate.data.series import Kind, Series
from eigenstate.files import replace_json
from eigenstate.training.runs import Run, RunError


@dataclass(frozen=True)
class OwnData:
    """What a run keeps of the data it learns from, to treat all data to come alike.

    preparation  how series become inputs, and the names of the classes
    max_length   of the longest series
    at_end       of a regression: each series has one answer, at its last sample
    mean, scale  of a regression's targets: the model learns (y - mean) / scale
    """

    preparation: Preparation
    max_length: int
    at_end: bool
    mean: tuple[float, ...]
    scale: tuple[float, ...]

    @classmethod
    def fit(cls, train: Series, test: Series) -> "OwnData":
        """Learn from the training series. ValueError: what `Preparation.fit` refuses."""
        kind: Kind = "classification" if train.targets is None else "regression"
        preparation = Preparation.fit(train, kind)
        mean, scale, at_end = (), (), False
        if train.targets is not None:
            targets = np.concatenate(train.targets)  # (samples, D)
            _check_asked(train)
            deviation = np.nanstd(targets, axis=0)
            mean = tuple(np.nanmean(targets, axis=0).tolist())
            scale = tuple(np.where(deviation > 0, deviation, 1.0).tolist())
            at_end = all(np.isnan(target[:-1]).all() for target in train.targets)
        longest = max(len(values) for part in (train, test) for values in part.values)
        return cls(preparation, longest, at_end, mean, scale)

    def apply(self, series: Series, *, labelled: bool = True) -> TimedSequences:
        """Return the data set of these series. ValueError: what `Preparation.apply` refuses."""
        if labelled and self.mean and series.targets is not None:
            outputs = series.targets[0].shape[1]
            if outputs != len(self.mean):
                raise ValueError(f"labels: expected {len(self.mean)} numbers, got {outputs}")
            _check_asked(series)
            # In float64: of large numbers close together, float32 would keep little.
            targets = tuple((target - self.mean) / self.scale for target in series.targets)
            series = dataclasses.replace(series, targets=targets)
        return self.preparation.apply(series, labelled=labelled)

    def state(self) -> dict[str, Any]:
        """Return everything as plain values that JSON holds exactly."""
        return {**dataclasses.asdict(self), "preparation": self.preparation.state()}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> "OwnData":
        """Rebuild from what `state` returned."""
        values = {k: tuple(v) if isinstance(v, list) else v for k, v in state.items()}
        return cls(**{**values, "preparation": Preparation.from_state(state["preparation"])})

    def task(self, name: str) -> Task:
        """Return what is asked, in the shapes of the data."""
        preparation = self.preparation
        return _task(name, preparation.d_input, preparation.class_names, preparation.outputs,
                     max_length=self.max_length)  # fmt: skip


def any_task(name: str) -> Task:
    """Return a task by name; for "classify" and "regress" the smallest there is of the kind.

    That has one channel, and two classes or one target. ValueError: there is no such task.
    """
    if name not in OWN:
        return get_task(name)
    classes = ("a", "b") if OWN[name] == "classification" else ()
    return _task(name, 1, classes, 0 if classes else 1, max_length=1)


def keep_facts(run: Run, own: OwnData) -> None:
    """Write data.json, after which the run needs its training files only to train."""
    try:
        replace_json(run.facts, own.state())
    except OSError as error:
        raise RunError(f"{run.facts}: cannot be written: {error.strerror}") from None


def facts_of(run: Run) -> OwnData:
    """Read data.json. RunError: it is missing or damaged."""
    path = run.facts
    try:
        return OwnData.from_state(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise RunError(
            f"{path}: no such file; it is written before training: "
            f"eigenstate train --resume {run.folder}"
        ) from None
    except OSError as error:
        raise RunError(f"{path}: {error.strerror}") from None
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise RunError(f"{path}: damaged: {error}") from None


def described(own: OwnData) -> str:
    """Say in one line how the data were understood."""
    p = own.preparation
    words = [f"{_count(p.channels, 'channel')} ({_some(p.channels)})"]
    if p.incomplete:
        words.append(f"values missing in {_some(p.incomplete)}")
    if p.interval is not None:
        words.append(f"a median of {p.interval:.4g} between times")
    if p.class_names:
        words.append(f"{len(p.class_names)} classes ({_some(p.class_names)})")
    else:
        place = "at the end of each series" if own.at_end else "along each series"
        words.append(f"{_count(own.mean, 'number')} asked {place}")
        if len(own.mean) == 1:
            words.append(f"in training {own.mean[0]:.4g} +- {own.scale[0]:.4g}")
    return ", ".join(words)


def _check_asked(series: Series) -> None:
    """Raise ValueError for a target that no series has."""
    asked = [~np.isnan(target).all(axis=0) for target in series.targets or ()]
    if not np.any(asked, axis=0).all():
        raise ValueError("labels: expected numbers, got none in any of the series")


def _task(
    name: str, d_input: int, class_names: tuple[str, ...], outputs: int, *, max_length: int
) -> Task:
    return Task(
        name=name,
        summary="Your own series.",
        kind=OWN[name],
        d_input=d_input,
        class_names=class_names,
        max_length=max_length,
        source="your own files",
        licence="your own",
        n_outputs=outputs,
    )


def _some(names: tuple[str, ...]) -> str:
    return ", ".join(map(repr, names[:5])) + ", ..." * (len(names) > 5)


def _count(things: Sequence[object], word: str) -> str:
    return f"{len(things)} {word}{'s' * (len(things) > 1)}"
