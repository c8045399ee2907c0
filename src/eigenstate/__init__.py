"""Structured state-space sequence layers: S5 and its relatives."""

__version__ = "0.1.0"

from eigenstate.layers import S5, S5Options, intervals
from eigenstate.ops.scan import linear_scan
from eigenstate.ops.selection import use_backend

__all__ = ["S5", "S5Options", "intervals", "linear_scan", "use_backend"]
