"""Series as a user's file holds them, before anything is learnt from them."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

Kind = Literal["classification", "regression"]


@dataclass(frozen=True)
class Series:
    """N series of unequal length over the same channels.

    names     (N,) where each comes from, for messages: "walks.csv, id 'a7'"
    ids       (N,) what its file calls it: the id, or without one its number, from 0
    groups    (N,) series of one group, say of one person, stay in one part of a split
    channels  (C,) names
    values    N arrays (L_i, C), NaN where a value is missing
    times     N rising arrays (L_i,), or None where samples are simply one interval apart
    labels    (N,) class names, or None
    targets   N arrays (L_i, D), NaN where nothing is asked, or None
    """

    names: tuple[str, ...]
    ids: tuple[str, ...]
    groups: tuple[str, ...]
    channels: tuple[str, ...]
    values: tuple[np.ndarray, ...]
    times: tuple[np.ndarray, ...] | None = None
    labels: tuple[str, ...] | None = None
    targets: tuple[np.ndarray, ...] | None = None

    def __len__(self) -> int:
        return len(self.values)

    def select(self, indices: Iterable[int]) -> "Series":
        """Return the series at `indices`, in that order."""
        chosen = [int(i) for i in indices]
        times, labels, targets = self.times, self.labels, self.targets
        return Series(
            names=tuple(self.names[i] for i in chosen),
            ids=tuple(self.ids[i] for i in chosen),
            groups=tuple(self.groups[i] for i in chosen),
            channels=self.channels,
            values=tuple(self.values[i] for i in chosen),
            times=None if times is None else tuple(times[i] for i in chosen),
            labels=None if labels is None else tuple(labels[i] for i in chosen),
            targets=None if targets is None else tuple(targets[i] for i in chosen),
        )


def split_by_group(series: Series, *, held_out: float, seed: int) -> tuple[Series, Series]:
    """Divide at random: about a `held_out` share of the groups, and with them all their series.

    The share is taken from each class by itself (a group's class is that of its first series), and
    every class keeps a group to learn from. So does every channel with missing values one where
    they are missing. Returns (kept, held out), both in their old order.
    ValueError: a share that is not between 0 and 1, or one that leaves nothing on one side.
    """
    if not 0 < held_out < 1:
        raise ValueError(f"held_out: expected a share between 0 and 1, got {held_out}")
    kind: dict[str, str] = {}
    for i, group in enumerate(series.groups):
        kind.setdefault(group, series.labels[i] if series.labels is not None else "")
    rng = np.random.default_rng(seed)
    out: set[str] = set()
    kept = _first_with_missing(series)
    for label in sorted(set(kind.values())):
        groups = sorted(group for group in kind if kind[group] == label)
        count = min(round(held_out * len(groups)), len(groups) - 1)
        order = [groups[i] for i in rng.permutation(len(groups)) if groups[i] not in kept]
        out |= set(order[:count])
    if not out:
        of = f"{len(kind)} groups"
        if series.labels is not None:
            largest = max(Counter(kind.values()).values())
            of = f"each class's groups (the largest has {largest})"
        raise ValueError(
            f"held_out: {held_out:g} of {of} leaves none to test on; give more groups, a larger "
            "share, or a test file of its own"
        )
    inside = [group in out for group in series.groups]
    kept = series.select(np.flatnonzero(np.logical_not(inside)))
    return kept, series.select(np.flatnonzero(inside))


def _first_with_missing(series: Series) -> set[str]:
    """Return groups such that every channel with missing values is missing some in one of them."""
    found: dict[int, str] = {}
    for group, values in zip(series.groups, series.values, strict=True):
        for channel in np.flatnonzero(np.isnan(values).any(axis=0)):
            found.setdefault(int(channel), group)
    return set(found.values())
