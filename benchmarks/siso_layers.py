"""S4D and S4: their accuracy, the memory of their kernels, their speed beside published arithmetic.

Accuracy: kernels in float32 against float64; whole sequences against chunks and single steps.
Errors are largest differences over the largest value. Memory: the peak of generating a kernel
without gradients, each length in a fresh process; the slope is between the shortest and the
longest. Linux only: it reads /proc/self. Speed: a forward pass of S4D against the published
module's arithmetic in plain PyTorch (the table of exponentials, then FFT in its own layout), and
what `evaluation="auto"` chooses against the scan. Every turn runs each candidate twice, in a fresh
random order, and times the second run, on one thread and on two.
"""

import argparse
import copy
import os
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import torch
from dt_memory import ALLOCATOR, bytes_of
from layer_speed import in_turns
from table import Row, print_machine, print_table, show_progress
from torch import Tensor

import eigenstate as es

THREADS = 1
N = 64
KERNEL_BAR, SINGLE_BAR, DOUBLE_BAR, MEMORY_BAR, SPEED_BAR = 5e-7, 1e-5, 1e-10, 64.0, 2.0
SHAPE, TINY = (16, 1024, 128), (2, 32, 8)  # batch, length, features
MEMORY_FEATURES, MEMORY_LENGTHS = 256, (1024, 4096, 16_384, 65_536)
KINDS: dict[str, Callable[..., es.S4D | es.S4]] = {
    "S4D": es.S4D,
    "S4": es.S4,
    "S4, Cauchy": lambda *sizes, **settings: es.S4(
        *sizes, options=es.S4Options(kernel="cauchy"), **settings
    ),
}
# The scan keeps a trajectory of all modes, the convolution none.
SCAN = "S4D, scan"


# --- accuracy -------------------------------------------------------------------------------------


def error(got: Tensor, expected: Tensor) -> float:
    return ((got - expected).abs().max() / expected.abs().max()).item()


def published_kernel(layer: es.S4D, length: int) -> Tensor:
    """(H, L) as the S4D module forms it: 2 Re Σ C (e^(λΔ) - 1)/λ e^(λΔ l), B = 1 as there.

    All in the layer's own precision, so that λΔl has the relative error of float32.
    """
    re, im = layer.spectrum.poles
    poles = torch.complex(-re.exp(), im)  # (H, P)
    c = torch.complex(*layer.C)
    driven = poles * layer.spectrum.get_parameter("log_timescale").exp()
    table = (driven.unsqueeze(-1) * torch.arange(length)).exp()  # (H, P, L)
    return 2 * torch.einsum("hp,hpl->hl", c * (driven.exp() - 1) / poles, table).real


def kernel_rows(length: int, features: int) -> list[Row]:
    rows = []
    for dt_min in (1e-3, 1e-4):
        for name, kind in KINDS.items():
            show_progress(f"kernel of {name}, dt_min = {dt_min:g}")
            single = kind(features, N, dt_min=dt_min)
            double = copy.deepcopy(single).double()
            measured = error(single.impulse_response(length), double.impulse_response(length))
            what = f"{name}, dt_min={dt_min:g}: kernel, float32 to float64, L={length:,}"
            rows.append(Row(what, measured, "", KERNEL_BAR))
    layer = es.S4D(features, N, dt_min=1e-4, options=es.S4DOptions(init="lin"))
    measured = error(published_kernel(layer, length), published_kernel(layer.double(), length))
    return [
        *rows,
        Row("the published table of exponentials, dt_min=0.0001, lin: the same", measured),
    ]


