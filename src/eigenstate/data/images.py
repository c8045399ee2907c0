"""Pictures as sequences of pixels: colour to gray, and the published random splits."""

import numpy as np
import torch

SPLIT_SEED = 42


def luminance(rgb: np.ndarray) -> np.ndarray:
    """Return gray uint8 (..., h, w) of colours uint8 (..., 3, h, w): ITU-R 601-2 luma.

    In the whole-number arithmetic of Pillow's convert("L"), so that the pixels are the published
    ones: (19595 R + 38470 G + 7471 B + 32768) / 65536, rounded down.
    """
    red, green, blue = (rgb[..., channel, :, :].astype(np.uint32) for channel in range(3))
    return ((19595 * red + 38470 * green + 7471 * blue + 32768) >> 16).astype(np.uint8)


def random_parts(sizes: list[int]) -> list[np.ndarray]:
    """Divide 0 .. sum(sizes) - 1 at random into parts of these sizes, as the published code does.

    The parts are consecutive pieces of torch's permutation from seed 42.
    """
    generator = torch.Generator().manual_seed(SPLIT_SEED)
    order = torch.randperm(sum(sizes), generator=generator).numpy()
    return np.split(order, np.cumsum(sizes)[:-1])


def hold_out_a_tenth(count: int) -> list[np.ndarray]:
    """Return the rows to learn from and the rows to validate on: 90 %, rounded down, and the rest.

    ValueError: fewer than two rows.
    """
    if count < 2:
        raise ValueError(f"expected at least 2 training pictures to hold one out, got {count}")
    learnt = int(count * 0.9)
    return random_parts([learnt, count - learnt])
