"""Which parameters are decayed, and which learn at a rate of their own."""

import math
from typing import Any

from torch import Tensor, nn

from eigenstate.layers.base import SequenceLayer
from eigenstate.layers.spectrum import Spectrum

# A layer's own parameters that belong to its dynamics beside the spectrum: the input matrix, and
# the low-rank part of S4's state matrix.
DYNAMICS = ("B", "P")


def parameter_groups(
    model: nn.Module,
    *,
    lr: float,
    dynamics_lr: float | None = None,
    weight_decay: float = 0.0,
) -> list[dict[str, Any]]:
    """Divide the parameters of `model` into groups for any torch optimiser.

    dynamics  poles, timescales, B and S4's P: `dynamics_lr` (`lr` if None), no decay. Decay would
              pull the poles towards another system, not towards a simpler one.
    no_decay  everything with fewer than two axes (biases, norms, D): `lr`, no decay.
    decay     all other matrices (C included): `lr`, `weight_decay`.

    Every parameter is in exactly one group: frozen ones too (an optimiser passes over what has no
    gradient), and a tied one once, with the dynamics if any of its owners says so. A group's
    "name" is as above and "param_names" are the names of its parameters, in order.

    >>> optimizer = torch.optim.AdamW(es.parameter_groups(model, lr=3e-3, weight_decay=0.05))

    Source: the S5 paper's official code, grouping "standard", except that nothing with fewer than
    two axes decays. ValueError: a rate or a decay that is negative or not finite.
    """
    dynamics_lr = lr if dynamics_lr is None else dynamics_lr
    rates = {"lr": lr, "dynamics_lr": dynamics_lr, "weight_decay": weight_decay}
    for argument, value in rates.items():
        if not (math.isfinite(value) and value >= 0):
            raise ValueError(f"{argument} must be finite and at least 0, got {value!r}")
    groups: dict[str, dict[str, Any]] = {
        "dynamics": {"lr": dynamics_lr, "weight_decay": 0.0},
        "no_decay": {"lr": lr, "weight_decay": 0.0},
        "decay": {"lr": lr, "weight_decay": weight_decay},
    }
    dynamics = _dynamics(model)
    members: dict[str, list[tuple[str, Tensor]]] = {name: [] for name in groups}
    for name, parameter in model.named_parameters():
        if id(parameter) in dynamics:
            members["dynamics"].append((name, parameter))
        else:
            members["decay" if parameter.ndim > 1 else "no_decay"].append((name, parameter))
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


def _dynamics(model: nn.Module) -> set[int]:
    """Identities of the poles, timescales and input matrices, wherever the model was wrapped."""
    found: set[int] = set()
    for module in model.modules():
        if isinstance(module, Spectrum):
            found.update(id(parameter) for parameter in module.parameters())
        elif isinstance(module, SequenceLayer):
            found.update(
                id(parameter)
                for name, parameter in module.named_parameters(recurse=False)
                if name in DYNAMICS
            )
    return found
