"""Pathfinder: do the two marked points lie on the same dashed path?

After the hard level of D. Linsley et al., "Learning long-range spatial dependencies with horizontal
gated recurrent units", arXiv:1805.08315, section 4.1, with the constants of Y. Tay et al., "Long
Range Arena", arXiv:2011.04006.

Stricter than the published generator in two things: there the newest paddles of the two paths may
touch, while here a path keeps clear of every paddle of the other, so that a label is always true;
and points between pixels are rounded to the nearest one, not to the lower right.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from eigenstate.data.pathfinder_paddles import Paddles, Stamp, marker, moved, stamp, steps

PATH, DISTRACTOR = 14, 4  # paddles
TRIES, DISTRACTOR_TRIES = 3, 5  # of one paddle; of one distractor, whole
FULL = 0.01  # no more distractors below this share of free pixels
TOO_CLOSE = 1.8  # sum of two covers, each at most 1, that counts as touching
COVERED = 0.3  # cover from which on a pixel is not free


@dataclass(frozen=True)
class Level:
    """The constants of one size of picture. Contrasts: how bright paths and distractors are."""

    side: int
    seed_distance: int
    marker_radius: float
    distractors: int
    paddle_length: int
    thickness: float
    margins: tuple[int, ...]
    continuity: float
    contrasts: tuple[float, float]


LEVELS = {
    32: Level(32, 7, 1.5, 5, 2, 0.5, (1,), 1.0, (1.5, 2.0)),
    # The published 35 / (14 / 3) distractors are 7.5 or, in whole numbers, 8.
    128: Level(128, 20, 3.0, 8, 5, 1.5, (2, 3), 1.8, (0.9, 0.9)),
}


class Picture(NamedTuple):
    """image (side, side) uint8; label 1 if one path joins the markers, at (y, x), else 0."""

    image: np.ndarray
    label: int
    margin: int
    markers: tuple[tuple[int, int], tuple[int, int]]


class _Stuck(Exception):
    """A path found no room to go on."""


def draw(level: Level, rng: np.random.RandomState, *, distractors: bool = True) -> Picture:
    """Return one picture; without `distractors` it shows the two paths alone."""
    margin = level.margins[rng.randint(len(level.margins))]
    paddles = Paddles(level.paddle_length, level.thickness, margin, level.continuity)
    while True:
        sheet = _Sheet(level.side, paddles.reach)
        try:
            paths = _two_paths(level, paddles, sheet, rng)
            break
        except _Stuck:
            continue
    if distractors:
        for _ in range(level.distractors):
            sheet = _with_distractor(level, paddles, sheet, rng)
    label, origin = int(rng.randint(2)), int(rng.randint(2))
    start = paths[origin].start
    end = paths[origin if label else 1 - origin].end
    for point in (start, end):
        sheet.mark(point, marker(level.marker_radius))
    return Picture(sheet.image(), label, margin, (start, end))


class _Sheet:
    """What is drawn, and where there is room; both with `reach` pixels around, taken as full."""

    def __init__(self, side: int, reach: int) -> None:
        self.side, self.reach = side, reach
        self.ink = np.zeros((side + 2 * reach, side + 2 * reach), np.float32)
        self.full = np.ones_like(self.ink)
        self.full[reach + 1 : -reach - 1, reach + 1 : -reach - 1] = 0  # the edge is full too

    def copy(self) -> "_Sheet":
        sheet = _Sheet.__new__(_Sheet)
        sheet.side, sheet.reach = self.side, self.reach
        sheet.ink, sheet.full = self.ink.copy(), self.full.copy()
        return sheet

    def window(self, array: np.ndarray, point: tuple[int, int]) -> np.ndarray:
        """Return the part of a padded array that a stamp set at `point` covers."""
        y, x = point
        return array[y : y + 2 * self.reach + 1, x : x + 2 * self.reach + 1]

    def mark(self, point: tuple[int, int], disc: np.ndarray) -> None:
        reach = len(disc) // 2
        y, x = (coordinate + self.reach - reach for coordinate in point)
        part = self.ink[y : y + len(disc), x : x + len(disc)]
        np.maximum(part, disc, out=part)

    def image(self) -> np.ndarray:
        """Return the picture, its brightest pixel at 255."""
        inner = self.ink[self.reach : -self.reach, self.reach : -self.reach]
        return np.rint(inner * (255 / inner.max())).astype(np.uint8)


class _Path:
    """A path that grows by one paddle at a time.

    `full` is the room that its next paddle must keep clear of: all but its own last paddle.
    """

    def __init__(self, sheet: _Sheet, paddles: Paddles, *, contrast: float) -> None:
        self.sheet, self.paddles, self.contrast = sheet, paddles, contrast
        self.full = sheet.full.copy()

    def begin(self, start: tuple[int, int], direction: float) -> None:
        """Draw the first paddle, and stand a margin behind it."""
        self.start = self.end = start
        self.direction = direction
        length, margin = self.paddles.length, self.paddles.margin
        self.pivot = moved(moved(start, direction, length), direction, -length - margin)
        self._draw(start, stamp(self.paddles, direction))

    def grow(self, rng: np.random.RandomState) -> None:
        """Draw one more paddle. _Stuck: there is no room for one."""
        pivot = moved(self.pivot, self.direction, self.paddles.length + 2 * self.paddles.margin)
        ends, directions, total = self._wishes(pivot)
        for _ in range(TRIES):
            chosen = int(np.searchsorted(total, rng.rand() * total[-1], "right"))
            end = (int(ends[chosen, 0]), int(ends[chosen, 1]))
            mark = stamp(self.paddles, float(directions[chosen] + np.pi))  # drawn from its end
            if (self.sheet.window(self.full, end) + mark.room).max() < TOO_CLOSE:
                _fill(self.sheet, self.full, self.last)
                self.pivot, self.direction, self.end = pivot, float(directions[chosen]), end
                self._draw(end, mark)
                return
        raise _Stuck

    def _wishes(self, pivot: tuple[int, int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return ends (n, 2) in the picture, directions (n,) and summed preferences (n,).

        Straight on is preferred, and free pixels: cos(min(continuity turn, pi / 2))^2 (1 - cover).
        """
        side, reach, width = self.sheet.side, self.sheet.reach, self.full.shape[1]
        ends, directions, near = steps(self.paddles, width)
        ends = ends + pivot
        inside = ((ends >= 0) & (ends < side)).all(axis=1)
        ends, directions, near = ends[inside], directions[inside], near[inside]
        here = (pivot[0] + reach) * width + pivot[1] + reach
        free = 1 - self.full.ravel()[near + here].max(axis=1, initial=0)
        turn = np.abs((directions - self.direction + np.pi) % (2 * np.pi) - np.pi)
        wish = np.cos(np.minimum(turn * self.paddles.continuity, np.pi / 2)) ** 2 * free
        total = np.cumsum(wish)
        if len(total) == 0 or total[-1] < 1e-4:
            raise _Stuck
        return ends, directions, total

    def keep_clear_of(self, other: "_Path") -> None:
        """Take the other path's last paddle for full."""
        _fill(self.sheet, self.full, other.last)

    def _draw(self, point: tuple[int, int], mark: Stamp) -> None:
        self.last = point, mark
        _fill(self.sheet, self.sheet.full, self.last)
        ink = self.sheet.window(self.sheet.ink, point)
        np.maximum(ink, mark.ink * self.contrast, out=ink)


