"""The pendulum as a file: pend_regression.npz, as the published code stores it."""

from pathlib import Path

import numpy as np

from eigenstate.data import pendulum

FILE = "pend_regression.npz"
NAMES = {"train": "train", "test": "test", "validation": "valid"}


def write_pendulum(folder: Path) -> None:
    """Write pend_regression.npz to `folder`: {train,test,valid}_{obs,targets,ts}.

    obs (N, 100, 24, 24, 1) uint8, targets (N, 100, 2) float64, ts (N, 100) whole numbers. Which
    50 frames a sequence shows is drawn when the file is read, as in the published code.
    """
    arrays = pendulum.generate(all_frames=True)
    stored = {}
    for part, name in NAMES.items():
        stored[f"{name}_obs"] = arrays[f"{part}_images"][..., None]
        stored[f"{name}_targets"] = arrays[f"{part}_targets"]
        stored[f"{name}_ts"] = arrays[f"{part}_times"]
    np.savez(folder / FILE, allow_pickle=False, **stored)
