"""Small files of a user, for tests: walks whose gait is how fast they swing."""

import csv

import numpy as np

SMALL = [
    "--model.d_model=8",
    "--model.n_layers=1",
    "--model.layer_options.d_state=4",
    "--model.layer_options.blocks=1",
    "--training.epochs=2",
]
GAITS = ("fast, run", "slow walk")


def walks(count=30, seed=0):
    """Rows of id, person, time, x, y, gait: irregular, ragged, and one x in six is missing."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(count):
        length = int(rng.integers(3, 14))
        times = np.cumsum(0.1 + rng.exponential(1.0, length)).round(3)
        x = np.sin(times * (2.0 if i % 2 == 0 else 0.3)) + 0.1 * rng.standard_normal(length)
        for k, (t, value) in enumerate(zip(times.tolist(), x.tolist(), strict=True)):
            seen = "" if k and rng.random() < 1 / 6 else f"{value:.4f}"
            rows.append([f"s{i}", f"p{i // 3}", t, seen, f"{rng.random():.3f}", GAITS[i % 2]])
    return rows


def write_table(path, names, rows):
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows(rows)
    return path


def write_walks(path, **more):
    """id, person, time, x, y, label."""
    return write_table(path, ["id", "person", "time", "x", "y", "label"], walks(**more))


def write_levels(path, **more):
    """The same, the label a number of another magnitude at about half of the rows."""
    rows = walks(**more)
    for number, row in enumerate(rows):
        row[5] = f"{1000 + 50 * float(row[4]):.3f}" if number % 2 else ""
    return write_table(path, ["id", "person", "time", "x", "y", "label"], rows)


def read_table(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))