def _fill(sheet: _Sheet, full: np.ndarray, paddle: tuple[tuple[int, int], Stamp]) -> None:
    point, mark = paddle
    room = sheet.window(full, point)
    np.maximum(room, mark.room, out=room)


def _two_paths(
    level: Level, paddles: Paddles, sheet: _Sheet, rng: np.random.RandomState
) -> tuple[_Path, _Path]:
    """Grow two paths side by side. _Stuck: one of them found no room."""
    first, second = (_Path(sheet, paddles, contrast=level.contrasts[0]) for _ in range(2))
    border = 2 * level.seed_distance
    start = (
        int(rng.randint(border, level.side - border)),
        int(rng.randint(border, level.side - border)),
    )
    first.begin(start, _direction(rng))
    second.keep_clear_of(first)
    start, direction = moved(first.start, _direction(rng), level.seed_distance), _direction(rng)
    if (sheet.window(second.full, start) + stamp(paddles, direction).room).max() >= TOO_CLOSE:
        raise _Stuck
    second.begin(start, direction)
    first.keep_clear_of(second)
    for _ in range(PATH - 1):
        for path, other in ((first, second), (second, first)):
            path.grow(rng)
            other.keep_clear_of(path)
    return first, second


def _with_distractor(
    level: Level, paddles: Paddles, sheet: _Sheet, rng: np.random.RandomState
) -> _Sheet:
    """Return the sheet with one more short path on it, or as it was where there is no room."""
    inner = sheet.full[sheet.reach : -sheet.reach, sheet.reach : -sheet.reach]
    if (inner <= COVERED).mean() < FULL:
        return sheet
    for _ in range(DISTRACTOR_TRIES):
        trial = sheet.copy()
        path = _Path(trial, paddles, contrast=level.contrasts[1])
        direction = _direction(rng)
        places = _free_places(sheet, stamp(paddles, direction))
        if not len(places):
            continue
        y, x = places[rng.randint(len(places))]
        path.begin((int(y), int(x)), direction)
        try:
            for _ in range(DISTRACTOR - 1):
                path.grow(rng)
        except _Stuck:
            continue
        return trial
    return sheet


def _free_places(sheet: _Sheet, mark: Stamp) -> np.ndarray:
    """Return the points (n, 2) at which a stamp would cover nothing that is taken."""
    covered = sheet.full > COVERED
    taken = np.zeros((sheet.side, sheet.side), bool)
    for y, x in np.argwhere(mark.room > 0.5):
        taken |= covered[y : y + sheet.side, x : x + sheet.side]
    return np.argwhere(~taken)


def _direction(rng: np.random.RandomState) -> float:
    """Draw one of 360 directions."""
    return float(np.deg2rad(rng.randint(-180, 180)))
