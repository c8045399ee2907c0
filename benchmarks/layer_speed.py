"""Time of the S5 layer against its two dense products alone, and against s5-pytorch.

The dense products alone are F.linear(F.linear(u, B), C) + D * u: what any S5 layer of this
shape must compute besides its scan. Every turn runs each candidate twice, in a fresh random order,
and times the second run, so that none pays for the memory another one left behind.
"""

import argparse
import importlib
import random
import statistics
import time
import warnings
from collections.abc import Callable, Mapping
from typing import TypeVar

import torch
import torch.nn.functional as F
from table import PEER_MISSING, Row, print_machine, print_table, show_progress
from torch import Tensor, nn

import eigenstate as es

THREADS = 2
DENSE_BAR, PEER_BAR, PEER_TRAINING_BAR = 1.3, 7.0, 5.0
# Batch, length, features, modes: the first shape carries the bars.
SHAPES = ((16, 1024, 128, 64), (2, 16384, 128, 64), (8, 2048, 256, 128))
TINY = ((2, 32, 8, 4),)
Forward = Callable[[Tensor], Tensor]


class Dense(nn.Module):
    """The two products and the feedthrough, with no scan between them."""

    def __init__(self, features: int, modes: int) -> None:
        super().__init__()
        self.B = nn.Parameter(torch.randn(2 * modes, features) / features**0.5)
        self.C = nn.Parameter(torch.randn(features, 2 * modes) / modes**0.5)
        self.D = nn.Parameter(torch.randn(features))

    def forward(self, u: Tensor) -> Tensor:
        return F.linear(F.linear(u, self.B), self.C) + self.D * u


def candidates(features: int, modes: int) -> dict[str, tuple[nn.Module, Forward]]:
    """Name -> (module, its output as a function of u). The peer only where it is installed."""
    dense, layer = Dense(features, modes), es.S5(features, d_state=2 * modes)
    found: dict[str, tuple[nn.Module, Forward]] = {
        "dense": (dense, dense),
        "eigenstate": (layer, lambda u: layer(u)[0]),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the peer's import warns about its own use of torch.jit
        try:
            peer_layer = importlib.import_module("s5").S5
        except ModuleNotFoundError:
            return found
        # It stores the full spectrum: as many modes as its state is wide.
        peer = peer_layer(features, state_width=modes)
    return {**found, "s5-pytorch": (peer, peer)}


def runs(module: nn.Module, forward: Forward, u: Tensor) -> dict[str, Callable[[], object]]:
    gradient = torch.randn_like(u)
    learned = u.clone().requires_grad_()  # as inside a network: the layer below wants its gradient

    @torch.no_grad()
    def inference() -> None:
        forward(u)

    def backward() -> None:
        module.zero_grad()
        learned.grad = None
        forward(learned).backward(gradient)

    return {
        "forward, no grad": inference,
        "forward, recorded": lambda: forward(learned),
        "forward+backward": backward,
    }


Key = TypeVar("Key")
Turns = dict[Key, list[float]]  # milliseconds of each turn
Times = Turns[tuple[str, str]]  # by candidate and run


def interleaved(shape: tuple[int, ...], repeats: int, warm_seconds: float) -> Times:
    batch, length, features, modes = shape
    u = torch.randn(batch, length, features)
    calls = {
        (name, run): call
        for name, (module, forward) in candidates(features, modes).items()
        for run, call in runs(module, forward, u).items()
    }
    started = time.perf_counter()
    while time.perf_counter() - started < warm_seconds:
        for call in calls.values():
            call()
    return in_turns(calls, repeats, str(shape))


def in_turns(calls: Mapping[Key, Callable[[], object]], repeats: int, what: str) -> Turns[Key]:
    """Run each call twice a turn, in a fresh random order, and time the second: milliseconds."""
    times: Turns[Key] = {key: [] for key in calls}
    for repeat in range(repeats):
        show_progress(f"{what}: turn {repeat + 1} of {repeats}")
        for key in random.sample(list(calls), len(calls)):
            calls[key]()
            started = time.perf_counter()
            calls[key]()
            times[key].append(1e3 * (time.perf_counter() - started))
    show_progress("")
    return times


def rows(shape: tuple[int, ...], times: Times, with_bars: bool) -> list[Row]:
    place = str(shape).replace(" ", "")
    medians = {key: statistics.median(turns) for key, turns in times.items()}
    found = [
        Row(f"{place} {name}, {run}: median / fastest", [medians[name, run], min(turns)], "ms")
        for (name, run), turns in times.items()
    ]
    for run in dict.fromkeys(run for _, run in medians):
        ratio = medians["eigenstate", run] / medians["dense", run]
        bar = DENSE_BAR if with_bars and run != "forward+backward" else None
        found.append(Row(f"{place} {run}: over dense products alone", ratio, "x", bar))
    for run in dict.fromkeys(run for name, run in medians if name == "s5-pytorch"):
        ratio = medians["s5-pytorch", run] / medians["eigenstate", run]
        bar = PEER_TRAINING_BAR if run == "forward+backward" else PEER_BAR
        what = f"{place} {run}: faster than s5-pytorch"
        found.append(Row(what, ratio, "x", bar if with_bars else None, at_least=True))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=31, help="turns of the first shape")
    parser.add_argument("--quick", action="store_true", help="a tiny setting, to try the script")
    arguments = parser.parse_args()
    torch.set_num_threads(THREADS)
    print_machine(THREADS)
    print("(batch, length, features, modes); ratios are of medians over interleaved turns\n")
    table: list[Row] = []
    for number, shape in enumerate(TINY if arguments.quick else SHAPES):
        repeats = 3 if arguments.quick else arguments.repeats if number == 0 else 7
        warm_seconds = 0.1 if arguments.quick else 5.0 if number == 0 else 2.0
        times = interleaved(shape, repeats, warm_seconds)
        table += rows(shape, times, with_bars=number == 0)
    print_table(table)
    if not any("s5-pytorch" in row.what for row in table):
        print(f"\n{PEER_MISSING}")


if __name__ == "__main__":
    main()
