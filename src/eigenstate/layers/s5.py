"""S5: one multi-input, multi-output state, diagonal dynamics, a scan.

Smith, Warrington, Linderman 2023, "Simplified State Space Layers for Sequence Modeling".
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from eigenstate.layers.base import SequenceLayer
from eigenstate.layers.checks import (
    check_choice,
    check_flag,
    check_options,
    check_sizes,
    check_timescales,
)
from eigenstate.layers.spectrum import STABILITIES, Spectrum
from eigenstate.ops.feedthrough import add_feedthrough
from eigenstate.ops.ragged import to_end, to_start
from eigenstate.ops.scan import scan_planes
from eigenstate.ops.selection import System, resolve_system
from eigenstate.ops.steps import Steps
from eigenstate.ops.varying import masked_scan, timed_scan
from eigenstate.systems import initialize
from eigenstate.systems.discretize import RULES, zoh
from eigenstate.systems.eager import full_precision, in_memory, readable, transformed
from eigenstate.systems.planes import multiply

TIMESCALES = ("per_mode", "scalar")


@dataclass(frozen=True)
class S5Options:
    """What is seldom changed about an S5 layer.

    conjugate: store one of each conjugate pair of modes, which halves state and work.
    c_init: the published start of C, "trunc_standard_normal", "lecun_normal" or "complex_normal".
    stability: "exp" keeps |a| <= 1 for any parameter value, "clip" is the published `clip_eigs`,
    "free" the published default, which nothing keeps from growing.
    timescale: "per_mode", or "scalar" for one Δ shared by all modes (the paper's Table 5).
    init: the state matrix before it is made diagonal: "hippo" is HiPPO-N; "antisymmetric" and
    "random" are what the paper's ablations compare it with (`systems.initialize.start`).
    """

    conjugate: bool = True
    c_init: Literal["trunc_standard_normal", "lecun_normal", "complex_normal"] = (
        "trunc_standard_normal"
    )
    stability: Literal["exp", "clip", "free"] = "exp"
    timescale: Literal["per_mode", "scalar"] = "per_mode"
    init: Literal["hippo", "antisymmetric", "random"] = "hippo"

    def __post_init__(self) -> None:
        check_choice("init", self.init, initialize.STARTS)
        check_choice("c_init", self.c_init, initialize.C_RULES)
        check_choice("stability", self.stability, STABILITIES)
        check_choice("timescale", self.timescale, TIMESCALES)
        check_flag("conjugate", self.conjugate)


class S5(SequenceLayer):
    """The S5 layer.

    x_k = a ∘ x_(k-1) + gain ∘ (B u_k),  y_k = 2 Re(C x_k) + D ∘ u_k, with a and gain from λ, Δ and
    the interval by zero-order hold or the bilinear rule; without conjugate halves the factor 2
    goes. A bidirectional layer adds a scan against time with the same dynamics and B and its own C.

    discretization "none" is the paper's ablation without Δ: the poles are the multipliers a, and
    B u_k enters as it is. Such a layer starts as the same one with ZOH and takes no dt.

    d_model: features H. d_state: the real size of the state; P = d_state / 2 modes are stored, or
    d_state without conjugate halves. blocks: equal blocks the poles start in. dt_min,
    dt_max: the range the timescales Δ start in.

    Parameters, all real: spectrum.poles (2, P), spectrum.log_timescale, B (2, P, H), C (H, 2, P),
    C_reverse like C when bidirectional, D (H,). The state is (B, 2, P), real and imaginary parts.

    Raises ValueError or TypeError for sizes that do not fit. Source: S5 paper, sections 3 and 4.
    """

    def __init__(
        self,
        d_model: int,
        d_state: int = 64,
        *,
        blocks: int = 1,
        bidirectional: bool = False,
        discretization: Literal["zoh", "bilinear", "none"] = "zoh",
        dt_min: float = 1e-3,
        dt_max: float = 1e-1,
        options: S5Options | None = None,
    ) -> None:
        super().__init__()
        options = S5Options() if options is None else options
        check_options(options, S5Options)
        check_sizes(d_model, d_state, blocks, options.conjugate)
        check_flag("bidirectional", bidirectional)
        check_choice("discretization", discretization, (*RULES, "none"))
        check_timescales(dt_min, dt_max)
        self.d_model, self.d_state, self.blocks = d_model, d_state, blocks
        self.bidirectional = bidirectional
        self.options = options

        # Sections 4.2 and 4.3: HiPPO-N poles in blocks, B and C turned into their eigenbasis.
        start = initialize.start(options.init, d_state, blocks, options.conjugate)
        timescales = 1 if options.timescale == "scalar" else start.poles.shape[1]
        log_timescale = initialize.log_timescales(timescales, dt_min, dt_max)
        self.spectrum = Spectrum(
            start.poles,
            log_timescale,
            discretization=discretization,
            stability=options.stability,
        )
        b = initialize.input_matrix(start, d_model)  # (2, P, H)
        self.B = _parameter(_held(start.poles, log_timescale, b) if discretization == "none" else b)
        self.C = _parameter(initialize.output_matrix(start, d_model, options.c_init))  # (H, 2, P)
        if bidirectional:
            self.C_reverse = _parameter(initialize.output_matrix(start, d_model, options.c_init))
        self.D = _parameter(initialize.feedthrough(d_model))  # (H,)

    def _forward(
        self, u: Tensor, state: Tensor | None, scale: Tensor | float | None, steps: Steps
    ) -> tuple[Tensor, Tensor | None]:
        if steps.only_pads and readable(u):
            # Pads are zeros, and masks would cost more than the scan.
            if self.bidirectional and self.options.stability != "free":
                steps = Steps()  # neither direction carries anything from them to a sample
            elif not self.bidirectional and state is None:
                lengths = steps.lengths()
                y, final = self._forward(to_end(u, lengths), None, scale, Steps())
                return to_start(y, lengths), final
        with full_precision(u.device):
            if steps.constant and not (self.bidirectional or transformed()) and in_memory(u):
                run = resolve_system(u.device)
                if run is not None:
                    return self._run_at_once(run, u, state, scale)
            (x, final), *backward = self._scans(u, state, scale, steps)
            y = self._read_out(self.C, x)
            for x_reverse, _ in backward:
                y = y + self._read_out(self.C_reverse, x_reverse)
            y = add_feedthrough(y, self.D.to(u.dtype), u)
        return y, None if self.bidirectional else final

    def _run_at_once(
        self, run: System, u: Tensor, state: Tensor | None, scale: Tensor | float | None
    ) -> tuple[Tensor, Tensor]:
        """The same numbers as part by part, without memory for what lies between the parts."""
        state = self.initial_state(u.shape[0]) if state is None else state
        a, gain = self.spectrum.discretize(scale)
        b = multiply(gain.unsqueeze(-1), self.B, dim=0).flatten(0, 1).to(u.dtype)  # (2P, H)
        return run(u, a, b, self._signed(self.C.to(u.dtype)), self.D.to(u.dtype), state)

    def _states(
        self, u: Tensor, state: Tensor | None, scale: Tensor | float | None, steps: Steps
    ) -> Tensor:
        with full_precision(u.device):
            ((states, _),) = self._scans(u, state, scale, steps)
        return states

    def _scans(
        self, u: Tensor, state: Tensor | None, scale: Tensor | float | None, steps: Steps
    ) -> Iterator[tuple[Tensor, Tensor]]:
        """Trajectory and final state with time and, if bidirectional, against it."""
        state = self.initial_state(u.shape[0]) if state is None else state
        directions = (False, True) if self.bidirectional else (False,)
        if steps.dt is not None:
            rates, timescale = self.spectrum.rates(), self.spectrum.timescale()
            v = self._project(self.B, u)
            for reverse in directions:
                facts = steps.backward() if reverse else steps
                yield timed_scan(self.spectrum.rule, rates, timescale, v, state, facts, reverse)
            return
        a, gain = self.spectrum.discretize(scale)  # (2, P)
        b = self._project(multiply(gain.unsqueeze(-1), self.B, dim=0), u)
        for reverse in directions:
            if steps.constant:
                last = reverse or not self.bidirectional
                yield scan_planes(a[None, None], b, state, reverse=reverse, overwrite=last)
            else:
                facts = steps.backward() if reverse else steps
                yield masked_scan(a, b, state, facts, reverse)

    def _step(self, u: Tensor, state: Tensor, dt: Tensor | float | None) -> tuple[Tensor, Tensor]:
        with full_precision(u.device):
            a, gain = self.spectrum.discretize(dt)  # (2, P) or (B, 2, P)
            if a.dim() == 2:
                b = self._project(multiply(gain.unsqueeze(-1), self.B, dim=0), u)
            else:
                b = multiply(gain, self._project(self.B, u))
            state = multiply(a, state) + b
            y = self._read_out(self.C, state.to(u.dtype))
            return add_feedthrough(y, self.D.to(u.dtype), u), state

    def _project(self, matrix: Tensor, u: Tensor) -> Tensor:
        """(2, P, H) times (..., H) -> (..., 2, P): one real product."""
        return F.linear(u, matrix.flatten(0, 1).to(u.dtype)).unflatten(-1, (2, -1))

    def _read_out(self, matrix: Tensor, x: Tensor) -> Tensor:
        """Re(C x), twice for conjugate halves: (H, 2, P) times (..., 2, P) -> (..., H)."""
        return F.linear(x.flatten(-2), self._signed(matrix.to(x.dtype)))

    def _signed(self, matrix: Tensor) -> Tensor:
        """C (..., H, 2, P) as the plain matrix (..., H, 2P) that takes the real part of C x."""
        factor = 2.0 if self.options.conjugate else 1.0
        signs = torch.tensor([[factor], [-factor]], dtype=matrix.dtype, device=matrix.device)
        return (matrix * signs).flatten(-2)

    def _impulse_response(self, length: int) -> Tensor:
        """(length, H, H), indexed by time, output, input: 2 Re(C a^k gain B), D on the diagonal."""
        a, gain = self.spectrum.discretize()
        b = multiply(gain.unsqueeze(-1), self.B, dim=0).flatten(0, 1)  # (2P, H)
        one = torch.zeros_like(a)
        one[0] = 1.0
        nothing = a.new_zeros(1, length - 1, *a.shape)
        powers, _ = scan_planes(a[None, None], nothing, one[None])
        powers = torch.cat((one[None], powers[0])).unsqueeze(1)  # (L, 1, 2, P)
        wide_c = self.C.to(a.dtype)
        response = self._signed(multiply(wide_c, powers)) @ b  # (L, H, 2P) @ (2P, H)
        first = torch.diag(self.D.to(a.dtype))
        if self.bidirectional:  # against time, an impulse at sample 0 shows at sample 0 alone
            first = first + self._signed(self.C_reverse.to(a.dtype)) @ b
        response = torch.cat(((response[0] + first).unsqueeze(0), response[1:]))
        return response.to(self._precision())

    def extra_repr(self) -> str:
        return (
            f"{self.d_model}, d_state={self.d_state}, blocks={self.blocks}, "
            f"bidirectional={self.bidirectional}, {self.options}"
        )


def _held(poles: Tensor, log_timescale: Tensor, b: Tensor) -> Tensor:
    """What ZOH makes of B (2, P, H)."""
    _, gain = zoh(poles, log_timescale.exp().expand(poles.shape[1]))
    return multiply(gain.unsqueeze(-1), b, dim=0)


def _parameter(value: Tensor) -> nn.Parameter:
    return nn.Parameter(value.to(torch.get_default_dtype()))
