"""What is seldom changed about a block."""

import math
from dataclasses import dataclass

from eigenstate.layers.checks import check_choice, check_flag
from eigenstate.models.checks import check_share

NORMS = ("layer", "batch")
GELUS = ("exact", "tanh")
PADDINGS = ("invariant", "published")


@dataclass(frozen=True)
class BlockOptions:
    """Norm, nonlinearity and padding of a block; the same for all blocks of a backbone.

    norm              "layer" (each sample by itself) or "batch" (over batch and time)
    norm_eps          added to the variance; JAX's LayerNorm has 1e-6
    norm_momentum     share of a new batch in the running statistics of "batch"
    gelu              "exact", or the "tanh" approximation that JAX uses by default
    tied_dropout      one dropout mask for a whole sequence, not one for every sample
    stochastic_depth  chance that a training row skips a block
    skip              False: a block is layer -> norm -> activation and carries nothing past the
                      layer, as the convolutions of Z. Wang et al., "Time series classification from
                      scratch with deep neural networks" (2017); better where series are few
    padding           "invariant": pads never reach norms, layers or pooling, so that a padded batch
                      gives what its rows give alone. "published": pads are samples like any other
                      until the pooling, as in the official code of the S5 paper; no state is
                      returned then when `lengths` are given, since it would be that of the pads.
    ValueError, TypeError: an unknown name, a number out of range, a value of another kind.
    """

    norm: str = "layer"
    norm_eps: float = 1e-5
    norm_momentum: float = 0.05
    gelu: str = "exact"
    tied_dropout: bool = True
    stochastic_depth: float = 0.0
    skip: bool = True
    padding: str = "invariant"

    def __post_init__(self) -> None:
        check_choice("norm", self.norm, NORMS)
        check_choice("gelu", self.gelu, GELUS)
        check_choice("padding", self.padding, PADDINGS)
        check_flag("tied_dropout", self.tied_dropout)
        check_flag("skip", self.skip)
        check_share("stochastic_depth", self.stochastic_depth)
        if self.stochastic_depth and not self.skip:
            raise ValueError(
                "stochastic_depth needs the skip connection: without one a row that skips a block "
                "is lost; leave one of the two out"
            )
        for name in ("norm_eps", "norm_momentum"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise TypeError(f"{name} must be a number, got {value!r}")
        if not 0 < self.norm_eps < math.inf:
            raise ValueError(f"norm_eps must be finite and above 0, got {self.norm_eps!r}")
        if not 0 < self.norm_momentum <= 1:
            raise ValueError(
                f"norm_momentum must be above 0 and at most 1, got {self.norm_momentum!r}; it is "
                "the share of the new batch (0.05 where JAX says 0.95)"
            )
