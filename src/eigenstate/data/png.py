"""Gray PNG pictures. The one door to Pillow, opened only when a picture is read, sized or written.

Everything is uint8, (height, width), 0 black to 255 white.
"""

from os import PathLike
from pathlib import Path
from types import ModuleType

import numpy as np

from eigenstate.data.damage import damaged


def read_gray(path: str | PathLike[str]) -> np.ndarray:
    """Return the picture in `path` as uint8 (height, width); colours become their luminance.

    FileNotFoundError: no such file. ValueError: a file of 0 bytes, cut short, not a PNG, or of
    more than 8 bits a value. ImportError: Pillow is missing; says how to install it.
    """
    image = _pillow()
    path = Path(path)
    if path.stat().st_size == 0:
        raise ValueError(f"{path}: the file has 0 bytes; unpack the archive again")
    with path.open("rb") as file:
        try:
            picture = image.open(file, formats=["PNG"])
            mode, pixels = picture.mode, np.array(picture.convert("L"))
        except Exception as error:
            raise damaged(path, "PNG picture", error) from error
    if mode.startswith(("I", "F")):
        raise ValueError(
            f"{path}: expected 8 bits a value, got Pillow's mode {mode!r}; save it as an 8-bit PNG"
        )
    return pixels


def write_gray(path: str | PathLike[str], array: np.ndarray) -> None:
    """Write uint8 (height, width) to `path` as a gray PNG. ValueError: another dtype or shape."""
    if array.dtype != np.uint8 or array.ndim != 2 or 0 in array.shape:
        raise ValueError(
            "array: expected uint8 of shape (height, width), both at least 1, "
            f"got {array.dtype} of shape {array.shape}"
        )
    _pillow().fromarray(np.ascontiguousarray(array)).save(path, format="PNG")


def resize_gray(array: np.ndarray, height: int, width: int) -> np.ndarray:
    """Return uint8 or float32 (h, w) resampled to (height, width) by Pillow's Lanczos filter."""
    image = _pillow()
    picture = image.fromarray(np.ascontiguousarray(array))
    return np.array(picture.resize((width, height), image.Resampling.LANCZOS))


def draw_line(
    start: tuple[float, float], end: tuple[float, float], *, width: int, side: int
) -> np.ndarray:
    """Return float32 (side, side): ones on a line between points (x, y), zeros elsewhere."""
    picture = _pillow().new("F", (side, side), 0.0)
    from PIL import ImageDraw

    ImageDraw.Draw(picture).line([start, end], fill=1.0, width=width)
    return np.array(picture)


def _pillow() -> ModuleType:
    try:
        from PIL import Image
    except ImportError:
        raise ImportError("pictures need Pillow: pip install 'eigenstate[data]'") from None
    return Image
