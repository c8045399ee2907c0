"""Weights of published implementations, into models of this library and out of it again.

Every loader is strict: what is unknown, missing, misshapen or no number is listed in one
WeightsError, and then nothing is loaded.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from eigenstate.interop import jax_s5, links, published, s4, s5_pytorch_names
from eigenstate.interop.links import Arrays, WeightsError
from eigenstate.interop.published import S5Settings
from eigenstate.interop.s5_pytorch import S5 as DropInS5
from eigenstate.interop.s5_pytorch import S5Block as DropInBlock
from eigenstate.interop.trees import (
    Source,
    Variables,
    flatten,
    nest,
    read_weights,
    select,
    write_weights,
)
from eigenstate.layers.s4 import S4
from eigenstate.layers.s4d import S4D
from eigenstate.layers.s5 import S5
from eigenstate.models.activation import Activation
from eigenstate.models.classifier import Classifier
from eigenstate.models.retrieval import Retrieval

__all__ = [
    "S5Settings",
    "Variables",
    "WeightsError",
    "classifier_from",
    "export_classifier",
    "export_retrieval",
    "export_s4",
    "export_s4d",
    "export_s5",
    "export_s5_pytorch",
    "load_classifier",
    "load_retrieval",
    "load_s4",
    "load_s4d",
    "load_s5",
    "load_s5_pytorch",
    "read_weights",
    "retrieval_from",
    "s5_from",
    "write_weights",
]

# --- the official S5 in JAX -----------------------------------------------------------------------


def load_s5(layer: S5, params: Source) -> None:
    """Load the official layer's Lambda_re, Lambda_im, B, C (or C1, C2), D and log_step.

    params: a dict, nested or flat, or the path of an .npz or .msgpack. The layer must agree with
    the official flags: `conjugate` with conj_sym, stability "clip" with clip_eigs, else "free". A
    layer with stability="exp" keeps log(-Re λ), and refuses a pole with Re λ >= 0.
    """
    arrays = read_weights(params).params
    links.load(jax_s5.s5_links(layer, arrays), arrays, f"S5({layer.extra_repr()})")


def export_s5(layer: S5) -> Arrays:
    """The layer's numbers under their official names; see `load_s5` for the flags that go along.

    Exact but for stability="exp", whose poles -exp(·) are rounded once.
    """
    return links.export(jax_s5.s5_links(layer, jax_s5.drawn_names(layer)))


def s5_from(params: Source, *, settings: S5Settings | None = None) -> S5:
    """An S5 layer from official arrays, in torch's default precision."""
    arrays = read_weights(params).params
    layer = published.layer_for(arrays, settings or S5Settings())
    load_s5(layer, arrays)
    return layer


def load_classifier(
    model: Classifier, params: Source, batch_stats: Mapping[Any, Any] | None = None
) -> None:
    """Load an official classifier's parameters, and batch statistics if it has BatchNorm.

    The same numbers come out if the model has BlockOptions(gelu="tanh", padding="published"), and
    norm_eps=1e-5 for norm="batch" or 1e-6 for norm="layer"; `classifier_from` sees to that. The
    model returns logits, the official one their log_softmax.
    """
    _load_model(model, _variables(params, batch_stats))


def load_retrieval(
    model: Retrieval, params: Source, batch_stats: Mapping[Any, Any] | None = None
) -> None:
    """Load an official retrieval model; see `load_classifier`."""
    _load_model(model, _variables(params, batch_stats))


def classifier_from(
    params: Source,
    batch_stats: Mapping[Any, Any] | None = None,
    *,
    settings: S5Settings | None = None,
) -> Classifier:
    """A classifier of the arrays' own sizes, loaded; settings say what arrays cannot."""
    variables = _variables(params, batch_stats)
    model = published.model_for(Classifier, variables, settings or S5Settings())
    _load_model(model, variables)
    return model


def retrieval_from(
    params: Source,
    batch_stats: Mapping[Any, Any] | None = None,
    *,
    settings: S5Settings | None = None,
) -> Retrieval:
    """A retrieval model of the arrays' own sizes, loaded; settings say what arrays cannot."""
    variables = _variables(params, batch_stats)
    model = published.model_for(Retrieval, variables, settings or S5Settings())
    _load_model(model, variables)
    return model


def export_classifier(model: Classifier) -> Variables:
    """Parameters and batch statistics as nested dicts under their official names."""
    return _export_model(model)


def export_retrieval(model: Retrieval) -> Variables:
    """Parameters and batch statistics as nested dicts under their official names."""
    return _export_model(model)


# --- s5-pytorch -----------------------------------------------------------------------------------


