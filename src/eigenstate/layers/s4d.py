"""S4D: one single-input, single-output diagonal system per feature.

Gu, Gupta, Goel, Ré 2022, "On the Parameterization and Initialization of Diagonal State Space
Models".
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from eigenstate.layers.base import SequenceLayer
from eigenstate.layers.checks import (
    check_choice,
    check_flag,
    check_options,
    check_sizes,
    check_timescales,
)
from eigenstate.layers.spectrum import STABILITIES, Spectrum
from eigenstate.ops.convolution import align_right, causal_convolution
from eigenstate.ops.feedthrough import add_feedthrough
from eigenstate.ops.response import power, power_sums, weighted_past
from eigenstate.ops.scan import scan_planes
from eigenstate.ops.steps import Steps
from eigenstate.ops.varying import in_tiles, select
from eigenstate.systems import diagonal, initialize
from eigenstate.systems.discretize import RULES
from eigenstate.systems.eager import full_precision
from eigenstate.systems.planes import multiply

EVALUATIONS = ("auto", "convolution", "scan")


@dataclass(frozen=True)
class S4DOptions:
    """What is seldom changed about an S4D layer.

    init: where the poles start: "legs" (the eigenvalues of HiPPO-N), "lin" (-1/2 + iπn), "inv" (the
    inverse law that approximates them), "real" (-(n+1), which stay real) or "random".
    trainable_b: whether B is learned; C alone can express the same.
    stability: as for S5. evaluation: "convolution" by FFT, "scan", or "auto".
    """

    init: Literal["legs", "lin", "inv", "real", "random"] = "legs"
    trainable_b: bool = True
    stability: Literal["exp", "clip", "free"] = "exp"
    evaluation: Literal["auto", "convolution", "scan"] = "auto"

    def __post_init__(self) -> None:
        check_choice("init", self.init, diagonal.RULES)
        check_choice("stability", self.stability, STABILITIES)
        check_choice("evaluation", self.evaluation, EVALUATIONS)
        check_flag("trainable_b", self.trainable_b)


class S4D(SequenceLayer):
    """The S4D layer: feature h has a diagonal system of its own, with one timescale Δ_h.

    x_k = a ∘ x_(k-1) + gain ∘ B u_k[h],  y_k[h] = 2 Re Σ_p C_p x_k,p + D_h u_k[h]; a real system
    has no factor 2. Evaluated as a convolution with its impulse response by FFT, whatever the
    carried state, or as a scan where samples differ in `dt` or reset; both give the same numbers.
    Features are not mixed: the block around the layer does that.

    d_model: features H. d_state: the real size N of each feature's state; N / 2 modes are stored,
    or N for init="real". dt_min, dt_max: the range the timescales start in.

    Parameters, all real: spectrum.poles (2, H, P), spectrum.log_timescale (H, 1), B and C
    (2, H, P), C_reverse like C when bidirectional, D (H,). The state is (B, 2, H, P).
    Source: S4D paper, sections 3 and 4.
    """

    def __init__(
        self,
        d_model: int,
        d_state: int = 64,
        *,
        bidirectional: bool = False,
        discretization: Literal["zoh", "bilinear"] = "zoh",
        dt_min: float = 1e-3,
        dt_max: float = 1e-1,
        options: S4DOptions | None = None,
    ) -> None:
        super().__init__()
        options = S4DOptions() if options is None else options
        check_options(options, S4DOptions)
        check_sizes(d_model, d_state, 1, halves=options.init != "real")
        check_flag("bidirectional", bidirectional)
        check_choice("discretization", discretization, RULES)
        check_timescales(dt_min, dt_max)
        self.d_model, self.d_state, self.bidirectional = d_model, d_state, bidirectional
        self.options = options

        shape = (options.init, d_state, d_model)
        self.spectrum = Spectrum(
            diagonal.diagonal_poles(*shape),
            initialize.log_timescales(d_model, dt_min, dt_max).unsqueeze(-1),
            discretization=discretization,
            stability=options.stability,
        )
        dtype = torch.get_default_dtype()
        b = diagonal.diagonal_input(*shape).to(dtype)
        self.B = nn.Parameter(b, requires_grad=options.trainable_b)
        self.C = nn.Parameter(diagonal.diagonal_output(*shape).to(dtype))
        if bidirectional:
            self.C_reverse = nn.Parameter(diagonal.diagonal_output(*shape).to(dtype))
        self.D = nn.Parameter(initialize.feedthrough(d_model).to(dtype))

    def _forward(
        self, u: Tensor, state: Tensor | None, scale: Tensor | float | None, steps: Steps
    ) -> tuple[Tensor, Tensor | None]:
        alike = steps.dt is None and steps.resets is None
        evaluation = self.options.evaluation
        if evaluation == "convolution" and not alike:
            raise ValueError(
                "evaluation='convolution' needs every sample alike: dt may be one number and "
                "resets must be None; use evaluation='auto' or 'scan'"
            )
        run = self._convolve if alike and evaluation != "scan" else self._scan
        with full_precision(u.device):
            y, final = run(u, state, scale, steps)
            y = add_feedthrough(y, self.D.to(u.dtype), u)
        return y, None if self.bidirectional else final

    def _convolve(
        self, u: Tensor, state: Tensor | None, scale: Tensor | float | None, steps: Steps
    ) -> tuple[Tensor, Tensor | None]:
        """By the impulse response; a carried state adds its own free response."""
        length = u.shape[1]
        a, b = self._system(scale)  # (H, 2, P)
        c = self._readout(self.C).transpose(0, 1)  # (H, 2, P)
        y = causal_convolution(u, power_sums(multiply(c, b), a, length))
        if self.bidirectional:
            c = self._readout(self.C_reverse).transpose(0, 1)
            against = power_sums(multiply(c, b), a, length)
            return y + causal_convolution(u.flip(1), against).flip(1), None
        count, past = length, u
        if steps.valid is not None:
            count = steps.valid.sum(1)
            past = align_right(u, count)
            count = count.reshape(-1, 1, 1, 1)
        final = multiply(b, weighted_past(past, a))  # (B, H, 2, P)
        if state is not None:
            state = state.transpose(1, 2)  # (B, H, 2, P)
            final = final + multiply(power(a, count, length), state)
            free = power_sums(multiply(multiply(c, a), state), a, length)  # (B, H, L)
            y = y + free.transpose(1, 2).to(u.dtype)
        return y, final.transpose(1, 2)

    def _scan(
        self, u: Tensor, state: Tensor | None, scale: Tensor | float | None, steps: Steps
    ) -> tuple[Tensor, Tensor | None]:
        """Sample by sample, in tiles of time so that the states need not be kept."""
        state = self.initial_state(u.shape[0]) if state is None else state
        rates, timescale = self.spectrum.rates(), self._scaled_timescale(scale)
        matrices = self.B.to(rates.dtype).flatten(1), self._readout(self.C)
        carried = state.flatten(-2)  # (B, 2, H P)

        def run(c: Tensor, facts: Steps, reverse: bool) -> tuple[Tensor, Tensor]:
            parameters = (rates, timescale, matrices[0], c)
            tile = self._tile(reverse)
            return in_tiles(tile, u, carried, facts, parameters, reverse, rates.shape[1])

        y, final = run(matrices[1], steps, False)
        if self.bidirectional:
            y = y + run(self._readout(self.C_reverse), steps.backward(), True)[0]
        return y, final.unflatten(-1, self.spectrum.modes)

    def _tile(self, reverse: bool):
        def tile(u, state, dt, resets, valid, rates, timescale, b, c):
            x, state = self._trajectory(u, state, dt, resets, valid, rates, timescale, b, reverse)
            # Re Σ_p c_p x_p for each feature: (B, T, 2, H, P) -> (B, T, H).
            signs = torch.tensor([[[1.0]], [[-1.0]]], dtype=x.dtype, device=x.device)
            y = (x.unflatten(-1, c.shape[1:]) * (c.to(x.dtype) * signs)).sum((-3, -1))
            return y, state

        return tile

    def _trajectory(self, u, state, dt, resets, valid, rates, timescale, b, reverse):
        step = timescale if dt is None else dt.unsqueeze(-1) * timescale
        a, gain = self.spectrum.rule(rates, step)  # (2, H P) or (B, T, 2, H P)
        wide_u = u.repeat_interleave(self.spectrum.modes[-1], -1).unsqueeze(-2)
        driven = multiply(gain, b).to(u.dtype) * wide_u  # (B, T, 2, H P)
        a = select(a, resets, valid)
        return scan_planes(a, driven, state, reverse=reverse, overwrite=True)

    def _states(
        self, u: Tensor, state: Tensor | None, scale: Tensor | float | None, steps: Steps
    ) -> Tensor:
        state = self.initial_state(u.shape[0]) if state is None else state
        rates = self.spectrum.rates()
        x, _ = self._trajectory(
            u,
            state.flatten(-2),
            steps.dt,
            steps.resets,
            steps.valid,
            rates,
            self._scaled_timescale(scale),
            self.B.to(rates.dtype).flatten(1),
            False,
        )
        return x.unflatten(-1, self.spectrum.modes)

    def _step(self, u: Tensor, state: Tensor, dt: Tensor | float | None) -> tuple[Tensor, Tensor]:
        with full_precision(u.device):
            a, gain = self.spectrum.discretize(dt)  # (..., 2, H P)
            b = multiply(gain, self.B.to(gain.dtype).flatten(1)).unflatten(-1, self.spectrum.modes)
            state = multiply(a.unflatten(-1, self.spectrum.modes), state, dim=-3)
            state = state + b * u.unsqueeze(-1).unsqueeze(1)
            y = multiply(self._readout(self.C), state, dim=-3).select(-3, 0).sum(-1).to(u.dtype)
            return add_feedthrough(y, self.D.to(u.dtype), u), state

    def _impulse_response(self, length: int) -> Tensor:
        """(length, H)."""
        a, b = self._system(None)
        response = power_sums(multiply(self._readout(self.C).transpose(0, 1), b), a, length)
        first = self.D.to(response.dtype)
        if self.bidirectional:  # against time, an impulse at sample 0 shows at sample 0 alone
            c = self._readout(self.C_reverse).transpose(0, 1)
            first = first + power_sums(multiply(c, b), a, 1)[:, 0]
        response = torch.cat((response[:, :1] + first.unsqueeze(1), response[:, 1:]), 1)
        return response.T.to(self._precision())

    def _system(self, scale: Tensor | float | None) -> tuple[Tensor, Tensor]:
        """a and gain ∘ B of one step, each (H, 2, P) and wide."""
        a, gain = self.spectrum.discretize(scale)
        b = multiply(gain, self.B.to(gain.dtype).flatten(1))
        a, b = (x.unflatten(-1, self.spectrum.modes).transpose(0, 1) for x in (a, b))
        return a, b

    def _readout(self, matrix: Tensor) -> Tensor:
        """C (2, H, P), wide, doubled where each mode stands for a conjugate pair."""
        factor = 1.0 if self.options.init == "real" else 2.0
        return matrix.to(self.spectrum.rates().dtype) * factor

    def _scaled_timescale(self, scale: Tensor | float | None) -> Tensor:
        timescale = self.spectrum.timescale()
        return timescale if scale is None else timescale * scale

    def extra_repr(self) -> str:
        return (
            f"{self.d_model}, d_state={self.d_state}, bidirectional={self.bidirectional}, "
            f"{self.options}"
        )
