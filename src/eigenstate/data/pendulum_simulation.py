"""The published pendulum: simulated, drawn, and hidden in noise that comes and goes.

Constants and order of the random draws are those of M. Schirmer et al., "Modeling Irregular Time
Series with Continuous Recurrent Units", arXiv:2111.11344, section 4.2, after P. Becker et al.,
"Recurrent Kalman Networks", arXiv:1905.07357. With them the arrays are the published ones, pixel
for pixel.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from eigenstate.data.png import draw_line, resize_gray

VERSION = 1  # of the arrays: raise it when they change, so that no stored ones are taken for them

FRAMES, KEPT = 100, 50  # of a sequence: simulated, shown
SIDE = 24  # pixels of a frame

FRAME_TIME, EULER_TIME = 0.01, 1e-4  # seconds from frame to frame, and of one integration step
GRAVITY, MASS, LENGTH, FRICTION = 9.81, 1.0, 1.0, 0.1
INERTIA = MASS * LENGTH**2 / 3
KICK = 0.1  # deviation of the angular velocity's jump after every frame
STATE_NOISE = 1e-5

CANVAS, CENTRE, ROD, ROD_WIDTH = 128, 64, 55, 8  # pixels, before the picture is shrunk to SIDE

CLEAN_FRAMES = 5  # at the start of every sequence
DRIFT = 0.2  # largest change of the visibility from frame to frame
ALL_NOISE = 0.0, 0.25  # where the visibility counts as none: drawn once for a sequence, from here
ALL_CLEAR = 0.75, 1.0  # where it counts as full


class Part(NamedTuple):
    """Sequences of one part of the data set, N of them, with L frames: KEPT or all FRAMES.

    images (N, L, 24, 24) uint8; times (N, L) int64, the frames' numbers in 0 .. 99;
    targets (N, L, 2) float64, sine and cosine of the rod's angle.
    """

    images: np.ndarray
    times: np.ndarray
    targets: np.ndarray


def simulate(
    count: int,
    rng: np.random.RandomState,
    *,
    first_seed: int | None = None,
    drawn: Callable[[int], None] = lambda done: None,
) -> Part:
    """Draw `count` sequences from `rng`.

    Sequence i keeps the frames that seed first_seed + i picks, or all without `first_seed`. `drawn`
    is told the number of sequences that are complete after each one.
    """
    angles = _angles(count, rng)
    targets = np.stack([np.sin(angles), np.cos(angles)], axis=-1)  # (N, FRAMES, 2)
    rods = _noisy(angles, rng)
    visibility = _visibility(count, rng)
    times = np.tile(np.arange(FRAMES), (count, 1))
    if first_seed is not None:
        times = np.stack([kept_frames(first_seed + i) for i in range(count)])
    images = np.empty((*times.shape, SIDE, SIDE), np.uint8)
    for i in range(count):
        noise = rng.uniform(0.0, 255.0, size=(FRAMES, SIDE, SIDE))[times[i]]
        clear = visibility[i, times[i], None, None]
        images[i] = clear * frames(rods[i, times[i]]) + (1 - clear) * noise
        drawn(i + 1)
    return Part(images, times, np.take_along_axis(targets, times[:, :, None], axis=1))


def kept_frames(seed: int) -> np.ndarray:
    """Return the KEPT frame numbers that a sequence shows, in order."""
    return np.sort(np.random.default_rng(seed).choice(FRAMES, KEPT, replace=False))


def frames(angles: np.ndarray) -> np.ndarray:
    """Draw a rod at each of the angles (n,): uint8 (n, 24, 24), 255 on the rod."""
    pictures = np.empty((len(angles), SIDE, SIDE), np.uint8)
    for picture, angle in zip(pictures, angles, strict=True):
        tip = CENTRE + ROD * np.sin(angle), CENTRE + ROD * np.cos(angle)
        rod = draw_line((CENTRE, CENTRE), tip, width=ROD_WIDTH, side=CANVAS)
        # The filter overshoots.
        picture[:] = 255.0 * np.clip(resize_gray(rod, SIDE, SIDE), 0.0, 1.0)
    return pictures


def _angles(count: int, rng: np.random.RandomState) -> np.ndarray:
    """Swing from rest at any angle: velocity' = g m l / I sin(angle) - friction velocity.

    Semi-implicit Euler; after each frame the velocity is kicked and the angle, which stands at 0
    while it is integrated, is wrapped. Returns (count, FRAMES), shifted by half a turn.
    """
    angle, velocity = rng.uniform(0, 2 * np.pi, count), np.zeros(count)
    angles = np.empty((count, FRAMES))
    angles[:, 0] = angle
    pull = MASS * GRAVITY * LENGTH / INERTIA
    for frame in range(1, FRAMES):
        for _ in range(round(FRAME_TIME / EULER_TIME)):
            velocity = velocity + EULER_TIME * (pull * np.sin(angle) - FRICTION * velocity)
            angle = angle + EULER_TIME * velocity
        velocity = velocity + rng.normal(0.0, KICK, count)
        angle = angle % (2 * np.pi)
        angles[:, frame] = angle
    return angles - np.pi


def _noisy(angles: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """Return the angles as they are drawn. The noise of the velocity is drawn, and not needed."""
    return angles + rng.normal(0.0, STATE_NOISE, (*angles.shape, 2))[:, :, 0]


def _visibility(count: int, rng: np.random.RandomState) -> np.ndarray:
    """Return how much of each frame is picture, the rest being noise: (count, FRAMES) in 0 .. 1."""
    walk = np.empty((count, FRAMES))
    walk[:, 0] = rng.uniform(0.0, 1.0, count)
    for frame in range(1, FRAMES):
        step = rng.uniform(-DRIFT, DRIFT, count)
        walk[:, frame] = np.clip(walk[:, frame - 1] + step, 0.0, 1.0)
    low = rng.uniform(*ALL_NOISE, (count, 1))
    high = rng.uniform(*ALL_CLEAR, (count, 1))
    visibility = np.clip((walk - low) / (high - low), 0.0, 1.0)
    visibility[:, :CLEAN_FRAMES] = 1.0
    return visibility
