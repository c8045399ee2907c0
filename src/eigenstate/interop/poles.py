"""Published poles and timescales, and how a Spectrum stores them."""

import numpy as np
from torch import Tensor

from eigenstate.interop.links import Array, WeightsError
from eigenstate.layers.spectrum import Spectrum

_LIMIT, _CLIP = 50.0, -1e-4  # where Spectrum holds log Δ, and Re λ if it clips


def log_timescales(spectrum: Spectrum) -> Tensor:
    """The parameter log Δ. WeightsError: the layer has none, or one for all its modes."""
    log = spectrum.log_timescale
    if log is None:
        raise WeightsError(
            "published layers have timescales, and one with discretization='none' has not: build "
            "it with discretization='zoh'"
        )
    if log.dim() == 1 and log.shape != spectrum.modes:
        raise WeightsError(
            "the published S5 has a timescale for each mode, and this layer one for all: build it "
            "with timescale='per_mode'"
        )
    return log


def unclipped(spectrum: Spectrum, re: Array) -> Array:
    """Re λ, unchanged. ValueError where the spectrum is one that clips it."""
    if spectrum.stability == "clip" and (re > _CLIP).any():
        raise ValueError(
            f"Re λ reaches {re.max():.6g}, and a layer with stability='clip' holds it at {_CLIP:g} "
            "or below; build it with stability='free'"
        )
    return re


def stored(spectrum: Spectrum, re: Array) -> Array:
    """Re λ as the spectrum keeps it. ValueError naming the first mode that it cannot keep."""
    if spectrum.stability != "exp":
        return re
    if (re >= 0).any():
        mode = np.argwhere(re >= 0)[0].tolist()
        raise ValueError(
            f"Re λ of mode {', '.join(map(str, mode))} is {re[tuple(mode)]:.6g}, and a layer with "
            "stability='exp' stores log(-Re λ); build it with stability='free'"
        )
    return np.log(-re)


def shown(spectrum: Spectrum, re: Array) -> Array:
    """Re λ from what the spectrum keeps."""
    return -np.exp(re) if spectrum.stability == "exp" else re


def log_rate(spectrum: Spectrum, re: Array) -> Array:
    """log(-Re λ) from what the spectrum keeps; ValueError where there is no such number."""
    if spectrum.stability == "exp":
        return re
    if (re >= 0).any():
        raise ValueError(f"Re λ reaches {re.max():.6g}, and the published form holds log(-Re λ)")
    return np.log(-unclipped(spectrum, re))


def from_log_rate(spectrum: Spectrum, log: Array) -> Array:
    """What the spectrum keeps, from log(-Re λ)."""
    return log if spectrum.stability == "exp" else unclipped(spectrum, -np.exp(log))


def check_log_timescale(log: Array) -> Array:
    """log Δ, unchanged. ValueError naming the first that a Spectrum would cut off."""
    beyond = np.argwhere(np.abs(log) > _LIMIT)
    if len(beyond):
        where = tuple(int(i) for i in beyond[0])
        raise ValueError(f"log Δ must lie within ±{_LIMIT:g}, got {log[where]:.6g} at {where}")
    return log
