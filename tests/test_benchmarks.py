"""Every benchmark runs, in a tiny setting, and says what it measured against which bar.

Whether a bar is met is not judged here: a busy machine would decide.
"""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent
SCRIPTS = sorted(path for path in (ROOT / "benchmarks").glob("*.py") if path.name != "table.py")


def output(script, *arguments):
    command = [sys.executable, script, *arguments]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_runs_in_a_tiny_setting(script):
    lines = output(script, "--quick").splitlines()
    assert "threads" in lines[0] and "torch" in lines[1]
    header = next(line for line in lines if line.startswith("what"))
    rows = lines[lines.index(header) + 2 :]
    judged = [row for row in rows if row.endswith(("met", "MISSED"))]
    assert judged
    assert all(("≤" in row or "≥" in row) and "nan" not in row for row in judged)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_help_says_what_is_measured(script):
    assert "--quick" in output(script, "--help")


def test_make_bench_runs_them_all():
    makefile = (ROOT / "Makefile").read_text()
    assert [path.stem for path in SCRIPTS if path.stem not in makefile] == []


def test_the_accuracy_bar_can_be_missed(monkeypatch):
    """The figure really compares: a scan that forgets its state at a cut is found out."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    scan_accuracy = import_module("scan_accuracy")
    kinds = scan_accuracy.multipliers()
    a = np.concatenate(list(kinds.values()))
    b = scan_accuracy.samples(60, a.size).numpy()
    expected = scan_accuracy.truth(a, b)
    cut = expected.copy()
    cut[:, 30:] = scan_accuracy.truth(a, b[:, 30:])
    assert (scan_accuracy.worst_mode(expected, expected) == 0).all()
    assert (scan_accuracy.worst_mode(cut, expected) > 0.01).all()
