"""Pictures. The one door to matplotlib, opened only when something is drawn."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from eigenstate.files import replace_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TRAINED, WATCHED = "#7d8590", "#0b6e99"
PERCENT = (0, 1, 2, 5, 10, 20, 50, 100)


def plot_learning_curve(rows: Sequence[Mapping[str, float]], *, axes: "tuple[Axes, Axes]") -> None:
    """Draw a run's losses on axes[0] and its error on axes[1], against the epoch.

    `rows` are those of metrics.csv: epoch, train_loss, and the loss and figure of what was watched,
    such as test_loss, test_accuracy or validation_mse. Losses have a logarithmic scale while they
    are positive. An accuracy is drawn as an error, whose scale becomes linear below 1 %.
    """
    losses, errors = axes
    epochs = [row["epoch"] for row in rows]
    _, _, watched_loss, figure = list(rows[0])[:4]
    watched, _, name = figure.partition("_")
    curves = {
        "train": (TRAINED, [row["train_loss"] for row in rows]),
        watched: (WATCHED, [row[watched_loss] for row in rows]),
    }
    above = max(curves, key=lambda curve: curves[curve][1][-1])
    for label, (color, values) in curves.items():
        _line(losses, epochs, values, label, color, "bottom" if label == above else "top")
    losses.set_title("loss, nats", loc="left")
    if all(value > 0 for _, values in curves.values() for value in values):
        losses.set_yscale("log")
    if name == "accuracy":
        _percent(errors, epochs, [100 * (1 - row[figure]) for row in rows], f"{watched} error, %")
    else:
        values = [row[figure] for row in rows]
        _line(errors, epochs, values, f"{values[-1]:.2e}", WATCHED, "center")
        errors.set_title(f"{watched} mean square error", loc="left")
        errors.set_yscale("log")
    for axis in axes:
        axis.set_xlabel("epoch")
        axis.grid(axis="y", color="#e4e7eb", linewidth=0.8)
        axis.set_axisbelow(True)
        axis.spines[["top", "right"]].set_visible(False)


def _percent(axis: "Axes", epochs: list[float], percent: list[float], title: str) -> None:
    _line(axis, epochs, percent, f"{percent[-1]:.2f} %", WATCHED, "center")
    axis.set_title(title, loc="left")
    axis.set_yscale("symlog", linthresh=1, linscale=0.5)
    axis.set_ylim(0, 100)
    axis.set_yticks(PERCENT, labels=[str(value) for value in PERCENT], minor=False)
    axis.set_yticks([], minor=True)


def save_learning_curve(rows: Sequence[Mapping[str, float]], path: Path, *, title: str) -> None:
    """Write the picture of a run to `path` (its ending says the format), needing no display.

    ImportError: matplotlib is missing; says how to install it. WriteError: there is no room.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("pictures need matplotlib: pip install 'eigenstate[plots]'") from None
    figure = Figure(figsize=(8, 3.6), dpi=150, layout="constrained")
    losses, errors = figure.subplots(1, 2)
    plot_learning_curve(rows, axes=(losses, errors))
    figure.suptitle(title, fontsize="large", fontweight="bold")
    replace_file(path, lambda file: figure.savefig(file, format=path.suffix[1:]))


def _line(
    axis: "Axes", x: Sequence[float], y: Sequence[float], label: str, color: str, place: str
) -> None:
    """Draw a line and write its name at its end, in its colour."""
    end = (x[-1], y[-1])
    axis.plot(x, y, color=color)
    axis.plot(*end, "o", color=color, markersize=4, clip_on=False)
    axis.annotate(label, end, (6, 0), textcoords="offset points", color=color, va=place)
