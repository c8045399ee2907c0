"""S4: one diagonal-plus-low-rank system per feature, started as HiPPO itself.

Gu, Goel, Ré 2022, "Efficiently Modeling Long Sequences with Structured State Spaces".
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
from eigenstate.ops.cauchy import cauchy_response
from eigenstate.ops.convolution import align_right, causal_convolution
from eigenstate.ops.dense import dense_free_response, dense_past, dense_power, dense_response
from eigenstate.ops.dplr import dplr_dense, dplr_step
from eigenstate.ops.feedthrough import add_feedthrough
from eigenstate.ops.steps import Steps
from eigenstate.systems import initialize
from eigenstate.systems.eager import full_precision
from eigenstate.systems.low_rank import dplr

MEASURES = ("legs", "legt", "fout")
KERNELS = ("powers", "cauchy")


@dataclass(frozen=True)
class S4Options:
    """What is seldom changed about an S4 layer.

    measure: the HiPPO matrix to start as, "legs" (rank 1), "legt" (rank 2) or "fout" (rank 1).
    kernel: how the impulse response is formed, by "powers" of the discretised matrix or by the
    paper's "cauchy" sums at the roots of unity; the numbers are the same.
    stability: as for S5; it holds for the diagonal part, from which the low rank only takes away.
    """

    measure: Literal["legs", "legt", "fout"] = "legs"
    kernel: Literal["powers", "cauchy"] = "powers"
    stability: Literal["exp", "clip", "free"] = "exp"

    def __post_init__(self) -> None:
        check_choice("measure", self.measure, MEASURES)
        check_choice("kernel", self.kernel, KERNELS)
        check_choice("stability", self.stability, STABILITIES)


class S4(SequenceLayer):
    """The S4 layer: feature h has a system A = diag(λ) - Σ_r p_r p_r^* of its own.

    x_k = Ā x_(k-1) + B̄ u_k[h],  y_k[h] = 2 Re(C x_k) + D_h u_k[h], discretised by the bilinear
    rule. No parameter depends on a length: C is stored itself, never C (I - Ā^L).

    A whole sequence is a convolution by FFT. A carried state adds its free response, and the state
    left behind is gathered in pieces of time, both by powers of the dense Ā, since LegS itself has
    no eigenbasis that numbers could carry. Where samples differ in `dt` or reset, the layer steps
    through time one sample after the other: exact, and slower.

    d_model: features H. d_state: the real size N of each feature's state; N / 2 modes are stored.

    Parameters, all real: spectrum.poles (2, H, P), spectrum.log_timescale (H, 1), P (2, R, H, P),
    B and C (2, H, P), C_reverse like C when bidirectional, D (H,). The state is (B, 2, H, P).
    Source: S4 paper, sections 2 and 3.
    """

    def __init__(
        self,
        d_model: int,
        d_state: int = 64,
        *,
        bidirectional: bool = False,
        dt_min: float = 1e-3,
        dt_max: float = 1e-1,
        options: S4Options | None = None,
    ) -> None:
        super().__init__()
        options = S4Options() if options is None else options
        check_options(options, S4Options)
        check_sizes(d_model, d_state, 1, halves=True)
        check_flag("bidirectional", bidirectional)
        check_timescales(dt_min, dt_max)
        self.d_model, self.d_state, self.bidirectional = d_model, d_state, bidirectional
        self.options = options

        start = dplr(options.measure, d_state)
        self.spectrum = Spectrum(
            _half(start.poles, d_model),
            initialize.log_timescales(d_model, dt_min, dt_max).unsqueeze(-1),
            discretization="bilinear",
            stability=options.stability,
        )
        dtype = torch.get_default_dtype()
        self.P = nn.Parameter(_half(start.P, d_model).to(dtype))  # (2, R, H, P)
        self.B = nn.Parameter(_half(start.B, d_model).to(dtype))  # (2, H, P)
        draw = (2, d_model, d_state // 2)
        self.C = nn.Parameter(torch.randn(draw, dtype=dtype) * 0.5**0.5)
        if bidirectional:
            self.C_reverse = nn.Parameter(torch.randn(draw, dtype=dtype) * 0.5**0.5)
        self.D = nn.Parameter(initialize.feedthrough(d_model).to(dtype))

    def _forward(
        self, u: Tensor, state: Tensor | None, scale: Tensor | float | None, steps: Steps
    ) -> tuple[Tensor, Tensor | None]:
        alike = steps.dt is None and steps.resets is None
        with full_precision(u.device):
            y, final = (self._convolve if alike else self._loop)(u, state, scale, steps)
            y = add_feedthrough(y, self.D.to(u.dtype), u)
        return y, None if self.bidirectional else final

    def _convolve(
        self, u: Tensor, state: Tensor | None, scale: Tensor | float | None, steps: Steps
    ) -> tuple[Tensor, Tensor | None]:
        length = u.shape[1]
        A, b = self._dense(scale)
        y = causal_convolution(u, self._response(self.C, A, b, scale, length))
        if self.bidirectional:
            against = self._response(self.C_reverse, A, b, scale, length)
            return y + causal_convolution(u.flip(1), against).flip(1), None
        count, past = length, u
        if steps.valid is not None:
            count = steps.valid.sum(1)
            past = align_right(u, count)
        final = dense_past(past, A, b)  # (B, H, N)
        if state is not None:
            vector = state.transpose(1, 2).flatten(-2)  # (B, H, N)
            final = final + dense_power(A, vector, count, length)
            free = dense_free_response(A, _row(self.C).to(A.dtype), vector, length)  # (B, H, L)
            y = y + free.transpose(1, 2).to(u.dtype)
        return y, final.unflatten(-1, (2, -1)).transpose(1, 2)

    def _loop(
        self, u: Tensor, state: Tensor | None, scale: Tensor | float | None, steps: Steps
    ) -> tuple[Tensor, Tensor]:
        x, final = self._trajectory(u, state, scale, steps, reverse=False)
        y = self._read_out(self.C, x)
        if self.bidirectional:
            x, _ = self._trajectory(u, state, scale, steps.backward(), reverse=True)
            y = y + self._read_out(self.C_reverse, x)
        return y.to(u.dtype), final

    def _trajectory(
        self,
        u: Tensor,
        state: Tensor | None,
        scale: Tensor | float | None,
        steps: Steps,
        reverse: bool,
    ) -> tuple[Tensor, Tensor]:
        """Every state by the Woodbury step: (B, L, 2, H, P) and the last, both wide."""
        x = self.initial_state(u.shape[0]) if state is None else state
        rates, low_rank, b = self._wide(scale)[1:]
        states, length = [], u.shape[1]
        for k in reversed(range(length)) if reverse else range(length):
            step = self._step_size(scale if steps.dt is None else steps.dt[:, k])
            before = x
            if steps.resets is not None:
                x = torch.where(steps.resets[:, k, None, None, None], 0.0, x)
            x = dplr_step(x, b * u[:, k, None, :, None], step, rates, low_rank)
            if steps.valid is not None:
                x = torch.where(steps.valid[:, k, None, None, None], x, before)
            states.append(x)
        if not states:
            return x.new_zeros((u.shape[0], 0, *self.state_shape)), x.clone()
        return torch.stack(states[::-1] if reverse else states, 1), x

    def _states(
        self, u: Tensor, state: Tensor | None, scale: Tensor | float | None, steps: Steps
    ) -> Tensor:
        return self._trajectory(u, state, scale, steps, reverse=False)[0].to(u.dtype)

    def _step(self, u: Tensor, state: Tensor, dt: Tensor | float | None) -> tuple[Tensor, Tensor]:
        _, rates, low_rank, b = self._wide(None)
        driven = b * u[:, None, :, None]
        state = dplr_step(state, driven, self._step_size(dt), rates, low_rank)
        y = self._read_out(self.C, state).to(u.dtype)
        return add_feedthrough(y, self.D.to(u.dtype), u), state

    def _impulse_response(self, length: int) -> Tensor:
        """(length, H)."""
        A, b = self._dense(None)
        response = self._response(self.C, A, b, None, length)
        first = self.D.to(response.dtype)
        if self.bidirectional:  # against time, an impulse at sample 0 shows at sample 0 alone
            first = first + (_row(self.C_reverse).to(b.dtype) * b).sum(-1)
        response = torch.cat((response[:, :1] + first.unsqueeze(1), response[:, 1:]), 1)
        return response.T.to(self._precision())

    def _response(
        self, matrix: Tensor, A: Tensor, b: Tensor, scale: Tensor | float | None, length: int
    ) -> Tensor:
        """The response (H, length) read out by one C."""
        c = _row(matrix).to(A.dtype)
        if self.options.kernel == "powers":
            return dense_response(A, b, c, length)
        # C~ = C (I - Ā^L), formed anew for each call and stored nowhere.
        row = c.unsqueeze(0)  # (1, H, N)
        rest = c - dense_power(A.transpose(1, 2), row, length, length).squeeze(0)
        rest = rest.unflatten(-1, (2, -1)).transpose(0, 1)  # (2, H, P): 2 Re c, -2 Im c
        signs = torch.tensor([0.5, -0.5], dtype=c.dtype, device=c.device)[:, None, None]
        return cauchy_response(*self._wide(scale), rest * signs, length)

    def _dense(self, scale: Tensor | float | None) -> tuple[Tensor, Tensor]:
        """Ā (H, N, N) and B̄ (H, N), wide."""
        return dplr_dense(*self._wide(scale))

    def _wide(self, scale: Tensor | float | None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Step (H,), rates (2, H, P), low rank (2, R, H, P) and B (2, H, P), wide."""
        rates = self.spectrum.rates().unflatten(-1, self.spectrum.modes)
        return self._step_size(scale), rates, self.P.to(rates.dtype), self.B.to(rates.dtype)

    def _step_size(self, dt: Tensor | float | None) -> Tensor:
        """Δ dt: (H,), or (B, H) for dt (B,)."""
        timescale = self.spectrum.timescale().unflatten(-1, self.spectrum.modes)[:, 0]
        if dt is None:
            return timescale
        return dt.unsqueeze(-1) * timescale if isinstance(dt, Tensor) else dt * timescale

    def _read_out(self, matrix: Tensor, x: Tensor) -> Tensor:
        """2 Re(C x): (2, H, P) and (..., 2, H, P) -> (..., H)."""
        re, im = (matrix.to(x.dtype) * x).unbind(-3)
        return 2 * (re - im).sum(-1)

    def extra_repr(self) -> str:
        return (
            f"{self.d_model}, d_state={self.d_state}, bidirectional={self.bidirectional}, "
            f"{self.options}"
        )


def _row(matrix: Tensor) -> Tensor:
    """C (2, H, P) as the real row (H, N) that takes 2 Re(C x) of (Re x, Im x)."""
    re, im = matrix.unbind(0)
    return 2 * torch.cat((re, -im), -1)


def _half(values, d_model: int) -> Tensor:
    """The first of each conjugate pair, (..., N) -> planes (2, ..., H, P), for every feature."""
    half = torch.from_numpy(values[..., : values.shape[-1] // 2])
    planes = torch.stack((half.real, half.imag)).unsqueeze(-2)
    return planes.repeat(*(1,) * (planes.dim() - 2), d_model, 1)
