"""Which parameters are decayed, and which learn at a rate of their own."""

import math
from typing import Any

from torch import Tensor, nn

from eigenstate.layers.base import SequenceLayer
from eigenstate.layers.checks import check_choice, check_flag
from eigenstate.layers.spectrum import Spectrum

# What a layer's own parameters are called in the published groupings. S4's P is the low-rank part
# of its state matrix, and goes with the poles.
ROLES = {"B": "B", "C": "C", "C_reverse": "C", "D": "D", "P": "poles"}

# role -> group; a role that is not there is one of "the rest".
GROUPINGS: dict[str, dict[str, str]] = {
    "default": {"poles": "dynamics", "timescale": "dynamics", "B": "dynamics"},
    "standard": {"poles": "dynamics", "timescale": "dynamics", "B": "dynamics"},
    "BandCdecay": {"poles": "dynamics", "timescale": "dynamics", "B": "dynamics_decay"},
    "BfastandCdecay": {"poles": "dynamics", "timescale": "dynamics"},
    "noBCdecay": dict.fromkeys(("poles", "timescale", "B", "C", "D"), "dynamics"),
}


def parameter_groups(
    model: nn.Module,
    *,
    lr: float,
    dynamics_lr: float | None = None,
    weight_decay: float = 0.0,
    grouping: str = "default",
    dt_global: bool = False,
) -> list[dict[str, Any]]:
    """Divide the parameters of `model` into groups for any torch optimiser.

    dynamics        `dynamics_lr` (`lr` if None), no decay
    dynamics_decay  `dynamics_lr`, `weight_decay`
    no_decay        `lr`, no decay
    decay           `lr`, `weight_decay`

    Which parameters are in which is the `grouping`:

    default         dynamics: poles, timescales, B and S4's P, since decay would pull them towards
                    another system, not towards a simpler one; no_decay: everything else with fewer
                    than two axes (biases, norms, D); decay: all other matrices (C included)
    standard        dynamics: poles, timescales and B; decay: all others, biases and norms too
    BandCdecay      the same with B in dynamics_decay
    BfastandCdecay  the same with B in decay
    noBCdecay       the same with B, C and D in dynamics

    The last four are those of the S5 paper's official code. With `dt_global` the timescales are
    treated as what belongs to no layer: `lr`, and decayed in those four.

    Every parameter is in exactly one group: frozen ones too (an optimiser passes over what has no
    gradient), and a tied one once, with a layer's own if any of its owners is a layer. A group's
    "name" is as above and "param_names" are the names of its parameters, in order.

    >>> optimizer = torch.optim.AdamW(es.parameter_groups(model, lr=3e-3, weight_decay=0.05))

    ValueError, TypeError: a rate or a decay that is negative, not finite or no number; an unknown
    grouping.
    """
    check_choice("grouping", grouping, GROUPINGS)
    check_flag("dt_global", dt_global)
    dynamics_lr = lr if dynamics_lr is None else dynamics_lr
    _check_rates({"lr": lr, "dynamics_lr": dynamics_lr, "weight_decay": weight_decay})
    groups: dict[str, dict[str, Any]] = {
        "dynamics": {"lr": dynamics_lr, "weight_decay": 0.0},
        "dynamics_decay": {"lr": dynamics_lr, "weight_decay": weight_decay},
        "no_decay": {"lr": lr, "weight_decay": 0.0},
        "decay": {"lr": lr, "weight_decay": weight_decay},
    }
    places = GROUPINGS[grouping]
    if dt_global:
        places = {role: group for role, group in places.items() if role != "timescale"}
    roles = _roles(model)
    members: dict[str, list[tuple[str, Tensor]]] = {name: [] for name in groups}
    for name, parameter in model.named_parameters():
        role = roles.get(id(parameter), "")
        single = parameter.ndim < 2 or role == "timescale"  # those of S4 and S4D have two axes
        rest = "no_decay" if single and grouping == "default" else "decay"
        members[places.get(role, rest)].append((name, parameter))
    return [
        {
            "params": [parameter for _, parameter in members[name]],
            "param_names": [full_name for full_name, _ in members[name]],
            "name": name,
            **settings,
        }
        for name, settings in groups.items()
        if members[name]
    ]


def _check_rates(rates: dict[str, float]) -> None:
    for argument, value in rates.items():
        if not isinstance(value, (int, float)):
            raise TypeError(f"{argument} must be a number, got {value!r}")
        if not (math.isfinite(value) and value >= 0):
            raise ValueError(f"{argument} must be finite and at least 0, got {value!r}")


def _roles(model: nn.Module) -> dict[int, str]:
    """Role of every parameter that belongs to a layer, by identity, wherever it was wrapped."""
    found: dict[int, str] = {}
    for module in model.modules():
        if isinstance(module, Spectrum):
            for name, parameter in module.named_parameters():
                found[id(parameter)] = "poles" if name == "poles" else "timescale"
        elif isinstance(module, SequenceLayer):
            for name, parameter in module.named_parameters(recurse=False):
                if name in ROLES:
                    found[id(parameter)] = ROLES[name]
    return found
