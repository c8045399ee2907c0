"""Pictures. The one door to matplotlib, opened only when something is drawn."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLORS = {"train": "#7d8590", "test": "#0b6e99"}
PERCENT = (0, 1, 2, 5, 10, 20, 50, 100)


def plot_learning_curve(rows: Sequence[Mapping[str, float]], *, axes: "tuple[Axes, Axes]") -> None:
    """Draw a run's losses on axes[0] and its test error on axes[1], against the epoch.

    `rows` are those of metrics.csv: epoch, train_loss, test_loss, test_accuracy. Both scales are
    logarithmic, since what matters late in a run is small; the errors' becomes linear below 1 %.
    """
    losses, errors = axes
    epochs = [row["epoch"] for row in rows]
    curves = [(name, [row[f"{name}_loss"] for row in rows]) for name in COLORS]
    above = max(curves, key=lambda curve: curve[1][-1])
    for name, values in curves:
        _line(losses, epochs, values, name, COLORS[name], "bottom" if name == above[0] else "top")
    losses.set_title("cross-entropy, nats", loc="left")
    losses.set_yscale("log")
    percent = [100 * (1 - row["test_accuracy"]) for row in rows]
    _line(errors, epochs, percent, f"{percent[-1]:.2f} %", COLORS["test"], "center")
    errors.set_title("test error, %", loc="left")
    errors.set_yscale("symlog", linthresh=1, linscale=0.5)
    errors.set_ylim(0, 100)
    errors.set_yticks(PERCENT, labels=[str(value) for value in PERCENT], minor=False)
    errors.set_yticks([], minor=True)
    for axis in axes:
        axis.set_xlabel("epoch")
        axis.grid(axis="y", color="#e4e7eb", linewidth=0.8)
        axis.set_axisbelow(True)
        axis.spines[["top", "right"]].set_visible(False)


def save_learning_curve(rows: Sequence[Mapping[str, float]], path: Path, *, title: str) -> None:
    """Write the picture of a run to `path` (its ending says the format), needing no display.

    ImportError: matplotlib is missing; says how to install it.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("pictures need matplotlib: pip install 'eigenstate[plots]'") from None
    figure = Figure(figsize=(8, 3.6), dpi=150, layout="constrained")
    losses, errors = figure.subplots(1, 2)
    plot_learning_curve(rows, axes=(losses, errors))
    figure.suptitle(title, fontsize="large", fontweight="bold")
    figure.savefig(path)


def _line(
    axis: "Axes", x: Sequence[float], y: Sequence[float], label: str, color: str, place: str
) -> None:
    """Draw a line and write its name at its end, in its colour."""
    end = (x[-1], y[-1])
    axis.plot(x, y, color=color)
    axis.plot(*end, "o", color=color, markersize=4, clip_on=False)
    axis.annotate(label, end, (6, 0), textcoords="offset points", color=color, va=place)
