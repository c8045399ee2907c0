"""A suite of one small row, and what its finished runs leave, for tests of suites."""

import yaml
from run_cases import TINY

from eigenstate.training.runs import Run
from eigenstate.training.suites import read_suite

SETTINGS = {"model": TINY["model"], "training": TINY["training"]}
CITED = {"system": "a", "figure": 0.9, "source": "somewhere"}


def write_suite(tmp_path, **row):
    """A suite mine.yaml of one row, `tiny`, with two seeds."""
    row = {"preset": "s5-japanese-vowels", "settings": SETTINGS} | row
    suite = {"seeds": 2, "rows": {"tiny": row}}
    (tmp_path / "mine.yaml").write_text("# Mine. And more.\n" + yaml.safe_dump(suite))
    return read_suite("mine.yaml")


def leave(folder, settings, **found):
    """What a finished run leaves, without the training."""
    run = Run.create(settings, folder)
    summary = {
        "task": settings.task, "seed": settings.seed, "parameters": 1234, "epochs": 3, "epoch": 2,
        "seconds": 90.0, "threads": 1, "finished": f"2026-01-0{settings.seed + 1}T12:00:00+00:00",
        "machine": {"cpu": "a processor", "cores": 2, "system": "Linux"},
        "versions": {"torch": "2.13"},
    }  # fmt: skip
    run.write_summary(summary | found)


def columns(text):
    """The lines of a page's first table, by column."""
    table = next(part for part in text.split("\n\n") if part.startswith("|"))
    header, _, *rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()
    ]
    return [dict(zip(header, row, strict=True)) for row in rows]
