"""A layer by its short name, with its own options."""

import dataclasses
import difflib
import inspect
import typing
from collections.abc import Mapping
from typing import Any

from eigenstate.layers.base import SequenceLayer
from eigenstate.layers.checks import check_choice
from eigenstate.layers.s4 import S4
from eigenstate.layers.s4d import S4D
from eigenstate.layers.s5 import S5

LAYERS: dict[str, type[SequenceLayer]] = {"s5": S5, "s4d": S4D, "s4": S4}


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
    for option, value in (options or {}).items():
        if option not in known:
            near = difflib.get_close_matches(str(option), known, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise ValueError(
                f"layer_options of {name!r} must be among {list(known)}, got {option!r}{hint}"
            )
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
