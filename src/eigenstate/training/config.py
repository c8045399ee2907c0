"""The settings of a run: what a preset, a YAML file and the command line all write into."""

import difflib
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from eigenstate.data.own_data import OWN
from eigenstate.layers.checks import check_choice
from eigenstate.training.optimizers import GROUPINGS
from eigenstate.training.schedules import SCHEDULES, s5_schedule


def told(text: str, metavar: str) -> dict[str, str]:
    """What the command line says about a setting."""
    return {"help": text, "metavar": metavar}


@dataclass(frozen=True)
class ModelSettings:
    """The model: an encoder, the backbone, and the head that the task asks for."""

    d_model: int = field(default=64, metadata=told("width of every block", "N"))
    n_layers: int = field(default=4, metadata=told("number of blocks", "N"))
    layer: str = field(default="s5", metadata=told("sequence layer: s5, s4d or s4", "NAME"))
    layer_options: dict[str, Any] = field(
        default_factory=dict,
        metadata=told("its own: --model.layer_options.d_state 32, ...", "{...}"),
    )
    activation: str = field(
        default="half_glu1", metadata=told("gelu, full_glu, half_glu1 or half_glu2", "NAME")
    )
    dropout: float = field(
        default=0.1, metadata=told("share of channels dropped, one mask a sequence", "P")
    )
    prenorm: bool = field(
        default=True, metadata=told("norm before the layer, not after the block", "BOOL")
    )
    pooling: str = field(default="mean", metadata=told("over time: mean or last", "NAME"))
    block_options: dict[str, Any] = field(
        default_factory=dict,
        metadata=told("more of a block: --model.block_options.norm batch, ...", "{...}"),
    )
    encoder: str | None = field(
        default=None, metadata=told("linear, one-hot, embedding or image", "NAME")
    )
    encoder_options: dict[str, Any] = field(
        default_factory=dict,
        metadata=told("its own: --model.encoder_options.append_dt ...", "{...}"),
    )
    matrices: str = field(
        default="torch", metadata=told("start of encoder, gates and head: torch or lecun", "NAME")
    )
    use_dt: bool = field(
        default=True, metadata=told("false: samples count as evenly spaced", "BOOL")
    )


@dataclass(frozen=True)
class TrainingSettings:
    """AdamW, its learning rate rising at first and then falling along half a cosine."""

    epochs: int = field(default=60, metadata=told("passes over the training set", "N"))
    epoch_steps: int | None = field(
        default=None, metadata=told("steps of an epoch, parts of a pass or several (one pass)", "N")
    )
    batch_size: int = field(default=32, metadata=told("sequences a step", "N"))
    lr: float = field(default=4e-3, metadata=told("highest learning rate", "LR"))
    dynamics_lr: float | None = field(
        default=None, metadata=told("the same for poles, timescales and B", "LR")
    )
    weight_decay: float = field(default=0.05, metadata=told("decay of the other matrices", "WD"))
    warmup_epochs: float = field(default=1.0, metadata=told("epochs of rising learning rate", "N"))
    offset_noise: float = field(
        default=0.0, metadata=told("deviation of a constant added to each channel in training", "S")
    )
    grouping: str = field(
        default="default",
        metadata=told("parameters that learn alike: default, standard, ...", "NAME"),
    )
    dt_global: bool = field(
        default=False, metadata=told("timescales learn like the other matrices", "BOOL")
    )
    schedule: str = field(
        default="cosine", metadata=told("of the learning rate: cosine, or s5 as published", "NAME")
    )
    drop_last: bool = field(
        default=False, metadata=told("leave out an epoch's last, smaller batch", "BOOL")
    )
    by_length: bool = field(
        default=False, metadata=told("batches of sequences about as long, with few pads", "BOOL")
    )
    select: str = field(
        default="last", metadata=told("epoch to judge: last, or best on validation data", "NAME")
    )
    threads: int | None = field(
        default=None, metadata=told("CPU threads; results depend on them slightly", "N")
    )

    def __post_init__(self) -> None:
        _at_least(
            1,
            epochs=self.epochs,
            epoch_steps=1 if self.epoch_steps is None else self.epoch_steps,
            batch_size=self.batch_size,
            threads=1 if self.threads is None else self.threads,
        )
        check_choice("training.grouping", self.grouping, GROUPINGS)
        check_choice("training.schedule", self.schedule, SCHEDULES)
        check_choice("training.select", self.select, ("last", "best"))
        _at_least(
            0,
            lr=self.lr,
            dynamics_lr=0 if self.dynamics_lr is None else self.dynamics_lr,
            weight_decay=self.weight_decay,
            warmup_epochs=self.warmup_epochs,
            offset_noise=self.offset_noise,
        )
        if self.schedule == "s5":
            s5_schedule(1, self.epochs, self.warmup_epochs)  # it refuses some warm-ups


