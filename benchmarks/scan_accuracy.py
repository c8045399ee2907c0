"""Accuracy of the `cpu` scan on float32 data, against a float64 recurrence written in NumPy.

The same samples go through the scan whole, as chunks cut at random, and (for multipliers in
float64, as the layers hand them over) as a loop of steps: a few minutes for a million.
Error: max |x - x̂| / max |x̂| of the worst mode, x̂ from float64 and the same multipliers.
"""

import argparse
from copy import deepcopy
from itertools import pairwise

import numpy as np
import torch
from table import Row, print_machine, print_table, show_progress

import eigenstate as es
from eigenstate.systems.hippo import eigenbasis

BAR = 3e-7
MODES = 4
INPUTS = ("noise", "constant")


def multipliers() -> dict[str, np.ndarray]:
    """Per-step multipliers a = exp(λΔ), MODES of each kind."""
    poles = eigenbasis(2 * MODES)[0]
    poles = poles[poles.imag > 0]
    angles = np.array([0.0, 1e-3, 0.3, 2.5])
    return {
        "S5 default, dt 1e-3 to 1e-1": np.exp(poles * np.geomspace(1e-3, 1e-1, MODES)),
        "Path-X, dt 1e-4 to 1e-1": np.exp(poles * np.geomspace(1e-4, 1e-1, MODES)),
        "undamped, Re λΔ = -1e-7": np.exp(-1e-7 + 1j * angles),
        "|a| = 1": np.array([1.0, -1.0, 1j, np.exp(0.7j)]),
    }


def samples(length: int, modes: int) -> torch.Tensor:
    """The two INPUTS as one batch, complex64 (2, L, P)."""
    generator = torch.Generator().manual_seed(0)
    noise = torch.randn(length, modes, dtype=torch.complex64, generator=generator)
    level = torch.randn(modes, dtype=torch.complex64, generator=generator)
    return torch.stack([noise, level.expand(length, modes)])


def truth(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """x_k = a x_(k-1) + b_k in complex128, one step at a time. (2, L, P) -> (2, L, P)."""
    x = np.empty(b.shape, np.complex128)
    carried = np.zeros((b.shape[0], b.shape[2]), np.complex128)
    for k in range(b.shape[1]):
        carried = a * carried + b[:, k]
        x[:, k] = carried
    return x


def whole(a: torch.Tensor, b: torch.Tensor, x: torch.Tensor) -> None:
    x[:] = es.linear_scan(a, b, backend="cpu")[0]


def pieces(a: torch.Tensor, b: torch.Tensor, x: torch.Tensor, cuts: list[int]) -> None:
    """Scan from cut to cut, carrying the state."""
    state = None
    for number, (start, stop) in enumerate(pairwise(cuts)):
        x[:, start:stop], state = es.linear_scan(a, b[:, start:stop], state, backend="cpu")
        if number % 10_000 == 0:
            show_progress(f"step {start:,} of {cuts[-1]:,}")
    show_progress("")


def chunks(a: torch.Tensor, b: torch.Tensor, x: torch.Tensor) -> None:
    inner = np.random.default_rng(0).integers(0, b.shape[1], size=200)
    pieces(a, b, x, np.unique([0, *inner, b.shape[1]]).tolist())


def steps(a: torch.Tensor, b: torch.Tensor, x: torch.Tensor) -> None:
    pieces(a, b, x, list(range(b.shape[1] + 1)))


def worst_mode(x: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Error of each of the INPUTS, over the time axis of its worst mode. (2, L, P) -> (2,)."""
    scale = np.abs(expected).max(axis=1)
    error = np.zeros_like(scale)
    for k in range(0, x.shape[1], 100_000):  # by slices, to keep the peak memory down
        part = slice(k, k + 100_000)
        error = np.maximum(error, np.abs(x[:, part] - expected[:, part]).max(axis=1))
    return (error / scale).max(axis=-1)


def scan_rows(length: int, dtype: torch.dtype) -> list[Row]:
    kinds = multipliers()
    a = torch.from_numpy(np.concatenate(list(kinds.values()))).to(dtype)
    b = samples(length, a.shape[0])
    show_progress(f"float64 recurrence over {length:,} steps")
    expected = truth(a.numpy().astype(np.complex128), b.numpy())
    # The loop takes minutes: once, with the multipliers that the layers hand over.
    ways = (whole, chunks, steps) if dtype == torch.complex128 else (whole, chunks)
    errors = np.empty((len(ways), len(kinds), 2))
    for run, by_kind in zip(ways, errors, strict=True):
        x = torch.empty_like(b)
        run(a, b, x)
        for number, row in enumerate(by_kind):
            modes = slice(number * MODES, (number + 1) * MODES)
            row[:] = worst_mode(x.numpy()[..., modes], expected[..., modes])
    digits = "float64" if dtype == torch.complex128 else "float32"
    return [
        Row(f"scan, a in {digits}, {kind}, {name}", errors[:, i, j].tolist(), bar=BAR)
        for i, kind in enumerate(kinds)
        for j, name in enumerate(INPUTS)
    ]


@torch.no_grad()
def layer_rows(length: int) -> list[Row]:
    """The S5 layer, whose two dense products are float32 too, against its own float64 copy."""
    torch.manual_seed(0)
    layer = es.S5(16, d_state=32)
    expected = deepcopy(layer).double()
    inputs = torch.randn(2, length, 16), torch.ones(2, length, 16)
    rows = []
    for name, u in zip(INPUTS, inputs, strict=True):
        target, _ = expected(u.double())
        outputs = layer(u)[0], layer_chunks(layer, u), layer_steps(layer, u)
        errors = [float((y - target).abs().max() / target.abs().max()) for y in outputs]
        rows.append(Row(f"S5 layer against its float64 copy, L = {length:,}, {name}", errors))
    return rows


def layer_chunks(layer: es.S5, u: torch.Tensor) -> torch.Tensor:
    state, outputs = None, []
    for part in u.split(max(1, u.shape[1] // 7), dim=1):
        y, state = layer(part, state)
        outputs.append(y)
    return torch.cat(outputs, dim=1)


def layer_steps(layer: es.S5, u: torch.Tensor) -> torch.Tensor:
    state, outputs = layer.initial_state(u.shape[0]), []
    for k in range(u.shape[1]):
        y, state = layer.step(u[:, k], state)
        outputs.append(y)
    return torch.stack(outputs, dim=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--length", type=int, default=1_000_000, help="samples of the scan")
    parser.add_argument("--quick", action="store_true", help="a tiny setting, to try the script")
    arguments = parser.parse_args()
    length = 1_000 if arguments.quick else arguments.length
    print_machine(torch.get_num_threads())
    print(f"L = {length:,}; measured whole / in chunks cut at random / as a loop of steps\n")
    rows = [*scan_rows(length, torch.complex64), *scan_rows(length, torch.complex128)]
    print_table([*rows, *layer_rows(min(length, 16_384))])


if __name__ == "__main__":
    main()
