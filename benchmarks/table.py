"""What every benchmark prints: the machine it ran on, then one table of figures and bars."""

import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata

from eigenstate.training.machine import cpu_model

PEER = "s5-pytorch"
PEER_MISSING = "s5-pytorch is not installed: pip install s5-pytorch==0.2.1 (or make bench)"


@dataclass(frozen=True)
class Row:
    """One figure, or several under the same bar. Without a bar it is shown for information."""

    what: str
    measured: float | Sequence[float]
    unit: str = ""
    bar: float | None = None
    at_least: bool = False

    def cells(self) -> tuple[str, str, str, str]:
        figures = self.measured if isinstance(self.measured, Sequence) else [self.measured]
        measured = f"{' / '.join(f'{figure:.3g}' for figure in figures)} {self.unit}".rstrip()
        if self.bar is None:
            return self.what, measured, "", ""
        met = [figure >= self.bar if self.at_least else figure <= self.bar for figure in figures]
        bar = f"{'≥' if self.at_least else '≤'} {self.bar:.3g} {self.unit}".rstrip()
        return self.what, measured, bar, "met" if all(met) else "MISSED"


def print_table(rows: Sequence[Row]) -> None:
    lines = [("what", "measured", "bar", ""), *(row.cells() for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(4)]
    for number, line in enumerate(lines):
        cells = [cell.ljust(width) for cell, width in zip(line, widths, strict=True)]
        print("  ".join(cells).rstrip())
        if number == 0:
            print("  ".join("-" * width for width in widths[:3]))


def print_machine(threads: int) -> None:
    versions = ", ".join(f"{name} {version_of(name)}" for name in ("torch", "numba", PEER))
    # What else runs decides how far a time can be trusted.
    load = f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    print(f"{cpu_model()}, {threads} threads, {load}")
    print(f"Python {platform.python_version()}, {versions}\n")


def version_of(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "not installed"


def show_progress(text: str) -> None:
    """Say on a terminal what is running; each call overwrites the one before, "" clears it."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
