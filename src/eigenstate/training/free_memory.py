"""Memory that batches of other lengths have left free goes back to the system."""

import contextlib
import ctypes
import sys
import time
from typing import Any

import pytorch_lightning as pl

EVERY = 20.0  # seconds


class FreeMemory(pl.Callback):
    """Trims the heap from time to time, where the C library is glibc.

    Ragged batches ask for blocks of ever other sizes. glibc keeps the freed ones between others, so
    that a run holds several times what it needs, and more by the hour.
    """

    def __init__(self) -> None:
        self.trimmed = time.perf_counter()

    def on_train_batch_end(self, *_: Any) -> None:
        if time.perf_counter() - self.trimmed >= EVERY:
            trim()
            self.trimmed = time.perf_counter()

    def on_validation_batch_end(self, *_: Any) -> None:
        self.on_train_batch_end()


def trim() -> None:
    """Give free memory back; nothing happens where there is no malloc_trim."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).malloc_trim(0)