def cut_rows(length: int, features: int) -> list[Row]:
    rows = []
    for dtype, bar in ((torch.float32, SINGLE_BAR), (torch.float64, DOUBLE_BAR)):
        for name, kind in KINDS.items():
            layer = kind(features, N).to(dtype)
            u = torch.randn(2, length, features, dtype=dtype)
            show_progress(f"{name}, {dtype}: {length:,} steps")
            whole, final = layer(u)
            # A step knows nothing of kernels.
            for way in ("chunks",) if "Cauchy" in name else ("chunks", "steps"):
                pieces, state = [], None
                parts = u.unbind(1) if way == "steps" else u.split(max(1, length // 7), 1)
                for part in parts:
                    y, state = (layer.step if way == "steps" else layer)(part, state)
                    pieces.append(y)
                y = torch.stack(pieces, 1) if way == "steps" else torch.cat(pieces, 1)
                assert state is not None and final is not None
                what = f"{name}, {str(dtype)[6:]}: {way} to whole, outputs / state, L={length:,}"
                rows.append(Row(what, [error(y, whole), error(state, final)], "", bar))
    return rows


# --- memory ---------------------------------------------------------------------------------------


def print_peak(name: str, features: int, length: int) -> None:
    """Print the peak of one kernel in bytes. Runs in a process of its own."""
    torch.set_num_threads(THREADS)
    layer = KINDS[name](features, N)
    layer.impulse_response(16)
    before = bytes_of("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the recorded peak starts again from here
    layer.impulse_response(length)
    print(bytes_of("VmHWM") - before)


def peak(name: str, features: int, length: int) -> int:
    """Bytes, measured in a fresh process."""
    finished = subprocess.run(
        [sys.executable, __file__, "--measure", name, str(features), str(length)],
        env={**os.environ, **ALLOCATOR},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return int(finished.stdout.split()[-1])


def memory_rows(features: int, lengths: tuple[int, ...]) -> list[Row]:
    rows = []
    for name in KINDS:
        peaks = []
        for length in lengths:
            show_progress(f"memory of {name}, L = {length:,}")
            peaks.append(peak(name, features, length))
        slope = (peaks[-1] - peaks[0]) / (features * (lengths[-1] - lengths[0]))
        place = f"{name}, H={features}: kernel"
        span = " / ".join(f"{length:,}" for length in lengths)
        rows += [
            Row(f"{place}, peak at L={span}", [peak / 2**20 for peak in peaks], "MiB"),
            Row(f"{place}, slope of the peak", slope, "bytes per H·L", MEMORY_BAR),
        ]
    return rows


# --- speed ----------------------------------------------------------------------------------------


def published(layer: es.S4D, u: Tensor) -> Tensor:
    """u (B, H, L) -> y (B, H, L): the S4D module without its activation and output layer."""
    length = u.shape[-1]
    kernel = torch.fft.rfft(published_kernel(layer, length), n=2 * length)
    y = torch.fft.irfft(torch.fft.rfft(u, n=2 * length) * kernel, n=2 * length)[..., :length]
    return y + u * layer.D.unsqueeze(-1)


def candidates(shape: tuple[int, ...]) -> dict[str, tuple[torch.nn.Module, Callable, Tensor]]:
    """Name -> the module, its forward pass, and its input."""
    u = torch.randn(shape)
    layers = {name: kind(shape[-1], N) for name, kind in KINDS.items()}
    layers[SCAN] = es.S4D(shape[-1], N, options=es.S4DOptions(evaluation="scan"))
    ours = {name: (layer, lambda u, run=layer: run(u)[0], u) for name, layer in layers.items()}
    peer = es.S4D(shape[-1], N, options=es.S4DOptions(init="lin"))
    across = u.transpose(1, 2).contiguous()
    return {**ours, "published S4D": (peer, lambda u: published(peer, u), across)}


def calls(shape: tuple[int, ...]) -> dict[tuple[str, str], Callable[[], object]]:
    found: dict[tuple[str, str], Callable[[], object]] = {}
    for name, (module, forward, u) in candidates(shape).items():

        def inference(forward=forward, u=u) -> None:
            with torch.no_grad():
                forward(u)

        def training(module=module, forward=forward, u=u) -> None:
            module.zero_grad()
            with torch.enable_grad():
                forward(u.clone().requires_grad_()).square().mean().backward()

        found[name, "forward"] = inference
        found[name, "forward+backward"] = training
    return found


def speed_rows(shape: tuple[int, ...], repeats: int, threads: int) -> list[Row]:
    torch.set_num_threads(threads)
    runs = calls(shape)
    times = in_turns(runs, repeats, "speed")
    medians = {key: statistics.median(turns) for key, turns in times.items()}
    place = f"{str(shape).replace(' ', '')}, {threads} threads:"
    rows = [
        Row(f"{place} {name}, {run}: median / fastest", [medians[name, run], min(turns)], "ms")
        for (name, run), turns in times.items()
    ]
    for run, bar in (("forward", SPEED_BAR), ("forward+backward", None)):
        for other, limit in (("published S4D", bar), (SCAN, None)):
            ratio = medians[other, run] / medians["S4D", run]
            rows.append(Row(f"{place} {run}: S4D faster than {other}", ratio, "x", limit, True))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7, help="turns of the speed comparison")
    parser.add_argument("--quick", action="store_true", help="a tiny setting, to try the script")
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)  # one process's own share
    arguments = parser.parse_args()
    torch.set_grad_enabled(False)
    torch.manual_seed(0)
    if arguments.measure:
        name, features, length = arguments.measure
        return print_peak(name, int(features), int(length))
    torch.set_num_threads(THREADS)
    print_machine(THREADS)
    print(f"N = {N}; speed at (batch, length, features)\n")
    quick = arguments.quick
    table = kernel_rows(256 if quick else 16_384, 2 if quick else 64)
    table += cut_rows(32 if quick else 4096, 2 if quick else 8)
    table += memory_rows(8 if quick else MEMORY_FEATURES, (64, 4096) if quick else MEMORY_LENGTHS)
    for threads in (1, 2):
        table += speed_rows(TINY if quick else SHAPE, 2 if quick else arguments.repeats, threads)
    show_progress("")
    print_table(table)


if __name__ == "__main__":
    main()
