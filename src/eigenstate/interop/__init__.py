"""Other people's systems: their weights in and out, and drop-ins for their layers."""

from eigenstate.interop import s5_pytorch, weights

__all__ = ["s5_pytorch", "weights"]