@dataclass(frozen=True)
class RunSettings:
    """Everything that decides how a run turns out, on one machine."""

    task: str
    preset: str | None = None
    data: str | None = None
    columns: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    model: ModelSettings = field(default_factory=ModelSettings)
    training: TrainingSettings = field(default_factory=TrainingSettings)

    def __post_init__(self) -> None:
        if not isinstance(self.seed, int) or self.seed < 0:
            raise ValueError(f"seed must be a whole number from 0 up, got {self.seed!r}")
        if not isinstance(self.columns, dict):
            raise TypeError(f"columns must hold names, such as `label: y`, got {self.columns!r}")
        if self.columns and self.task not in OWN:
            raise ValueError(f"columns: the task {self.task!r} reads no table of yours; leave out")

    @classmethod
    def from_dict(cls, settings: Mapping[str, Any]) -> "RunSettings":
        """Build from nested mappings, as `to_dict` returns them. ValueError: a wrong key, no task."""
        check_keys(settings)
        if "task" not in settings:
            raise ValueError("names no task; is it empty or cut short?")
        values = dict(settings)
        for key, group in GROUPS.items():
            values[key] = group(**values.get(key, {}))
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


GROUPS: dict[str, Any] = {"model": ModelSettings, "training": TrainingSettings}


def check_keys(settings: Any) -> None:
    """Raise an error for the first key that is no setting, naming the nearest that is."""
    if not isinstance(settings, Mapping):
        raise TypeError(f"must hold settings such as `seed: 1`, got {settings!r}")
    flat = {}
    for key, value in settings.items():
        if key not in GROUPS:
            flat[key] = value
        elif isinstance(value, Mapping):
            flat |= {f"{key}.{below}": each for below, each in value.items()}
        else:
            raise ValueError(f"{key} must hold settings, got {value!r}")
    defaults = {f.name: f.default for f in fields(RunSettings)}
    for key, group in GROUPS.items():
        defaults |= {f"{key}.{f.name}": f.default for f in fields(group)}
    for name, value in flat.items():
        if name not in defaults:
            near = difflib.get_close_matches(name, defaults, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"there is no setting {name!r}{hint}")
        if value is None and defaults[name] is not None:
            raise ValueError(f"{name} must have a value, got none")


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return `base` with the values of `over` laid over it, mapping by mapping."""
    result = dict(base)
    for key, value in over.items():
        below = result.get(key)
        if isinstance(value, Mapping) and isinstance(below, Mapping):
            value = merged(below, value)
        result[key] = value
    return result


def laid_over(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Lay the settings `over` over `base`. Another layer starts from its own options."""
    result = merged(base, over)
    chosen = over.get("model", {})
    if chosen.get("layer", result["model"]["layer"]) != base["model"]["layer"]:
        result["model"]["layer_options"] = chosen.get("layer_options", {})
    return result


def _at_least(minimum: int, **values: Any) -> None:
    for name, value in values.items():
        number = isinstance(value, (int, float)) and math.isfinite(value)
        if not (number and value >= minimum):
            raise ValueError(f"training.{name} must be a number from {minimum} up, got {value!r}")
