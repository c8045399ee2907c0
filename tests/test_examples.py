"""The examples run, and what they show is so."""

import re
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"


def printed(tmp_path, name, *argv):
    command = [sys.executable, str(EXAMPLES / name), *argv]
    run = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=True)
    return run.stdout


def test_a_recurrence_is_a_convolution_is_a_layer(tmp_path):
    out = printed(tmp_path, "two_views.py", "--length", "37", "--state", "6")
    differences = [float(line.split()[-1]) for line in out.splitlines()[1:]]
    assert len(differences) == 4 and max(differences) < 1e-13


def test_a_token_is_recalled_and_the_gradients_are_drawn(tmp_path):
    out = printed(tmp_path, "copy_task.py", "--gap", "10", "--only", "s5", "rnn")
    out = out.replace("\r", "\n")
    assert re.search(r"^ +s5 +10 +100\.0%", out, re.MULTILINE)
    across = {line.split()[0]: float(line.split()[6]) for line in out.splitlines()[-4:-2]}
    assert across["s5"] > 1e-3 and across["rnn"] < 1e-12
    assert (tmp_path / "copy_task.png").stat().st_size > 10_000


def test_the_start_of_a_layer_is_compared(tmp_path):
    out = printed(tmp_path, "initialization.py", "--lag", "5", "--steps", "2", "--seeds", "1")
    rows = [line for line in out.replace("\r", "\n").splitlines() if re.search(r"\d\.\d{3}$", line)]
    assert [row.split(",")[0] for row in rows] == ["S5", "S5", "S4D", "S4D", "S4"]
