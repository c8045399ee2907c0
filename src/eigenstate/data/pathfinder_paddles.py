"""The short strokes ("paddles") that Pathfinder's dashed paths are made of, as small stamps.

A path goes through whole pixels and few directions, so each stamp is drawn once and reused.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from eigenstate.data.png import draw_line, resize_gray

FINE = 2  # pixels of a drawing for each pixel of the picture that it is shrunk to


@dataclass(frozen=True)
class Paddles:
    """Pixels: length and thickness of a paddle, and the room kept free around it (`margin`).

    The lower `continuity`, the sharper the bends; it multiplies the angle between neighbours.
    """

    length: int
    thickness: float
    margin: int
    continuity: float

    @property
    def reach(self) -> int:
        """From the point where a stamp is set to its edge: stamps are 2 reach + 1 wide."""
        return self.length + int(np.ceil(self.thickness)) + self.margin


class Stamp(NamedTuple):
    """ink, room (2 reach + 1, 2 reach + 1): how much a paddle covers, alone and with its margin."""

    ink: np.ndarray
    room: np.ndarray


class Steps(NamedTuple):
    """Where a paddle may end, seen from where the one before ends, margins left out.

    ends (n, 2) whole (y, x); directions (n,) from there; near (n, m) how far the points within a
    margin of each end are, counted in pixels of rows of a given width.
    """

    ends: np.ndarray
    directions: np.ndarray
    near: np.ndarray


def moved(point: tuple[int, int], direction: float, distance: float) -> tuple[int, int]:
    """Return the pixel (y, x) that lies `distance` away in a `direction` (0: along x)."""
    y, x = point
    return round(y + distance * np.sin(direction)), round(x + distance * np.cos(direction))


@lru_cache(maxsize=4096)
def stamp(paddles: Paddles, direction: float) -> Stamp:
    """Return the paddle that starts in the middle of the stamp and goes in `direction`."""
    side = 2 * paddles.reach + 1
    fine = 2 * paddles.reach * FINE + 1
    middle = paddles.reach * FINE
    y, x = moved((middle, middle), direction, paddles.length * FINE)
    width = round(paddles.thickness * FINE)
    line = draw_line((middle, middle), (x, y), width=width, side=fine)
    ink = resize_gray(line, side, side)
    room = resize_gray(_widened(line, paddles.margin * FINE), side, side)
    return Stamp(np.clip(ink, 0, None), np.clip(room, 0, 1))


@lru_cache(maxsize=16)
def steps(paddles: Paddles, width: int) -> Steps:
    """Return the pixels on the circle on which the next paddle ends, for rows `width` long."""
    radius = paddles.length + paddles.margin
    angles = np.arange(0, 2 * np.pi, 1 / radius)
    circle = radius * np.stack([np.sin(angles), np.cos(angles)], axis=1)
    ends = np.unique(np.rint(circle).astype(int), axis=0)
    near = ends[:, None] + _disc(paddles.margin)  # (n, m, 2)
    return Steps(ends, np.arctan2(ends[:, 0], ends[:, 1]), near[..., 0] * width + near[..., 1])


@lru_cache(maxsize=64)
def marker(radius: float) -> np.ndarray:
    """Return the disc that marks an end of a path, with its centre in the middle."""
    reach = int(np.ceil(radius)) + 1
    side = 2 * reach + 1
    fine = np.arange(side * FINE) - (side * FINE - 1) / 2
    disc = fine[:, None] ** 2 + fine**2 <= (FINE * radius) ** 2
    return np.clip(resize_gray(disc.astype(np.float32), side, side), 0, 1)


def _disc(radius: int) -> np.ndarray:
    """Return the whole (y, x) within `radius` of (0, 0): (n, 2)."""
    y, x = np.mgrid[-radius : radius + 1, -radius : radius + 1]
    inside = y**2 + x**2 <= radius**2
    return np.stack([y[inside], x[inside]], axis=1)


def _widened(picture: np.ndarray, radius: int) -> np.ndarray:
    """Return the largest value within `radius` of each pixel."""
    height, width = picture.shape
    padded = np.pad(picture, radius)
    widest = picture
    for y, x in _disc(radius) + radius:
        widest = np.maximum(widest, padded[y : y + height, x : x + width])
    return widest
