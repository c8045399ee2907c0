"""Four HiPPO memories listen to one signal, then say from 24 numbers each what they heard.

The signal is 4,000 samples of noise whose pitch rises. Printed: what each memory still covers, its
error there (root of the mean square, relative to the signal's) and the least error possible on the
same 24 functions. Drawn, where matplotlib is installed: the four recollections over the signal.
"""

import argparse
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from eigenstate.layers.memory import HippoMemory

LENGTH, ORDER = 4_000, 24
# Measure, window, how many of the latest samples to judge it on.
MEMORIES = (
    ("legs", None, LENGTH),
    ("legt", 1_200.0, 1_200),
    ("fout", 1_200.0, 1_200),
    ("lagt", 15.0, 400),
)
TITLES = {
    "legs": "LegS: the whole past, evenly",
    "legt": "LegT: a sliding window, on polynomials",
    "fout": "FouT: a sliding window, on sines and cosines",
    "lagt": "LagT: a fading past",
}
Array = NDArray[np.float64]


class Heard(NamedTuple):
    """What a memory says of all it remembers, and its errors on the latest samples."""

    measure: str
    latest: int
    times: Array
    recollection: Array
    error: float
    least_error: float


def rising_noise() -> Array:
    """Noise of unit variance around a pitch that quadruples: (LENGTH,)."""
    time = np.linspace(0, 1, LENGTH)
    phase = 2 * np.pi * (4 * time + 6 * time**2)
    weights = np.random.default_rng(4).normal(size=(5, 2))
    waves = [
        a * np.cos(speed * phase) + b * np.sin(speed * phase)
        for speed, (a, b) in zip((0.3, 0.5, 0.8, 1.0, 1.3), weights, strict=True)
    ]
    signal = np.sum(waves, axis=0)
    return signal / signal.std()


def relative_error(y: Array, expected: Array) -> float:
    return float(np.sqrt(np.mean((y - expected) ** 2) / np.mean(expected**2)))


def listen(signal: Array) -> list[Heard]:
    heard = []
    for measure, window, latest in MEMORIES:
        memory = HippoMemory(measure, ORDER, window=window)
        for part in np.array_split(signal, 7):  # as it comes
            memory.update(part)
        judged = np.arange(LENGTH - latest, LENGTH) + 0.5
        error, least_error = (
            relative_error(each.reconstruct(judged), signal[-latest:])
            for each in (memory, memory.projection(signal))
        )
        times = memory.times(LENGTH)
        heard.append(Heard(measure, latest, times, memory.reconstruct(times), error, least_error))
    return heard


def draw(signal: Array, heard: list[Heard], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 8), dpi=150, layout="constrained")
    axes = figure.subplots(len(heard), 1, sharex=True)
    for axis, one in zip(axes, heard, strict=True):
        axis.axvspan(LENGTH - one.latest, LENGTH, color="#0b6e99", alpha=0.07, linewidth=0)
        axis.plot(np.arange(LENGTH) + 0.5, signal, color="#aab2ba", linewidth=3)
        axis.plot(one.times, one.recollection, color="#c2410c", linewidth=1.2)
        title = f"{TITLES[one.measure]}; error where shaded {one.error:.1%}"
        axis.set_title(title, loc="left", fontsize="medium")
        axis.set_ylim(1.3 * signal.min(), 1.3 * signal.max())
        axis.set_xlim(0, LENGTH)
        axis.spines[["top", "right"]].set_visible(False)
    axes[-1].set_xlabel("time, samples")
    figure.suptitle(
        f"{LENGTH:,} samples (grey) as {ORDER} numbers remember them (red)", fontweight="bold"
    )
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--picture", type=Path, default=Path("hippo_memory.png"), help="its file")
    arguments = parser.parse_args()
    signal = rising_noise()
    heard = listen(signal)
    print(f"{LENGTH:,} samples in {ORDER} numbers")
    print("memory  judged on the latest    error   least possible")
    for one in heard:
        row = f"{one.measure:6}  {one.latest:14,} samples"
        print(f"{row}  {one.error:6.2%}  {one.least_error:15.2%}")
    try:
        draw(signal, heard, arguments.picture)
    except ImportError:
        print("the picture needs matplotlib: pip install 'eigenstate[plots]'")
    else:
        print(f"picture: {arguments.picture}")


if __name__ == "__main__":
    main()
