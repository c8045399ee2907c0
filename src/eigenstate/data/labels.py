"""Class labels of a whole set, checked."""

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor


def check_labels(labels: ArrayLike, count: int, classes: int) -> Tensor:
    """Return the labels of `count` sequences as int64 (count,).

    ValueError: not one whole number from 0 to classes - 1 for each; names the first bad index.
    """
    array = np.asarray(labels)
    if array.dtype.kind not in "iu" or array.shape != (count,):
        raise ValueError(
            f"labels: expected {count} whole numbers, one for each sequence, "
            f"got shape {array.shape} and dtype {array.dtype}"
        )
    bad = np.flatnonzero((array < 0) | (array >= classes))
    if len(bad):
        raise ValueError(
            f"labels[{bad[0]}]: expected 0 to {classes - 1}, one for each of the {classes} class "
            f"names, got {array[bad[0]]}"
        )
    return torch.from_numpy(array.astype(np.int64))
