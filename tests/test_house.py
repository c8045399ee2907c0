"""The plan of the house, enforced: floors, doors, names and sizes (ARCHITECTURE.md says why)."""

import ast
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "eigenstate"
FILES = sorted(
    path.relative_to(ROOT)
    for folder in ("src", "tests", "examples", "benchmarks", "tools")
    for path in (ROOT / folder).rglob("*.py")
)
# Names that say nothing, and so collect everything.
BANNED_NAMES = {"utils", "util", "helpers", "helper", "common", "misc", "core"}
MOST_LINES_OF_A_FILE = 300
MOST_LINES_OF_A_FUNCTION = 40
MOST_CONSTRUCTOR_ARGUMENTS = 8
MOST_POSITIONAL_ARGUMENTS = 2
# Constructors that wear another package's signature.
DROP_INS = {Path("src/eigenstate/interop/s5_pytorch.py")}


# --- floors and doors -----------------------------------------------------------------------------


def test_imports_run_downward_and_guests_use_their_doors():
    linter = Path(sys.executable).with_name("lint-imports")
    run = subprocess.run(
        [linter, "--no-cache", "--no-logo"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_importing_the_package_leaves_the_heavy_guests_outside():
    guests = ["jsonargparse", "matplotlib", "numba", "pytorch_lightning", "scipy", "sklearn"]
    guests += ["torch._dynamo"]  # the compiler, a second by itself: torch loads it on first use
    script = f"import sys, eigenstate; print(*sorted(set({guests}) & set(sys.modules)))"
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert not run.stdout.split()


# --- names and sizes ------------------------------------------------------------------------------


def test_no_file_has_a_name_that_says_nothing():
    assert not [path for path in FILES if BANNED_NAMES & {part.lower() for part in parts(path)}]


def parts(path):
    return path.with_suffix("").parts


@pytest.mark.parametrize("path", FILES, ids=str)
def test_a_file_is_one_short_idea(path):
    source = (ROOT / path).read_text()
    lines = source.count("\n")
    assert lines <= MOST_LINES_OF_A_FILE
    long = {
        f"{node.name}, line {node.lineno}": length(node)
        for node in functions(source)
        if length(node) > MOST_LINES_OF_A_FUNCTION
    }
    assert not long


@pytest.mark.parametrize("path", [p for p in FILES if p.parts[0] == "src"], ids=str)
def test_signatures_are_short_and_named(path):
    for function in functions((ROOT / path).read_text()):
        where = f"{path}:{function.lineno}: {function.name}"
        public = not function.name.startswith("_") or function.name == "__init__"
        assert not (public and function.args.kwarg), f"{where} takes **{function.args.kwarg.arg}"
        if function.name == "__init__" and path not in DROP_INS:
            positional = len(function.args.posonlyargs + function.args.args) - 1  # without self
            count = positional + len(function.args.kwonlyargs)
            assert positional <= MOST_POSITIONAL_ARGUMENTS, f"{where}: make the rest keyword-only"
            assert count <= MOST_CONSTRUCTOR_ARGUMENTS, f"{where} takes {count} arguments"


def functions(source):
    nodes = ast.walk(ast.parse(source))
    return [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def length(function):
    """Lines of code and comments from `def` to the end; a docstring may be as long as it must."""
    lines = function.end_lineno - function.lineno + 1
    if ast.get_docstring(function) is not None:
        docstring = function.body[0]
        lines -= docstring.end_lineno - docstring.lineno + 1
    return lines


# --- the wheel ------------------------------------------------------------------------------------


def test_the_wheel_carries_every_file_of_the_package(tmp_path):
    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    shipped = set(zipfile.ZipFile(wheel).namelist())
    source = {
        path.relative_to(PACKAGE.parent).as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert "eigenstate/py.typed" in source
    assert source <= shipped
