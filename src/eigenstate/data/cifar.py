"""CIFAR-10: which of ten things does a 32 x 32 picture show, pixel by pixel? (Krizhevsky, 2009).

Krizhevsky, "Learning multiple layers of features from tiny images", 2009; in gray as Image of the
Long Range Arena, Tay et al., arXiv:2011.04006, section 2.2.4.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from eigenstate.data.base import Splits, Task
from eigenstate.data.images import hold_out_a_tenth, luminance
from eigenstate.data.pickles import load_plain
from eigenstate.data.places import Wanted, find_folder
from eigenstate.data.quantized import QuantizedSequences, Scaling

TRAIN = tuple(f"data_batch_{number}" for number in range(1, 6))
TEST = "test_batch"
SIDE = 32
PIXELS = SIDE * SIDE
CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
GRAY = Scaling(255.0, np.array([122.6 / 255]), np.array([61 / 255]))
COLOUR = Scaling(255.0, np.array([0.4914, 0.4822, 0.4465]), np.array([0.247, 0.243, 0.261]))


def read_cifar(folder: Path) -> Splits:
    """Read cifar-10-batches-py at or below `folder` in colour: u (B, 1024, 3), row by row.

    Scaled to the published means and deviations, (.4914, .4822, .4465) and (.247, .243, .261);
    45,000 of the training pictures are learnt from and 5,000 validate, by the published seed 42.
    Errors name the file: cut short, not a CIFAR-10 batch, a label outside 0 .. 9, or a pickle that
    asks for anything but NumPy's arrays (nothing in it is executed).
    """
    return _read(folder, lambda rgb: rgb.reshape(len(rgb), 3, PIXELS).transpose(0, 2, 1), COLOUR)


def read_image(folder: Path) -> Splits:
    """Read cifar-10-batches-py at or below `folder` in gray: u (B, 1024, 1), row by row.

    Gray is Pillow's luminance, scaled by the published (x - 122.6) / 61; otherwise `read_cifar`.
    """
    return _read(folder, lambda rgb: luminance(rgb).reshape(len(rgb), PIXELS, 1), GRAY)


def _read(folder: Path, pixels: Callable[[np.ndarray], np.ndarray], scaling: Scaling) -> Splits:
    wanted = Wanted("CIFAR-10 batches", (*TRAIN, TEST), named=("cifar-10-batches-py",))
    place = find_folder(Path(folder), wanted)

    def part(*names: str) -> QuantizedSequences:
        batches = [_read_batch(place / name) for name in names]
        values = np.concatenate([pixels(rgb) for rgb, _ in batches])  # (N, 1024, C)
        labels = np.concatenate([labels for _, labels in batches])
        return QuantizedSequences(values, labels, class_names=CLASSES, scaling=scaling)

    train, test = part(*TRAIN), part(TEST)
    learnt, validation = hold_out_a_tenth(len(train))
    return Splits(train.subset(learnt), test, train.subset(validation))


def _read_batch(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return the colours uint8 (n, 3, 32, 32) and labels (n,) of one file."""
    batch = _unpickle(path)
    data, labels = batch.get("data"), batch.get("labels")
    if (
        not isinstance(data, np.ndarray)
        or data.dtype != np.uint8
        or data.ndim != 2
        or data.shape[1] != 3 * PIXELS
        or len(data) == 0
    ):
        got = f"{data.dtype} {data.shape}" if isinstance(data, np.ndarray) else type(data).__name__
        raise ValueError(
            f"{path}: expected 'data', uint8 of shape (pictures, 3072), got {got}; "
            "is this a batch of CIFAR-10 for Python?"
        )
    if not isinstance(labels, list) or len(labels) != len(data):
        raise ValueError(f"{path}: expected 'labels', a list of {len(data)} whole numbers")
    for row, label in enumerate(labels):
        if label not in range(len(CLASSES)):
            raise ValueError(f"{path}, labels[{row}]: expected 0 to 9, got {label!r}")
    return data.reshape(-1, 3, SIDE, SIDE), np.array(labels, dtype=np.int64)


def _unpickle(path: Path) -> Mapping[str, Any]:
    """Return the dictionary in one file; an empty one if something else is in it."""
    if path.stat().st_size == 0:
        raise ValueError(f"{path}: the file is empty; unpack the archive again")
    with path.open("rb") as file:
        batch = load_plain(file, path)
    pairs = batch.items() if isinstance(batch, dict) else ()
    return {k.decode() if isinstance(k, bytes) else str(k): v for k, v in pairs}


IMAGE = Task(
    name="image",
    summary="which of ten things a gray 32 x 32 picture shows, by its pixels: 50,000 + 10,000",
    kind="classification",
    d_input=1,
    class_names=CLASSES,
    max_length=PIXELS,
    source="CIFAR-10, A. Krizhevsky, 2009, in gray as in the Long Range Arena",
    licence="none stated",
    reader=read_image,
)
CIFAR = Task(
    name="cifar",
    summary="which of ten things a colour 32 x 32 picture shows, by its pixels: 50,000 + 10,000",
    kind="classification",
    d_input=3,
    class_names=CLASSES,
    max_length=PIXELS,
    source="CIFAR-10, A. Krizhevsky, 2009",
    licence="none stated",
    reader=read_cifar,
)
