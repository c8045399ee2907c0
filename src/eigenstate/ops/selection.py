"""Which backend computes a scan: asked for by name, by context, by environment, or by device."""

import difflib
import importlib
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

Scan = Callable[[Tensor, Tensor, Tensor, bool, bool], tuple[Tensor, Tensor]]
System = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]

# Imported on first use, so that importing the package does not wait for a compiler.
BACKENDS = {
    "reference": "eigenstate.ops.backends.reference",
    "associative": "eigenstate.ops.backends.associative",
    "cpu": "eigenstate.ops.differentiable",
}
# A backend may also run a whole system at once.
SYSTEMS = {"cpu": "eigenstate.ops.system"}
ENVIRONMENT = "EIGENSTATE_BACKEND"

_scans: dict[str, Scan] = {}
_chosen: list[str] = []
_probed: list[bool] = []


@contextmanager
def use_backend(name: str) -> Iterator[None]:
    """Compute every scan inside the `with` block by one backend, in the whole process.

    name: "reference" (a loop, the definition), "associative" (plain torch, any device) or "cpu"
    (numba). The environment variable EIGENSTATE_BACKEND does the same for a whole run.
    """
    check_backend(name)
    _chosen.append(name)
    try:
        yield
    finally:
        _chosen.pop()


def check_backend(name: str, argument: str = "backend") -> None:
    """Raise ValueError unless `name` is a backend."""
    if name not in BACKENDS:
        near = difflib.get_close_matches(str(name), BACKENDS, 1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"{argument} must be one of {sorted(BACKENDS)}, got {name!r}{hint}")


def resolve(backend: str | None, device: torch.device) -> Scan:
    """The scan to use on a device: the one named, or the fastest that works there."""
    return _load(choose(backend, device))


def resolve_system(device: torch.device) -> System | None:
    """The operator for a whole time-invariant system, where the chosen backend has one."""
    name = choose(None, device)
    return importlib.import_module(SYSTEMS[name]).system if name in SYSTEMS else None


def choose(backend: str | None, device: torch.device) -> str:
    """The name of the backend to use on a device."""
    name = backend or (_chosen[-1] if _chosen else os.environ.get(ENVIRONMENT))
    if name is not None:
        check_backend(name, "backend" if backend or _chosen else ENVIRONMENT)
        if name == "cpu" and device.type != "cpu":
            raise ValueError(
                f"backend 'cpu' needs tensors on the CPU, got {device}; "
                "move them, or use backend 'associative'"
            )
        return name
    return "cpu" if device.type == "cpu" and _cpu_works() else "associative"


def _load(name: str) -> Scan:
    _import(name)
    return _scans[name]


def _constant_when_traced(function):
    """What torch.compiler.assume_constant_result does, without importing the compiler for it."""
    function._dynamo_marked_constant = True
    return function


# Tracing takes the answers of the next two as they are instead of following the import.
@_constant_when_traced
def _import(name: str) -> bool:
    if name not in _scans:
        _scans[name] = importlib.import_module(BACKENDS[name]).scan
    return True


@_constant_when_traced
def _cpu_works() -> bool:
    """Probe once, by running: a compiler may import and yet fail."""
    if not _probed:
        _probed.append(_probe())
    return _probed[0]


def _probe() -> bool:
    try:
        one = torch.ones(1, 1, 2, 1, dtype=torch.float64)
        _load("cpu")(one, one, one[:, 0], False, False)
    except Exception as error:  # noqa: BLE001 - whatever it is, there is a slower way
        warnings.warn(
            f"the fast CPU scan does not work here ({type(error).__name__}: {error}); "
            "using the slower plain-torch scan",
            RuntimeWarning,
            stacklevel=4,
        )
        return False
    return True
