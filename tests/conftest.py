"""What holds for every test: float64, one thread, fixed seeds, NaN in unwritten memory, and no test
left out in silence."""

import functools
import os
import random
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import settings

# The first call of a test compiles kernels, so a deadline would measure the compiler.
settings.register_profile("eigenstate", deadline=None, derandomize=True)
settings.load_profile("eigenstate")


def pytest_configure(config):
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    torch.empty = _poisoned(torch.empty)
    torch.empty_like = _poisoned(torch.empty_like)
    torch.Tensor.new_empty = _poisoned(torch.Tensor.new_empty)
    config.stash[_LEFT_OUT] = {}
    # What is generated or prepared once for all tests must not touch the user's own cache.
    cache = tempfile.TemporaryDirectory(prefix="eigenstate-tests-")
    config.add_cleanup(cache.cleanup)
    os.environ["XDG_CACHE_HOME"] = cache.name


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    # Before any fixture, and again for each test: one that changed these cannot reach the next.
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    np.random.seed(0)
    random.seed(0)
    _leave_out_without_its_program(item)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache of the test's own, empty; returns its folder, which is not there yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "eigenstate"


# --- unwritten memory -----------------------------------------------------------------------------


def _poisoned(allocate):
    """The same allocator, but what nobody has written yet is NaN instead of, by luck, zero."""

    @functools.wraps(allocate)
    def allocate_poisoned(*args, **kwargs):
        memory = allocate(*args, **kwargs)
        # A traced fill would become part of the compiled graph.
        if torch.compiler.is_compiling() or not (memory.is_floating_point() or memory.is_complex()):
            return memory
        with torch.no_grad():
            return memory.fill_(float("nan"))

    return allocate_poisoned


# --- tests left out for want of a system program --------------------------------------------------
# @pytest.mark.needs("espeak-ng", get="apt-get install espeak-ng"); a folder will do for a program

_LEFT_OUT = pytest.StashKey[dict[str, str]]()


def _leave_out_without_its_program(item):
    for mark in item.iter_markers("needs"):
        (program,), get = mark.args, mark.kwargs["get"]
        if shutil.which(program) or Path(program).is_dir():
            continue
        if os.environ.get("EIGENSTATE_NOTHING_LEFT_OUT") == "1":
            pytest.fail(f"needs {program}, which is not installed: {get}", pytrace=False)
        item.config.stash[_LEFT_OUT][item.nodeid] = f"needs {program}: {get}"
        pytest.skip(f"needs {program}: {get}")


def pytest_terminal_summary(terminalreporter, config):
    left_out = config.stash[_LEFT_OUT]
    if not left_out:
        return
    terminalreporter.section("left out for want of a system package")
    for test, reason in left_out.items():
        terminalreporter.line(f"{test} {reason}")
