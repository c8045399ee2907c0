"""From a continuous pole and a step to one sample's multiplier and input gain.

Both rules are written on real planes and are exact, in value and gradient, for a pole at 0 and for
a step of 0.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from eigenstate.systems.eager import readable
from eigenstate.systems.planes import multiply

# Below this |z| the quotient (e^z - 1)/z gives way to its series: five terms are exact to 2e-18
# there, while the gradient of the quotient would lose a factor 1/|z| of its digits.
_SERIES_BELOW = 1e-3


def zoh(poles: Tensor, step: Tensor) -> tuple[Tensor, Tensor]:
    """Zero-order hold, exact for an input held constant over the step.

    a = exp(λ s), gain = s φ1(λ s) with φ1(z) = (e^z - 1)/z and φ1(0) = 1.
    poles (..., 2, P), step (..., P) -> a and gain (..., 2, P).
    Source: Smith et al. 2023 (S5), section 3.2, equation 6.
    """
    z = poles * step.unsqueeze(-2)  # (..., 2, P)
    re, im = z.unbind(-2)
    growth, cosine, sine = re.exp(), im.cos(), im.sin()
    a = torch.stack((growth * cosine, growth * sine), -2)
    # e^z - 1 without cancellation: cos(y) - 1 = -2 sin²(y/2).
    rise = torch.expm1(re) * cosine - 2 * torch.sin(im / 2) ** 2
    gain = step.unsqueeze(-2) * _phi1(z, torch.stack((rise, growth * sine), -2))
    return a, gain


def bilinear(poles: Tensor, step: Tensor) -> tuple[Tensor, Tensor]:
    """Bilinear (Tustin) rule: a = (1 + λs/2)/(1 - λs/2), gain = s/(1 - λs/2).

    poles (..., 2, P), step (..., P) -> a and gain (..., 2, P).
    Source: Gu et al. 2022 (S4), section 2.3.
    """
    re, im = (poles * step.unsqueeze(-2) / 2).unbind(-2)
    size = (1 - re) ** 2 + im**2
    inverse = torch.stack(((1 - re) / size, im / size), -2)  # 1 / (1 - z)
    # (1 + z)/(1 - z) over one denominator: for |z| of 1e15 a sum with 1 would lose it.
    a = torch.stack(((1 - re**2 - im**2) / size, 2 * im / size), -2)
    return a, step.unsqueeze(-2) * inverse


RULES: dict[str, Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]] = {
    "zoh": zoh,
    "bilinear": bilinear,
}


def _phi1(z: Tensor, rise: Tensor) -> Tensor:
    """(e^z - 1)/z given the numerator; a series near 0, where both branches stay differentiable."""
    small = (z**2).sum(-2, keepdim=True) < _SERIES_BELOW**2
    if readable(z) and not bool(small.any()):
        return _quotient(rise, z)
    near = torch.where(small, z, 0.0)
    one = torch.tensor([[1.0], [0.0]], dtype=z.dtype, device=z.device)
    series = one + near / 5
    for divisor in (4, 3, 2):
        series = one + multiply(near, series) / divisor
    return torch.where(small, series, _quotient(rise, torch.where(small, one, z)))


def _quotient(x: Tensor, y: Tensor) -> Tensor:
    """x / y on planes along axis -2."""
    x_re, x_im = x.unbind(-2)
    y_re, y_im = y.unbind(-2)
    size = y_re * y_re + y_im * y_im
    re, im = x_re * y_re + x_im * y_im, x_im * y_re - x_re * y_im
    return torch.stack((re / size, im / size), -2)