def load_s5_pytorch(
    module: S5 | DropInS5 | DropInBlock, state_dict: Mapping[str, Any], *, prefix: str = ""
) -> None:
    """Load a state dict of s5-pytorch 0.2.1: of its S5 or its S5Block.

    module: an S5 layer of this library, with as many stored modes, or the drop-in `S5` or `S5Block`
    of `interop.s5_pytorch`. prefix: where the module's names begin in a larger state dict.
    """
    arrays = select(flatten(state_dict, "."), prefix)
    links.load(_s5_pytorch_links(module), arrays, type(module).__name__)


def export_s5_pytorch(module: S5 | DropInS5 | DropInBlock) -> dict[str, Tensor]:
    """A state dict for s5-pytorch: for its S5, or for its S5Block."""
    return _tensors(links.export(_s5_pytorch_links(module)))


# --- S4 and S4D -----------------------------------------------------------------------------------


def load_s4(
    layer: S4,
    state_dict: Mapping[str, Any],
    *,
    prefix: str = "",
    activation: Activation | None = None,
) -> None:
    """Load a state dict of the published S4: its kernel (then D = 0), its layer, or its block.

    A trained kernel holds C (I - Ā^l); C is recovered from it in double precision, by the l beside
    it. activation: a block's `output_linear` goes there, for instance to the `activation` of a
    Block of kind "full_glu". prefix: where the names begin in a larger state dict. A real part or a
    timescale must be stored as its logarithm (real_transform="exp", dt_transform="exp").
    """
    arrays = select(flatten(state_dict, "."), prefix)
    what = f"S4({layer.extra_repr()})"
    links.load(s4.s4_links(layer, arrays, activation), arrays, what)


def load_s4d(
    layer: S4D,
    state_dict: Mapping[str, Any],
    *,
    prefix: str = "",
    activation: Activation | None = None,
) -> None:
    """Load a state dict of the published S4D, full or minimal; arguments as for `load_s4`.

    The layer's discretization must be the published `disc`, which is "zoh" in the minimal one.
    """
    arrays = select(flatten(state_dict, "."), prefix)
    what = f"S4D({layer.extra_repr()})"
    links.load(s4.s4d_links(layer, arrays, activation), arrays, what)


def export_s4(layer: S4) -> dict[str, Tensor]:
    """A state dict for the published layer around an S4 kernel, with l_kernel = 0."""
    return _tensors(links.export(s4.s4_links(layer, {})))


def export_s4d(layer: S4D, *, minimal: bool = False) -> dict[str, Tensor]:
    """A state dict for the published layer around an S4D kernel, or for the minimal S4D.

    The minimal one has B = 1 and ZOH. WeightsError: the layer has something else.
    """
    return _tensors(links.export(s4.minimal_links(layer) if minimal else s4.s4d_links(layer, {})))


def _variables(params: Source, batch_stats: Mapping[Any, Any] | None) -> Variables:
    found = read_weights(params)
    if batch_stats is None:
        return found
    if found.batch_stats is not None:
        raise WeightsError("batch_stats are there twice: in params, and as an argument")
    return Variables(found.params, flatten(batch_stats))


def _load_model(model: Classifier | Retrieval, variables: Variables) -> None:
    arrays = {
        f"{part}/{name}": value
        for part, collection in variables._asdict().items()
        for name, value in (collection or {}).items()
    }
    links.load(jax_s5.model_links(model, arrays), arrays, f"this {type(model).__name__}")


def _export_model(model: Classifier | Retrieval) -> Variables:
    arrays = links.export(jax_s5.model_links(model, jax_s5.drawn_names(model)))
    tree = nest(arrays)
    return Variables(tree["params"], tree.get("batch_stats"))


def _s5_pytorch_links(module: S5 | DropInS5 | DropInBlock) -> list[links.Link]:
    if isinstance(module, S5):
        return s5_pytorch_names.layer_links(module, "seq.")
    if isinstance(module, DropInS5):
        return s5_pytorch_names.layer_links(module.seq.layer, "seq.")
    if not isinstance(module, DropInBlock):
        raise TypeError(
            "expected an S5 layer, or S5 or S5Block of eigenstate.interop.s5_pytorch, "
            f"got {type(module).__name__}"
        )
    others = {
        name: tensor for name, tensor in module.named_parameters() if not name.startswith("s5.")
    }
    return [
        *s5_pytorch_names.layer_links(module.s5.seq.layer, "s5.seq."),
        *(links.same(name, tensor) for name, tensor in others.items()),
    ]


def _tensors(arrays: Arrays) -> dict[str, Tensor]:
    return {name: torch.from_numpy(value) for name, value in arrays.items()}
