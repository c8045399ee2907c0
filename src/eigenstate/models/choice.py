"""A layer, a block's options or an encoder by short names, as settings files have them."""

import dataclasses
import difflib
import inspect
import typing
from collections.abc import Collection, Mapping
from typing import Any

from eigenstate.layers.base import SequenceLayer
from eigenstate.layers.checks import check_choice
from eigenstate.layers.s4 import S4
from eigenstate.layers.s4d import S4D
from eigenstate.layers.s5 import S5
from eigenstate.models.encoders import (
    EmbeddingEncoder,
    Encoder,
    ImageEncoder,
    LinearEncoder,
    OneHotEncoder,
)
from eigenstate.models.options import BlockOptions

LAYERS: dict[str, type[SequenceLayer]] = {"s5": S5, "s4d": S4D, "s4": S4}
ENCODERS: dict[str, Any] = {
    "linear": LinearEncoder,
    "one-hot": OneHotEncoder,
    "embedding": EmbeddingEncoder,
    "image": ImageEncoder,
}
ENCODER_ARGUMENTS = {
    "linear": ("d_input",),
    "one-hot": ("n_tokens",),
    "embedding": ("n_tokens",),
    "image": ("side", "append_dt"),
}


def make_layer(name: str, d_model: int, options: Mapping[str, Any] | None = None) -> SequenceLayer:
    """Build the layer called `name`, d_model wide, with its own keywords from `options`.

    What its constructor takes in an options object stands beside the others:
    make_layer("s5", 64, {"d_state": 32, "stability": "clip"}).
    ValueError: an unknown name or option.
    """
    check_choice("layer", name, LAYERS)
    known = _options(LAYERS[name])
    arguments: dict[str, Any] = {}
    grouped: dict[str, dict[str, Any]] = {}
    _check_known(f"layer_options of {name!r}", options or {}, known)
    for option, value in (options or {}).items():
        keyword = known[option]
        if keyword is None:
            arguments[option] = value
        else:
            grouped.setdefault(keyword, {})[option] = value
    for keyword, values in grouped.items():
        arguments[keyword] = _groups(LAYERS[name])[keyword](**values)
    return LAYERS[name](d_model, **arguments)


def option_names(name: str) -> list[str]:
    """The options that `make_layer` takes for a layer."""
    check_choice("layer", name, LAYERS)
    return list(_options(LAYERS[name]))


def all_options(name: str, options: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return every option of a layer: what `options` says, and the defaults of the others."""
    check_choice("layer", name, LAYERS)
    groups = _groups(LAYERS[name])
    defaults: dict[str, Any] = {}
    for keyword, parameter in list(inspect.signature(LAYERS[name]).parameters.items())[1:]:
        if keyword in groups:
            defaults |= {field.name: field.default for field in dataclasses.fields(groups[keyword])}
        else:
            defaults[keyword] = parameter.default
    return defaults | dict(options or {})


def make_block_options(options: Mapping[str, Any]) -> BlockOptions:
    """Build the options of blocks. ValueError: an unknown name or value."""
    _check_known(
        "block_options", options, [field.name for field in dataclasses.fields(BlockOptions)]
    )
    return BlockOptions(**options)


def make_encoder(
    name: str, size: int, d_model: int, options: Mapping[str, Any] | None = None
) -> Encoder:
    """Build the encoder called `name` for samples of `size` channels, tokens or pixels a side.

    ValueError: an unknown name or option.
    """
    check_choice("encoder", name, ENCODERS)
    known = ["append_dt"] if name == "image" else []
    _check_known(f"encoder_options of {name!r}", options or {}, known)
    if name == "image":
        return ImageEncoder(d_model, side=size, **(options or {}))
    return ENCODERS[name](size, d_model)


def encoder_config(encoder: Encoder) -> dict[str, Any]:
    """Return the name and the arguments of an encoder. TypeError: it is of no known class."""
    for name, kind in ENCODERS.items():
        if type(encoder) is kind:
            own = {argument: getattr(encoder, argument) for argument in ENCODER_ARGUMENTS[name]}
            return {"encoder": name, **own}
    raise TypeError(
        f"an encoder of class {type(encoder).__name__} cannot be described in a config: only "
        f"{', '.join(kind.__name__ for kind in ENCODERS.values())} can"
    )


def _check_known(argument: str, options: Mapping[str, Any], known: Collection[str]) -> None:
    for option in options:
        if option not in known:
            near = difflib.get_close_matches(str(option), known, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"{argument} must be among {list(known)}, got {option!r}{hint}")


def _options(kind: type[SequenceLayer]) -> dict[str, str | None]:
    """Each option of a layer, with the keyword of the options object it belongs to, if any."""
    groups = _groups(kind)
    names: dict[str, str | None] = {}
    for keyword in list(inspect.signature(kind).parameters)[1:]:
        if keyword in groups:
            names |= {field.name: keyword for field in dataclasses.fields(groups[keyword])}
        else:
            names[keyword] = None
    return names


def _groups(kind: type[SequenceLayer]) -> dict[str, Any]:
    """The constructor's keywords that take an options object, with its class."""
    return {
        keyword: candidate
        for keyword, hint in typing.get_type_hints(kind.__init__).items()
        for candidate in (hint, *typing.get_args(hint))
        if dataclasses.is_dataclass(candidate)
    }
