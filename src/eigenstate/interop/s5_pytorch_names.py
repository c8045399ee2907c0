"""Names and shapes of s5-pytorch 0.2.1: Lambda (P,) and C (H, P) complex, B (P, H, 2), D, log_step.

It reads out Re(C x), whatever the modes: where a layer here stores conjugate halves and reads out
2 Re(C x), its C is half of theirs, which is exact. A bidirectional C is (H, 2P), forward first.
"""

import numpy as np

from eigenstate.interop.links import Array, Link, moved, same
from eigenstate.interop.poles import check_log_timescale, log_timescales, shown, stored, unclipped
from eigenstate.layers.s5 import S5


def layer_links(layer: S5, prefix: str = "") -> list[Link]:
    """Links of an S5 layer to the arrays below the prefix."""
    spectrum = layer.spectrum
    modes = spectrum.modes.numel()
    poles = Link(
        {f"{prefix}Lambda": (modes,)},
        (spectrum.poles,),
        lambda x: [np.stack((stored(spectrum, unclipped(spectrum, x.real)), x.imag))],
        lambda x: [unclipped(spectrum, shown(spectrum, x[0])) + 1j * x[1]],
        is_complex=True,
    )
    timescales = Link(
        {f"{prefix}log_step": (modes,)},
        (log_timescales(spectrum),),
        lambda x: [check_log_timescale(x)],
        lambda x: [x],
    )
    B = moved(f"{prefix}B", layer.B, -1, 0)
    return [poles, timescales, B, _readout(layer, prefix), same(f"{prefix}D", layer.D)]


def _readout(layer: S5, prefix: str) -> Link:
    factor = 2.0 if layer.options.conjugate else 1.0
    outputs = (layer.C, layer.C_reverse) if layer.bidirectional else (layer.C,)

    def split(C: Array) -> list[Array]:  # (H, P or 2P) -> one or two of (H, 2, P)
        halves = np.split(C / factor, len(outputs), 1)
        return [np.stack((half.real, half.imag), 1) for half in halves]

    def join(*planes: Array) -> list[Array]:
        return [factor * np.concatenate([x[:, 0] + 1j * x[:, 1] for x in planes], 1)]

    shape = (layer.d_model, layer.spectrum.modes.numel() * len(outputs))
    return Link({f"{prefix}C": shape}, outputs, split, join, is_complex=True)
