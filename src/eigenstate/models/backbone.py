"""A stack of blocks."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any, Self, cast

from torch import Tensor, nn

from eigenstate.layers.checks import check_choice, check_count, check_options
from eigenstate.models.block import Block
from eigenstate.models.checks import check_sequences, check_states, without_pads
from eigenstate.models.choice import LAYERS, all_options, make_layer, option_names
from eigenstate.models.options import BlockOptions
from eigenstate.models.pretrained import Pretrained, check_names

ARGUMENTS = ("d_model", "n_layers", "layer", "activation", "dropout", "prenorm")


class Backbone(Pretrained):
    """n_layers blocks, each around its own `layer`: u, y (B, L, d_model).

    `layer` is a short name ("s5") and `layer_options` that layer's own keywords, for instance
    {"d_state": 128, "bidirectional": True}; activation, dropout, prenorm and options are those of `Block`.
    The state is the list of the layers' states, first layer first.
    """

    def __init__(
        self,
        d_model: int,
        n_layers: int = 4,
        *,
        layer: str = "s5",
        layer_options: Mapping[str, Any] | None = None,
        activation: str = "half_glu1",
        dropout: float = 0.0,
        prenorm: bool = True,
        options: BlockOptions | None = None,
    ) -> None:
        super().__init__()
        check_count("n_layers", n_layers)
        self.d_model = d_model
        self.options = BlockOptions() if options is None else options
        check_options(self.options, BlockOptions)
        self._config = {
            "d_model": d_model,
            "n_layers": n_layers,
            "layer": layer,
            **all_options(layer, layer_options),
            "activation": activation,
            "dropout": dropout,
            "prenorm": prenorm,
            **asdict(self.options),
        }
        blocks = nn.ModuleList(
            Block(
                make_layer(layer, d_model, layer_options),
                activation=activation,
                dropout=dropout,
                prenorm=prenorm,
                options=self.options,
            )
            for _ in range(n_layers)
        )
        self.blocks = cast("Sequence[Block]", blocks)

    @property
    def config(self) -> dict[str, Any]:
        """What `from_config` needs: every argument, the layer's own and the options' flat."""
        return {"model": "backbone", **self._config}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """Build a backbone from a `config`. ValueError: an unknown or missing setting."""
        values = {name: value for name, value in config.items() if name != "model"}
        check_choice("layer", values.get("layer"), LAYERS)
        own = option_names(values["layer"])
        options = [field.name for field in fields(BlockOptions)]
        check_names(values, [*ARGUMENTS, *own, *options])
        return cls(
            **{name: values[name] for name in ARGUMENTS},
            layer_options={name: values[name] for name in own},
            options=BlockOptions(**{name: values[name] for name in options}),
        )

    @property
    def bidirectional(self) -> bool:
        return any(block.bidirectional for block in self.blocks)

    def initial_state(self, batch_size: int) -> list[Tensor]:
        """Return the layers' states before any sample."""
        return [block.initial_state(batch_size) for block in self.blocks]

    def forward(
        self,
        u: Tensor,
        state: Sequence[Tensor] | None = None,
        *,
        dt: Tensor | float | None = None,
        resets: Tensor | None = None,
        lengths: Tensor | None = None,
    ) -> tuple[Tensor, list[Tensor] | None]:
        """Return y (B, L, d_model), zeros past each row's length, and the states.

        A bidirectional backbone takes no state and returns None for it; `BlockOptions.padding`
        tells of another case.
        """
        check_sequences(u, self.d_model, self.blocks[0].norm.weight, lengths)
        if self.options.padding == "invariant":
            u = without_pads(u, lengths)
        y, state = self._forward(u, state, dt, resets, lengths)
        return without_pads(y, lengths), state

    def step(
        self,
        u_k: Tensor,
        state: Sequence[Tensor] | None,
        *,
        dt: Tensor | float | None = None,
    ) -> tuple[Tensor, list[Tensor]]:
        """Return y_k (B, d_model) for one more sample u_k (B, d_model), and the next states."""
        check_states(state, len(self.blocks), self.bidirectional)
        states = []
        for block, before in zip(self.blocks, state or [None] * len(self.blocks), strict=True):
            u_k, after = block.step(u_k, before, dt=dt)
            states.append(after)
        return u_k, states

    def _forward(self, u, state, dt, resets, lengths) -> tuple[Tensor, list[Tensor] | None]:
        """As forward, on pads that are finite already; what comes out there is not cleared."""
        check_states(state, len(self.blocks), self.bidirectional)
        states = []
        for block, before in zip(self.blocks, state or [None] * len(self.blocks), strict=True):
            u, after = block._forward(u, before, dt, resets, lengths)
            states.append(after)
        return u, None if states[-1] is None else states
