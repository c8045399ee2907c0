"""Time to import the package and to make its first call, and the complex tensors in its modules.

Each time is taken inside a fresh process; the processes that import torch alone and those that
import eigenstate too take turns. The first call compiles its kernels.
"""

import argparse
import statistics
import subprocess
import sys
from collections.abc import Iterator
from itertools import product

import torch
from table import Row, print_machine, print_table, show_progress
from torch import Tensor

import eigenstate as es

IMPORT_BAR, FIRST_CALL_BAR = 0.5, 3.0

TORCH = """
import time
started = time.perf_counter()
import torch
print(time.perf_counter() - started)
"""
BOTH = TORCH.replace("import torch", "import torch, eigenstate")
FIRST_CALLS = """
import time
import torch, eigenstate
layer, u = eigenstate.S5(64), torch.randn(8, 1000, 64)
started = time.perf_counter()
with torch.no_grad():
    layer(u)
print(time.perf_counter() - started)
started = time.perf_counter()
layer(u)[0].sum().backward()
print(time.perf_counter() - started)
"""


def seconds(program: str) -> list[float]:
    """The numbers that a program prints, run in a fresh process."""
    finished = subprocess.run(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, check=True
    )
    return [float(word) for word in finished.stdout.split()]


def import_rows(repeats: int) -> list[Row]:
    seconds(BOTH)  # once untimed: the files come from the disk
    times: dict[str, list[float]] = {TORCH: [], BOTH: []}
    for repeat in range(repeats):
        show_progress(f"imports, turn {repeat + 1} of {repeats}")
        for program, measured in times.items():
            measured += seconds(program)
    alone, both = statistics.median(times[TORCH]), statistics.median(times[BOTH])
    return [
        Row("import torch", alone, "s"),
        Row("import torch, eigenstate", both, "s"),
        Row("import eigenstate over import torch", both - alone, "s", IMPORT_BAR),
    ]


def first_call_rows(repeats: int) -> list[Row]:
    pairs = []
    for repeat in range(repeats):
        show_progress(f"first calls, turn {repeat + 1} of {repeats}")
        pairs.append(seconds(FIRST_CALLS))
    forward, training = (statistics.median(measured) for measured in zip(*pairs, strict=True))
    return [
        Row("first layer call of a process, compiling included", forward, "s", FIRST_CALL_BAR),
        Row("then its first forward+backward", training, "s"),
    ]


def layers() -> Iterator[es.S5]:
    """A small S5 for every option that decides what it stores."""
    options = (
        es.S5Options(),
        es.S5Options(conjugate=False),
        es.S5Options(stability="clip"),
        es.S5Options(stability="free", timescale="scalar"),
    )
    for option, both_ways in product(options, (False, True)):
        yield es.S5(3, d_state=4, bidirectional=both_ways, options=option)


def stored(layer: es.S5) -> Iterator[Tensor]:
    """Every tensor a layer keeps or hands out as a state."""
    yield from layer.state_dict().values()
    yield from layer.buffers()
    _, state = layer(torch.randn(2, 5, 3))
    if state is not None:
        yield state
        yield layer.initial_state(2)
        yield layer.states(torch.randn(2, 5, 3))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7, help="processes of each kind")
    parser.add_argument("--quick", action="store_true", help="one process of each kind")
    arguments = parser.parse_args()
    repeats = 1 if arguments.quick else arguments.repeats
    print_machine(torch.get_num_threads())
    print("medians over fresh processes\n")
    found = sum(tensor.is_complex() for layer in layers() for tensor in stored(layer))
    what = "complex tensors in state_dict, buffers and states of S5"
    print_table([*import_rows(repeats), *first_call_rows(repeats), Row(what, found, bar=0)])
    show_progress("")


if __name__ == "__main__":
    main()
