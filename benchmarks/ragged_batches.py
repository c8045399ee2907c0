"""What raggedness and batch norm cost: a training step of three S5 blocks, alone and with them.

The rows are 70 to 100 % of the longest, or all of one length. Every turn runs each candidate twice,
in a fresh random order, and times the second run, on one thread. Beside the times stands how far
batch norm in float32 is from float64, over as many samples as a batch of raw sound has.
"""

import argparse
import statistics
from functools import partial

import torch
from layer_speed import in_turns
from table import Row, print_machine, print_table, show_progress

from eigenstate import Backbone
from eigenstate.models.norm import SequenceBatchNorm
from eigenstate.models.options import BlockOptions

THREADS = 1
SHAPE = (8, 6500, 64)  # batch, length, features
LENGTHS_BAR, NORM_BAR = 2.0, 1.3  # times the time of the step without
ACCURACY_BAR = 1e-5


def stack(norm: str, features: int) -> Backbone:
    options = BlockOptions(norm=norm)
    return Backbone(
        features, 3, layer_options={"d_state": 64}, activation="gelu", options=options
    ).train()


def times(shape: tuple[int, ...], repeats: int) -> dict[tuple[str, bool], float]:
    """Return milliseconds of a training step by (norm, ragged)."""
    u = torch.randn(shape)
    lengths = torch.linspace(0.7 * shape[1], shape[1], shape[0]).long()
    models = {norm: stack(norm, shape[2]) for norm in ("layer", "batch")}

    def step(norm: str, ragged: bool) -> None:
        y, _ = models[norm](u, lengths=lengths if ragged else None)
        y.square().mean().backward()

    calls = {
        (norm, ragged): partial(step, norm, ragged) for norm in models for ragged in (False, True)
    }
    turns = in_turns(calls, repeats, str(shape))
    return {key: statistics.median(found) for key, found in turns.items()}


def distance(samples: int) -> float:
    """Return how far float32 is from float64 at most, for numbers around 10 of deviation 1."""
    x = 10 + torch.randn(1, samples, 4)
    with torch.no_grad():
        found = SequenceBatchNorm(4).train()(x).double()
    wide = x.double().flatten(0, 1)
    expected = (wide - wide.mean(0)) / (wide.var(0, correction=0) + 1e-5).sqrt()
    return float((found.flatten(0, 1) - expected).abs().max())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7, help="turns of each case")
    parser.add_argument("--quick", action="store_true", help="a tiny setting, to try the script")
    arguments = parser.parse_args()
    torch.set_num_threads(THREADS)
    print_machine(THREADS)
    shape = (2, 50, 8) if arguments.quick else SHAPE
    found = times(shape, 2 if arguments.quick else arguments.repeats)
    far = distance(1000 if arguments.quick else 256_000)
    show_progress("")
    table = [
        Row(f"{norm} norm, {'ragged' if ragged else 'one length'}", value, "ms")
        for (norm, ragged), value in found.items()
    ]
    for norm in ("layer", "batch"):
        ratio = found[norm, True] / found[norm, False]
        table.append(Row(f"{norm} norm: ragged / one length", ratio, "x", LENGTHS_BAR))
    for ragged, words in ((False, "one length"), (True, "ragged")):
        ratio = found["batch", ragged] / found["layer", ragged]
        table.append(Row(f"{words}: batch norm / layer norm", ratio, "x", NORM_BAR))
    table.append(Row("batch norm, float32 to float64", far, "", ACCURACY_BAR))
    print_table(table)


if __name__ == "__main__":
    main()
