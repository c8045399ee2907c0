"""The layers: one interface, three ways to choose a linear recurrence."""

from eigenstate.layers.base import SequenceLayer
from eigenstate.layers.intervals import intervals
from eigenstate.layers.memory import HippoMemory
from eigenstate.layers.s4 import S4, S4Options
from eigenstate.layers.s4d import S4D, S4DOptions
from eigenstate.layers.s5 import S5, S5Options
from eigenstate.layers.spectrum import Spectrum

__all__ = [
    "S4",
    "S4D",
    "S5",
    "HippoMemory",
    "S4DOptions",
    "S4Options",
    "S5Options",
    "SequenceLayer",
    "Spectrum",
    "intervals",
]
