"""One block around a sequence layer, residual or not."""

from torch import Tensor, nn

from eigenstate.layers.base import SequenceLayer
from eigenstate.layers.checks import check_flag, check_options
from eigenstate.models.activation import Activation
from eigenstate.models.checks import check_samples, check_sequences, without_pads
from eigenstate.models.dropout import StochasticDepth
from eigenstate.models.norm import SequenceBatchNorm, SequenceLayerNorm
from eigenstate.models.options import BlockOptions


class Block(nn.Module):
    """norm -> layer -> activation (with dropout) -> + skip; the norm comes last if not `prenorm`.

    With `BlockOptions(skip=False)` it is layer -> norm -> activation, whatever `prenorm` says.
    u, y (B, L, H) as for the layer inside, whose state is the block's. LayerNorm looks at one
    sample at a time, so a block streams wherever its layer does; with BatchNorm it does so in
    evaluation. `activation` is one of gelu, full_glu, half_glu1, half_glu2.
    Source of the order: the S5 paper's official code.
    """

    def __init__(
        self,
        layer: SequenceLayer,
        *,
        activation: str = "half_glu1",
        dropout: float = 0.0,
        prenorm: bool = True,
        options: BlockOptions | None = None,
    ) -> None:
        super().__init__()
        options = BlockOptions() if options is None else options
        check_options(options, BlockOptions)
        check_flag("prenorm", prenorm)
        self.d_model = layer.d_model
        self.prenorm = prenorm
        self.norm_first = prenorm and options.skip
        self.options = options
        if options.norm == "batch":
            self.norm = SequenceBatchNorm(
                layer.d_model, eps=options.norm_eps, momentum=options.norm_momentum
            )
        else:
            self.norm = SequenceLayerNorm(layer.d_model, eps=options.norm_eps)
        self.layer = layer
        self.activation = Activation(layer.d_model, activation, dropout=dropout, options=options)
        self.depth = StochasticDepth(options.stochastic_depth)

    @property
    def bidirectional(self) -> bool:
        return self.layer.bidirectional

    def initial_state(self, batch_size: int) -> Tensor:
        """Return the layer's state before any sample."""
        return self.layer.initial_state(batch_size)

    def forward(
        self,
        u: Tensor,
        state: Tensor | None = None,
        *,
        dt: Tensor | float | None = None,
        resets: Tensor | None = None,
        lengths: Tensor | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Return y (B, L, H), zeros past each row's length, and the layer's state."""
        check_sequences(u, self.d_model, self.norm.weight, lengths)
        if self.options.padding == "invariant":
            u = without_pads(u, lengths)
        y, state = self._forward(u, state, dt, resets, lengths)
        return without_pads(y, lengths), state

    def step(
        self, u_k: Tensor, state: Tensor | None, *, dt: Tensor | float | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return y_k (B, H) for one more sample u_k (B, H), and the next state."""
        check_samples(u_k, self.d_model, self.norm.weight)
        x, state = self.layer.step(self.norm(u_k) if self.norm_first else u_k, state, dt=dt)
        return self._combine(u_k, x, None), state

    def _forward(self, u, state, dt, resets, lengths) -> tuple[Tensor, Tensor | None]:
        """As forward, on pads that are finite already; what comes out there is not cleared."""
        inner = lengths if self.options.padding == "invariant" else None
        if self.training and isinstance(self.norm, SequenceBatchNorm):
            # Whatever the layer will refuse must not have moved the running statistics before.
            self.layer._check(u, state, dt, resets, inner)
        x = self.norm(u, inner) if self.norm_first else u
        x, state = self.layer(x, state, dt=dt, resets=resets, lengths=inner)
        return self._combine(u, x, inner), state if inner is lengths else None

    def _combine(self, u: Tensor, x: Tensor, lengths: Tensor | None) -> Tensor:
        if not self.options.skip:
            return self.activation(self.norm(x, lengths))
        y = u + self.depth(self.activation(x))
        return y if self.prenorm else self.norm(y, lengths)
