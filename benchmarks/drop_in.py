"""Time of the drop-ins against s5-pytorch itself: the same calls on the same weights.

Every turn runs each candidate twice, in a fresh random order, and times the second run, on one
thread. The largest difference between the two outputs stands beside the times.
"""

import argparse
import importlib
import statistics
import warnings

import torch
from layer_speed import in_turns, runs
from table import PEER_MISSING, Row, print_machine, print_table, show_progress

from eigenstate.interop import s5_pytorch

THREADS = 1
BAR = 2e-6  # largest difference over the largest value, in float32
# What is built, its arguments, and the input (batch, length, width).
CASES = (
    ("S5", (64, 64), (16, 1024, 64)),
    ("S5", (128, 64), (16, 1024, 128)),
    ("S5Block", (64, 64, False), (32, 201, 64)),
)


def rows(name: str, arguments: tuple, shape: tuple[int, ...], repeats: int) -> list[Row]:
    peer = getattr(importlib.import_module("s5"), name)(*arguments)
    ours = getattr(s5_pytorch, name)(*arguments)
    ours.load_state_dict(peer.state_dict())
    ours.eval()  # no dropout, so that the outputs can be compared
    peer.eval()
    u = torch.randn(shape)
    with torch.no_grad():
        difference = float((ours(u) - peer(u)).abs().max() / peer(u).abs().max())
    calls = {
        (who, run): call
        for who, module in (("ours", ours), ("theirs", peer))
        for run, call in runs(module, module, u).items()
        if run != "forward, recorded"
    }
    times = in_turns(calls, repeats, f"{name} {shape}")
    medians = {key: statistics.median(turns) for key, turns in times.items()}
    place = f"{name}{arguments} on {shape}".replace(" ", "").replace("on", " on ")
    table = [Row(f"{place}: difference", difference, "", BAR)]
    for run in dict.fromkeys(run for _, run in calls):
        pair = [medians["theirs", run], medians["ours", run]]
        table.append(Row(f"{place} {run}: theirs / ours", pair, "ms"))
        table.append(Row(f"{place} {run}: faster", pair[0] / pair[1], "x"))
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=15, help="turns of each case")
    parser.add_argument("--quick", action="store_true", help="a tiny setting, to try the script")
    arguments = parser.parse_args()
    torch.set_num_threads(THREADS)
    print_machine(THREADS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the peer's import warns about its own use of torch.jit
        try:
            importlib.import_module("s5")
        except ModuleNotFoundError:
            return print(PEER_MISSING)
    table: list[Row] = []
    for name, built, shape in CASES:
        shape = (2, 16, shape[-1]) if arguments.quick else shape
        table += rows(name, built, shape, 2 if arguments.quick else arguments.repeats)
    show_progress("")
    print_table(table)


if __name__ == "__main__":
    main()
