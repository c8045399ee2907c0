"""How far a long piece of work is, in one line that is written over."""

import sys
import time
from typing import Self

PAUSE = 0.2  # seconds between two looks


class Progress:
    """`label 1,234 of 20,000  6%  1 min 20 s left` on stderr, if that is a terminal.

    A context manager; calling it tells how much is done, and leaving it takes the line away.
    """

    def __init__(self, label: str, total: int) -> None:
        self.label, self.total = label, total
        self._visible = sys.stderr.isatty()
        self._start = self._last = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._visible:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def __call__(self, done: int) -> None:
        now = time.monotonic()
        if not self._visible or (now - self._last < PAUSE and done < self.total):
            return
        self._last = now
        left = (now - self._start) * (self.total - done) / max(done, 1)
        line = f"{self.label} {done:,} of {self.total:,}  {done / max(self.total, 1):.0%}"
        print(f"\r\x1b[K{line}  {_words(left)} left", end="", file=sys.stderr, flush=True)


def _words(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
