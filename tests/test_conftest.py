"""The suite's own promises: poison, precision, seeds, and no test left out in silence."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

CONFTEST = Path(__file__).with_name("conftest.py").read_text()
NEEDS_A_PROGRAM = """
import pytest

@pytest.mark.needs("no-such-program", get="apt-get install no-such-package")
def test_left_out():
    pass

@pytest.mark.needs("sh", get="apt-get install dash")
def test_kept():
    pass
"""


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.complex128])
def test_unwritten_memory_is_nan(dtype):
    like = torch.zeros(3, dtype=dtype)
    for memory in torch.empty(3, dtype=dtype), torch.empty_like(like), like.new_empty(2, 2):
        assert memory.isnan().all()
    assert torch.empty(2, dtype=dtype, requires_grad=True).requires_grad


def test_poison_leaves_integers_and_compiled_graphs_alone():
    assert torch.empty(3, dtype=torch.int64).dtype == torch.int64

    def allocates(u):
        return torch.empty_like(u).copy_(u) + u.new_empty(u.shape).zero_()

    operations = []

    def backend(graph, _):
        operations.extend(str(node.target) for node in graph.graph.nodes)
        return graph

    u = torch.ones(3)
    assert torch.equal(torch.compile(allocates, backend=backend, fullgraph=True)(u), u)
    assert operations and not any("fill" in operation for operation in operations)


@pytest.mark.parametrize("attempt", [1, 2])
def test_every_test_starts_alike(attempt):
    assert torch.get_default_dtype() == torch.float64
    assert torch.initial_seed() == 0
    torch.set_default_dtype(torch.float32)  # must not reach the next test
    torch.manual_seed(attempt)


@pytest.mark.parametrize("strict", [False, True])
def test_a_left_out_test_is_said_or_failed(tmp_path, strict):
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_needs.py").write_text(NEEDS_A_PROGRAM)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = needs\n")
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        env=os.environ | {"EIGENSTATE_NOTHING_LEFT_OUT": str(int(strict))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "apt-get install no-such-package" in run.stdout
    assert ("1 passed, 1 error" if strict else "1 passed, 1 skipped") in run.stdout
    assert ("left out for want of a system package" in run.stdout) is not strict
    assert run.returncode == int(strict)
