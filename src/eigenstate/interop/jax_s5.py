"""Names and shapes of the official S5 in JAX: layer, block, classifier, retrieval.

Λ in two parts (P,), log_step (P, 1), B (P, H, 2), C (H, P, 2); a bidirectional C is C1 and C2, or
one C (H, 2P, 2) with the forward modes first. Dense kernels are (in, out).
Source: the official code of Smith et al. 2023; measured against its own answers.
"""

from collections.abc import Container

import numpy as np
from torch import nn

from eigenstate.interop.links import Link, moved, same
from eigenstate.interop.poles import check_log_timescale, log_timescales, shown, stored
from eigenstate.layers.s5 import S5
from eigenstate.models.base import SequenceModel
from eigenstate.models.block import Block
from eigenstate.models.classifier import Classifier
from eigenstate.models.norm import SequenceBatchNorm
from eigenstate.models.retrieval import Retrieval


def s5_links(layer: S5, names: Container[str], prefix: str = "") -> list[Link]:
    """The layer's links; `names` decides which of the two forms a bidirectional C has."""
    if not isinstance(layer, S5):
        raise TypeError(f"expected an S5 layer, got {type(layer).__name__}")
    spectrum = layer.spectrum
    modes = spectrum.modes.numel()
    poles = Link(
        {f"{prefix}{part}": (modes,) for part in ("Lambda_re", "Lambda_im")},
        (spectrum.poles,),
        lambda re, im: [np.stack((stored(spectrum, re), im))],
        lambda x: [shown(spectrum, x[0]), x[1]],
    )
    timescales = Link(
        {f"{prefix}log_step": (modes, 1)},
        (log_timescales(spectrum),),
        lambda x: [check_log_timescale(x[:, 0])],
        lambda x: [x[:, None]],
    )
    B = moved(f"{prefix}B", layer.B, -1, 0)
    return [poles, timescales, B, *_readout(layer, names, prefix), same(f"{prefix}D", layer.D)]


def _readout(layer: S5, names: Container[str], prefix: str) -> list[Link]:
    if not layer.bidirectional:
        return [moved(f"{prefix}C", layer.C, -1, 1)]
    if f"{prefix}C" not in names:
        return [
            moved(f"{prefix}C1", layer.C, -1, 1),
            moved(f"{prefix}C2", layer.C_reverse, -1, 1),
        ]
    modes = layer.spectrum.modes.numel()
    joined = Link(
        {f"{prefix}C": (layer.d_model, 2 * modes, 2)},
        (layer.C, layer.C_reverse),
        lambda x: [np.moveaxis(half, -1, 1) for half in (x[:, :modes], x[:, modes:])],
        lambda *x: [np.concatenate([np.moveaxis(half, 1, -1) for half in x], 1)],
    )
    return [joined]


def _dense_links(linear: nn.Linear, prefix: str) -> list[Link]:
    return [moved(f"{prefix}kernel", linear.weight, 0, 1), same(f"{prefix}bias", linear.bias)]


def _block_links(block: Block, names: Container[str], prefix: str) -> list[Link]:
    """A block's links, its batch statistics among them; prefix is its path below `params/`."""
    params = f"params/{prefix}"
    if not isinstance(block.layer, S5):
        raise TypeError(f"the official blocks hold an S5 layer, got {type(block.layer).__name__}")
    links = s5_links(block.layer, names, f"{params}seq/")
    links += [
        same(f"{params}norm/scale", block.norm.weight),
        same(f"{params}norm/bias", block.norm.bias),
    ]
    if isinstance(block.norm, SequenceBatchNorm):
        statistics = f"batch_stats/{prefix}norm/"
        links += [
            same(f"{statistics}mean", block.norm.running_mean),
            same(f"{statistics}var", block.norm.running_var),
        ]
    for name, part in (("out1", block.activation.value), ("out2", block.activation.gate)):
        links += [] if part is None else _dense_links(part, f"{params}{name}/")
    return links


def model_links(model: Classifier | Retrieval, names: Container[str]) -> list[Link]:
    """Links of a whole model, from its encoder to its logits."""
    if isinstance(model, Classifier):
        head = _dense_links(model.decoder, "params/decoder/")
    elif isinstance(model, Retrieval):
        head = _dense_links(model.combine, "params/decoder/layer1/")
        head += _dense_links(model.decoder, "params/decoder/layer2/")
    else:
        raise TypeError(f"expected a Classifier or a Retrieval, got {type(model).__name__}")
    if not isinstance(model.encoder, nn.Linear):
        raise TypeError(
            "the official models begin with a dense matrix, LinearEncoder or OneHotEncoder, "
            f"got {type(model.encoder).__name__}"
        )
    links = _dense_links(model.encoder, "params/encoder/encoder/")
    for number, block in enumerate(model.backbone.blocks):
        links += _block_links(block, names, f"encoder/layers_{number}/")
    return links + head


def drawn_names(model: S5 | SequenceModel) -> set[str]:
    """The names by which the official code has one joined C: where it draws C complex normal."""
    if isinstance(model, S5):
        return {"C"} if _joined(model) else set()
    return {
        f"params/encoder/layers_{number}/seq/C"
        for number, block in enumerate(model.backbone.blocks)
        if isinstance(block.layer, S5) and _joined(block.layer)
    }


def _joined(layer: S5) -> bool:
    return layer.bidirectional and layer.options.c_init == "complex_normal"
