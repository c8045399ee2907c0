"""Memory that was freed goes back to the system while a run goes on."""

import sys
from pathlib import Path

import pytest
import torch
from run_cases import started

from eigenstate.training import free_memory
from eigenstate.training.fit import train


def held() -> int:
    """Pages that this process holds."""
    return int(Path("/proc/self/statm").read_text().split()[1])


@pytest.mark.skipif(sys.platform != "linux", reason="what a process holds is read from /proc")
def test_freed_blocks_between_others_go_back() -> None:
    # Small enough not to be given back at once, and with blocks between them that stay.
    blocks = [torch.ones(16_000) for _ in range(4_000)]
    before = held()
    blocks = blocks[1::2]
    free_memory.trim()
    assert before - held() > 2_000 * 64_000 / 4096 / 2


def test_a_run_gives_back_from_time_to_time(tmp_path, monkeypatch) -> None:
    calls = []
    monkeypatch.setattr(free_memory, "EVERY", 0.0)
    monkeypatch.setattr(free_memory, "trim", lambda: calls.append(1))
    train(started(tmp_path / "run", epochs=1), progress=False)
    assert len(calls) > 3  # three batches to learn from, and some to judge by
