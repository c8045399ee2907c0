"""The layers: one interface, several ways to choose a linear recurrence."""

from eigenstate.layers.base import SequenceLayer
from eigenstate.layers.intervals import intervals
from eigenstate.layers.s5 import S5, S5Options
from eigenstate.layers.spectrum import Spectrum

__all__ = ["S5", "S5Options", "SequenceLayer", "Spectrum", "intervals"]
