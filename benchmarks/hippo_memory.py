"""HippoMemory: its speed over a loop of samples, its error over that of least squares.

Speed: feeding 16 signals to LegS, N = 64, against a NumPy loop that does per sample what any LegS
loop must, one product with A for all signals together (an explicit Euler step, the cheapest there
is). The loop is timed on a stretch and scaled to all samples. Error: root of the mean square over
the whole past, relative to the signal's, against least squares on the same 64 polynomials.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from table import Row, print_machine, print_table, show_progress

from eigenstate.layers.memory import HippoMemory
from eigenstate.systems.hippo import legs

THREADS = 1
# NumPy's products read this once, when it is imported.
ENVIRONMENT = {"OMP_NUM_THREADS": str(THREADS), "OPENBLAS_NUM_THREADS": str(THREADS)}
ORDER, SIGNALS, LENGTH = 64, 16, 1_000_000
CYCLES = 26  # over the whole length: least squares on 64 polynomials then leaves 5 to 50 %
STRETCH = 20_000
SPEED_BAR, ERROR_BAR = 50.0, 1.2
Array = NDArray[np.float64]


def signals(length: int) -> Array:
    """Noise of unit variance in equal parts of 1 to CYCLES cycles: (SIGNALS, L)."""
    draw = np.random.default_rng(0).normal(size=(2, SIGNALS, CYCLES))
    spectrum = np.zeros((SIGNALS, length // 2 + 1), complex)
    spectrum[:, 1 : CYCLES + 1] = draw[0] + 1j * draw[1]
    noise = np.fft.irfft(spectrum, length)
    return noise / noise.std(axis=1, keepdims=True)


def loop(samples: Array) -> Array:
    """x += (A x + B u) / k, sample by sample, late enough (k > N²) for Euler's step to be stable."""
    A, B = legs(ORDER)
    B, x = B[:, None], np.zeros((ORDER, SIGNALS))
    for k in range(samples.shape[1]):
        x += (A @ x + B * samples[:, k]) / (k + ORDER**2)
    return x


def least_squares(samples: Array) -> Array:
    """The best fit on ORDER Legendre polynomials at the samples' middles: (SIGNALS, L).

    By normal equations, which on orthogonal polynomials are well-conditioned, part by part.
    """
    length = samples.shape[1]
    times = (np.arange(length) + 0.5) / length
    gram, right = np.zeros((ORDER, ORDER)), np.zeros((ORDER, SIGNALS))
    for part in np.array_split(np.arange(length), max(1, length // 10_000)):
        design = np.polynomial.legendre.legvander(2 * times[part] - 1, ORDER - 1)
        gram += design.T @ design
        right += design.T @ samples[:, part].T
    return np.polynomial.legendre.legval(2 * times - 1, np.linalg.solve(gram, right))


def relative_error(y: Array, expected: Array) -> Array:
    return np.sqrt(np.mean((y - expected) ** 2, -1) / np.mean(expected**2, -1))


def fastest(run: Callable[[], object], repeats: int) -> float:
    run()
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def speed_rows(samples: Array, repeats: int) -> list[Row]:
    length = samples.shape[1]
    stretch = samples[:, : min(STRETCH, length)].copy()
    show_progress(f"the loop over {stretch.shape[1]:,} samples, {repeats} times")
    per_sample = fastest(lambda: loop(stretch), repeats) / stretch.shape[1]
    show_progress(f"the memory over {length:,} samples, {repeats} times")
    ours = fastest(lambda: HippoMemory("legs", ORDER).update(samples), repeats)
    rows = [
        Row(
            f"NumPy loop, {length:,} samples (timed on {stretch.shape[1]:,})",
            per_sample * length,
            "s",
        ),
        Row("HippoMemory, the same", ours, "s"),
        Row("HippoMemory faster than the loop", per_sample * length / ours, "×", SPEED_BAR, True),
    ]
    for measure, window in (("legs", None), ("legt", length / 4)):
        memory = HippoMemory(measure, ORDER, window=window)
        single = fastest(partial(memory.update, samples[:, :1]), 200)
        rows.append(Row(f"one sample of each signal by itself, {measure}", single * 1e6, "µs"))
    return rows


def legs_rows(samples: Array) -> list[Row]:
    show_progress("least squares")
    least = relative_error(least_squares(samples), samples)
    memory = HippoMemory("legs", ORDER).update(samples)
    error = relative_error(memory.reconstruct(samples.shape[1]), samples)
    return [
        Row("error of least squares, least and most", [100 * least.min(), 100 * least.max()], "%"),
        Row("error of HippoMemory, least and most", [100 * error.min(), 100 * error.max()], "%"),
        Row("error over that of least squares, worst", (error / least).max(), "×", ERROR_BAR),
    ]


def measure_rows(samples: Array) -> list[Row]:
    """Each measure against the optimal projection on its own functions."""
    length = samples.shape[1]
    # The window, and the samples on which to judge: the memory's own, for LagT the latest.
    settings = {
        "legs": (None, length),
        "legt": (3 * length / 4, 3 * length // 4),
        "fout": (3 * length / 4, 3 * length // 4),
        "lagt": (length / 200, length // 10),
    }
    rows = []
    for measure, (window, latest) in settings.items():
        show_progress(f"projection of {measure}")
        memory = HippoMemory(measure, ORDER, window=window).update(samples)
        best = memory.projection(samples)
        times = np.arange(length - latest, length) + 0.5
        errors = [
            relative_error(x.reconstruct(times), samples[:, -latest:]) for x in (memory, best)
        ]
        what = f"{measure}, latest {latest:,}: median error / of the optimal projection"
        rows.append(Row(what, [100 * float(np.median(error)) for error in errors], "%"))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--repeats", type=int, default=5, help="runs per timing; the fastest counts"
    )
    parser.add_argument("--quick", action="store_true", help="a tiny setting, to try the script")
    arguments = parser.parse_args()
    if not ENVIRONMENT.items() <= os.environ.items():
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **ENVIRONMENT})
    torch.set_num_threads(THREADS)
    samples = signals(10_000 if arguments.quick else LENGTH)
    repeats = 1 if arguments.quick else arguments.repeats
    print_machine(THREADS)
    print(f"{SIGNALS} signals of {samples.shape[1]:,} samples, N = {ORDER}\n")
    table = [*speed_rows(samples, repeats), *legs_rows(samples), *measure_rows(samples)]
    show_progress("")
    print_table(table)


if __name__ == "__main__":
    main()
