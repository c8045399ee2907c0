"""The final figures of a run, and what they were obtained with."""

import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import torch
from torch import nn

from eigenstate import __version__
from eigenstate.training.machine import machine
from eigenstate.training.runs import Run

PACKAGES = ("torch", "numpy", "numba", "pytorch-lightning")


def summarise(
    run: Run, row: dict[str, float], rows: list[dict[str, float]], model: nn.Module
) -> dict[str, Any]:
    """Return the figures of the judged epoch, the size of the model, the time and the machine."""
    s = run.settings
    return {
        "task": s.task,
        "preset": s.preset,
        "seed": s.seed,
        "epochs": len(rows),
        **{name: value for name, value in row.items() if name != "seconds"},
        "first_train_loss": rows[0]["train_loss"],
        "last_train_loss": rows[-1]["train_loss"],
        "parameters": sum(p.numel() for p in model.parameters()),
        "seconds": round(sum(row["seconds"] for row in rows), 1),
        "threads": torch.get_num_threads(),
        "machine": machine(),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {
            "python": platform.python_version(),
            "eigenstate": __version__,  # of this code, installed or not
            **_versions(),
        },
    }


def _versions() -> dict[str, str]:
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found
