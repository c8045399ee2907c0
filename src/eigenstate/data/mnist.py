"""MNIST and Fashion-MNIST, pixel by pixel: in reading order, or permuted.

LeCun et al., 1998; Xiao, Rasul and Vollgraf, arXiv:1708.07747; as sequences Le, Jaitly and Hinton,
arXiv:1504.00941, section 4.2.
"""

from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np

from eigenstate.data.base import Splits, Task
from eigenstate.data.idx import read_idx
from eigenstate.data.images import hold_out_a_tenth
from eigenstate.data.places import Wanted, find_folder, first_of
from eigenstate.data.quantized import QuantizedSequences, Scaling

SIDE = 28
PIXELS = SIDE * SIDE
RANDOM_SEED = 92916
Order = Literal["reading", "bit-reversal", "random"]


def _variants(name: str, ndim: int) -> tuple[str, ...]:
    """How a file is called: as published, or as some unpack it; raw, or compressed."""
    return tuple(f"{name}{sep}idx{ndim}-ubyte{end}" for end in ("", ".gz") for sep in "-.")


FILES = {
    "train": (_variants("train-images", 3), _variants("train-labels", 1)),
    "test": (_variants("t10k-images", 3), _variants("t10k-labels", 1)),
}
MNIST_FOLDERS = ("MNIST",)
FASHION_FOLDERS = ("FashionMNIST", "fashion-mnist", "fashion_mnist")
# As published: 0 to 1, nothing subtracted.
SCALING = Scaling(255.0, np.zeros(1), np.ones(1))


def read_smnist(folder: Path, *, order: Order = "reading") -> Splits:
    """Read the four idx files of MNIST, raw or .gz, at or below `folder`: u (B, 784, 1), 0 to 1.

    54,000 of the training pictures are learnt from and 6,000 validate, by the published seed 42.
    `order` is that of the pixels: row by row; "bit-reversal", the published permuted task: 0 .. 1023
    with their ten bits reversed, those below 784; or "random", RandomState(92916).permutation(784),
    which is the permuted task of other papers.
    Errors name the file: cut short, pictures of another size, a label outside 0 .. 9, other counts.
    """
    return _read(folder, MNIST_FOLDERS, SMNIST.class_names, order)


def read_psmnist(folder: Path, *, order: Order = "bit-reversal") -> Splits:
    """`read_smnist` with its pixels permuted by bit reversal, as published."""
    return read_smnist(folder, order=order)


def read_sfashion(folder: Path) -> Splits:
    """Read Fashion-MNIST, whose files are called and made like those of `read_smnist`."""
    return _read(folder, FASHION_FOLDERS, SFASHION.class_names, "reading")


def pixel_order(order: Order) -> np.ndarray:
    """Return which pixel comes at each of the 784 steps. ValueError: an unknown order."""
    if order == "reading":
        return np.arange(PIXELS)
    if order == "bit-reversal":
        bits = (PIXELS - 1).bit_length()
        reversed_bits = [int(f"{number:0{bits}b}"[::-1], 2) for number in range(2**bits)]
        return np.array([number for number in reversed_bits if number < PIXELS])
    if order == "random":
        return np.random.RandomState(RANDOM_SEED).permutation(PIXELS)
    raise ValueError(f"order: expected 'reading', 'bit-reversal' or 'random', got {order!r}")


def _read(folder: Path, named: tuple[str, ...], names: tuple[str, ...], order: Order) -> Splits:
    steps = pixel_order(order)
    files = tuple(variants for pair in FILES.values() for variants in pair)
    place = find_folder(Path(folder), Wanted(f"{named[0]} idx files", files, named=named))
    train, test = (_part(place, part, names).at(steps) for part in FILES)
    learnt, validation = hold_out_a_tenth(len(train))
    return Splits(train.subset(learnt), test, train.subset(validation))


def _part(place: Path, part: str, names: tuple[str, ...]) -> QuantizedSequences:
    images_path, labels_path = (first_of(place, variants) for variants in FILES[part])
    images, labels = read_idx(images_path, 3), read_idx(labels_path, 1)
    if images.shape[1:] != (SIDE, SIDE) or len(images) == 0:
        raise ValueError(
            f"{images_path}: expected pictures of {SIDE} x {SIDE} pixels, got shape {images.shape}"
        )
    if len(images) != len(labels):
        raise ValueError(
            f"{labels_path}: expected {len(images):,} labels, one for each picture of "
            f"{images_path.name}, got {len(labels):,}"
        )
    bad = np.flatnonzero(labels >= len(names))
    if len(bad):
        raise ValueError(
            f"{labels_path}, label {bad[0]}: expected 0 to {len(names) - 1}, got {labels[bad[0]]}"
        )
    values = images.reshape(len(images), PIXELS, 1)
    return QuantizedSequences(values, labels, class_names=names, scaling=SCALING)


_task = partial(Task, kind="classification", d_input=1, max_length=PIXELS)
SMNIST = _task(
    name="smnist",
    summary="which digit was written, pixel by pixel: 60,000 + 10,000 pictures, 784 steps",
    class_names=tuple("0123456789"),
    source="MNIST, Y. LeCun, C. Cortes, C. Burges",
    licence="CC BY-SA 3.0",
    reader=read_smnist,
)
PSMNIST = _task(
    name="psmnist",
    summary="which digit was written, its pixels permuted: 60,000 + 10,000 pictures, 784 steps",
    class_names=tuple("0123456789"),
    source="MNIST, Y. LeCun, C. Cortes, C. Burges, pixels in bit-reversed order",
    licence="CC BY-SA 3.0",
    reader=read_psmnist,
)
SFASHION = _task(
    name="sfashion",
    summary="which piece of clothing, pixel by pixel: 60,000 + 10,000 pictures, 784 steps",
    class_names=(
        "T-shirt/top",
        "Trouser",
        "Pullover",
        "Dress",
        "Coat",
        "Sandal",
        "Shirt",
        "Sneaker",
        "Bag",
        "Ankle boot",
    ),
    source="Fashion-MNIST, H. Xiao, K. Rasul, R. Vollgraf, arXiv:1708.07747",
    licence="MIT",
    reader=read_sfashion,
)
