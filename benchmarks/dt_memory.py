"""Extra peak memory of one training step with per-step intervals over one without.

One forward and backward pass, each in a fresh process, after a tiny one that compiles and imports.
The figure is peak(dt of shape (B, L)) - peak(constant dt), in bytes per B * L * modes; both peaks
count from what the process holds just before the step. Linux only: it reads /proc/self.
"""

import argparse
import importlib
import os
import statistics
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import torch
from table import PEER_MISSING, Row, print_machine, print_table, show_progress

import eigenstate as es

THREADS = 2
BAR = 40.0
# Batch, length, features, modes.
SHAPE = (8, 8000, 64, 64)
TINY = (2, 64, 8, 4)
# The peer holds several arrays of 8 * B * L * H * modes bytes: a shorter sequence shows the rate.
PEER_LENGTH = 250
# Every large tensor gets pages of its own, given back when it dies: the peak is what lives at once.
ALLOCATOR = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}


def training_step(kind: str, shape: tuple[int, ...], varying: bool) -> Callable[[], None]:
    batch, length, features, modes = shape
    u = torch.randn(batch, length, features)
    dt = torch.rand(batch, length) + 0.5 if varying else None
    if kind == "eigenstate":
        layer = es.S5(features, d_state=2 * modes)
        return lambda: layer(u, dt=dt)[0].square().mean().backward()
    peer = importlib.import_module("s5").S5(features, state_width=modes)
    return lambda: peer(u, step_scale=1.0 if dt is None else dt).square().mean().backward()


def bytes_of(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return 1024 * int(line.split()[1])
    raise RuntimeError(f"/proc/self/status has no {field}; this benchmark needs Linux")


def print_peak(kind: str, shape: tuple[int, ...], varying: bool) -> None:
    """Print the peak of one step in bytes. Runs in a process of its own."""
    torch.manual_seed(0)
    torch.set_num_threads(THREADS)
    training_step(kind, (2, 16, *shape[2:]), varying)()
    step = training_step(kind, shape, varying)
    before = bytes_of("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the recorded peak starts again from here
    step()
    print(bytes_of("VmHWM") - before)


def peak(kind: str, shape: tuple[int, ...], varying: bool) -> int:
    """Bytes, measured in a fresh process."""
    measure = [kind, "varying" if varying else "constant", *map(str, shape)]
    finished = subprocess.run(
        [sys.executable, __file__, "--measure", *measure],
        env={**os.environ, **ALLOCATOR},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return int(finished.stdout.split()[-1])


def rows(kind: str, shape: tuple[int, ...], repeats: int, bar: float | None) -> list[Row]:
    peaks: dict[bool, list[int]] = {False: [], True: []}
    for repeat in range(repeats):
        for varying, measured in peaks.items():
            show_progress(f"{kind}, {'varying' if varying else 'constant'} dt, run {repeat + 1}")
            measured.append(peak(kind, shape, varying))
    show_progress("")
    constant, varying = statistics.median(peaks[False]), statistics.median(peaks[True])
    batch, length, _, modes = shape
    cells = batch * length * modes
    place = f"{kind} {shape}".replace(", ", ",")
    return [
        Row(f"{place}: peak of a step, constant dt", constant / 2**20, "MiB"),
        Row(f"{place}: peak of a step, dt (B, L)", varying / 2**20, "MiB"),
        Row(f"{place}: extra", (varying - constant) / cells, "bytes per B·L·modes", bar),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3, help="processes per setting")
    parser.add_argument("--quick", action="store_true", help="a tiny setting, to try the script")
    parser.add_argument("--measure", nargs=6, help=argparse.SUPPRESS)  # one process's own share
    arguments = parser.parse_args()
    if arguments.measure:
        kind, dt, *shape = arguments.measure
        return print_peak(kind, tuple(map(int, shape)), dt == "varying")
    print_machine(THREADS)
    print("(batch, length, features, modes); medians over fresh processes\n")
    repeats, shape = (1, TINY) if arguments.quick else (arguments.repeats, SHAPE)
    table = rows("eigenstate", shape, repeats, BAR)
    peer_found = find_spec("s5") is not None
    if peer_found:
        peer_shape = (shape[0], min(shape[1], PEER_LENGTH), *shape[2:])
        table += rows("s5-pytorch", peer_shape, repeats, None)
    print_table(table)
    if not peer_found:
        print(f"\n{PEER_MISSING}")


if __name__ == "__main__":
    main()
