"""The dynamics of a diagonal layer: poles and timescales, kept in float32 or wider."""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from eigenstate.systems.discretize import RULES
from eigenstate.systems.planes import wide

STABILITIES = ("exp", "clip", "free")

# exp of anything beyond is no timescale or decay rate any more, but would overflow to a NaN.
_LOG_LIMIT = 50.0
_CLIP = -1e-4


class Spectrum(nn.Module):
    """Poles λ and timescales Δ of P modes, and their discretisation.

    The parameters keep the layer's own mode axes, poles (2, *modes) and log_timescale broadcast to
    modes; what the methods return has them flattened to P. stability says how λ is stored:
    "exp": Re λ = -exp(poles[0]), so |a| <= 1 whatever the parameter;
    "clip": Re λ = min(poles[0], -1e-4), the published `clip_eigs`; "free": as stored, which may
    grow without bound. Δ = exp(log_timescale), one per mode or one for all, with the logarithm
    held within ±50.

    With discretization "none" there is no Δ (log_timescale is None) and no λ: `poles` are the
    multipliers a, started at exp(λ Δ); as (log(-log |a|), arg a) if "exp", else as planes.

    Casts to 16 bits leave both parameters in float32: rounding a pole to bfloat16 would change
    what the layer remembers. Source: Smith et al. 2023 (S5), section 3.2 and appendix B.1.
    """

    poles: nn.Parameter
    log_timescale: nn.Parameter | None

    def __init__(
        self, poles: Tensor, log_timescale: Tensor, *, discretization: str, stability: str
    ) -> None:
        super().__init__()
        self.discretization = discretization
        self.stability = stability
        dtype = torch.promote_types(torch.get_default_dtype(), torch.float32)
        kept_log = None
        if discretization == "none":
            stored = _stored_multipliers(poles * log_timescale.exp(), stability)
        else:
            # HiPPO-LegT and FouT have undamped normal parts: "exp" has no finite logarithm there.
            re, im = poles.unbind(0)
            kept = torch.log(-re.clamp(max=_CLIP)) if stability == "exp" else re
            stored = torch.stack((kept, im))
            kept_log = nn.Parameter(log_timescale.to(dtype))
        self.poles = nn.Parameter(stored.to(dtype))  # (2, *modes)
        self.log_timescale = kept_log

    @property
    def modes(self) -> torch.Size:
        """The layer's mode axes."""
        return self.poles.shape[1:]

    @property
    def rule(self) -> Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]:
        """The discretisation as a function of poles and step."""
        return RULES[self.discretization]

    def rates(self) -> Tensor:
        """λ as planes (2, P), wide."""
        re, im = self.poles.to(wide(self.poles.device)).unbind(0)
        if self.stability == "exp":
            re = -re.clamp(max=_LOG_LIMIT).exp()
        elif self.stability == "clip":
            re = re.clamp(max=_CLIP)
        return torch.stack((re, im)).flatten(1)

    def timescale(self) -> Tensor:
        """Δ (P,), wide."""
        log = self._log_timescale().to(wide(self.poles.device))
        return log.clamp(-_LOG_LIMIT, _LOG_LIMIT).exp().expand(self.modes).flatten()

    def discretize(self, dt: Tensor | float | None = None) -> tuple[Tensor, Tensor]:
        """One step's multiplier and input gain, each (..., 2, P) for dt (...), wide."""
        if self.discretization == "none" and dt is None:
            a = self._multipliers()
            gain = torch.zeros_like(a)
            gain[0] = 1.0
            return a, gain
        timescale = self.timescale()
        if dt is not None:
            dt = torch.as_tensor(dt, dtype=timescale.dtype, device=timescale.device)
            timescale = dt.unsqueeze(-1) * timescale
        return self.rule(self.rates(), timescale)

    def _multipliers(self) -> Tensor:
        """a as planes (2, P), wide, of a spectrum without timescales."""
        stored = self.poles.to(wide(self.poles.device)).flatten(1)
        if self.stability != "exp":
            return stored
        size, angle = (-stored[0].clamp(max=_LOG_LIMIT).exp()).exp(), stored[1]
        return torch.stack((size * angle.cos(), size * angle.sin()))

    def _log_timescale(self) -> Tensor:
        if self.log_timescale is None:
            raise ValueError(
                "dt needs a layer with timescales: discretization='none' has learnt one interval "
                "alone; leave dt out, or build the layer with discretization='zoh'"
            )
        return self.log_timescale

    def check_finite(self) -> None:
        """Raise ValueError naming a parameter that holds a NaN or an infinity."""
        if math.isfinite(sum(parameter.sum().item() for parameter in self.parameters())):
            return  # a sum is finite only if every number is
        for name, parameter in self.named_parameters():
            if not parameter.isfinite().all():
                raise ValueError(
                    f"spectrum.{name} holds a NaN or an infinity; training has diverged or the "
                    "weights are damaged: go back to an earlier checkpoint"
                )

    def extra_repr(self) -> str:
        return f"modes={tuple(self.modes)}, {self.discretization}, stability={self.stability}"

    def _apply(self, fn, recurse=True):
        def keep_wide(x: Tensor) -> Tensor:
            moved = fn(x)
            if moved.is_complex():
                raise TypeError(
                    f"cannot cast to {moved.dtype}: complex numbers are stored as real pairs; "
                    "cast to torch.float32 or torch.float64"
                )
            if moved.is_floating_point() and moved.dtype.itemsize < 4:
                return x.to(moved.device, torch.float32)
            return moved

        return super()._apply(keep_wide, recurse)


def _stored_multipliers(exponent: Tensor, stability: str) -> Tensor:
    """exp(exponent) as a spectrum without timescales stores it; exponent λ Δ (2, *modes)."""
    if stability == "clip":
        raise ValueError(
            "stability 'clip' is about poles in continuous time, which discretization='none' does "
            "not have; choose 'exp' or 'free'"
        )
    re, im = exponent.unbind(0)
    if stability == "exp":
        return torch.stack((torch.log(-re), im))
    return torch.stack((re.exp() * im.cos(), re.exp() * im.sin()))
