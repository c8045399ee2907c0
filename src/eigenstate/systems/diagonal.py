"""Where S4D's poles and B start.

Source: Gu, Gupta, Goel, Ré 2022 (S4D), section 4; widths of the draws as published.
"""

import math

import torch
from torch import Generator, Tensor

from eigenstate.systems.hippo import eigenbasis, legs

RULES = ("legs", "lin", "inv", "real", "random")


def diagonal_poles(
    rule: str, d_state: int, d_model: int, generator: Generator | None = None
) -> Tensor:
    """Poles as planes (2, H, P): P = d_state for "real", else one of each of d_state / 2 pairs.

    "lin": -1/2 + iπn; "inv": -1/2 + i N/π (N/(2n+1) - 1); "legs": half of HiPPO-N's; "real":
    -(n+1); "random": real part -U(0, 1), imaginary part the exponential of a normal draw.
    """
    if rule == "real":
        n = torch.arange(d_state, dtype=torch.float64)
        return torch.stack((-(n + 1), torch.zeros_like(n))).unsqueeze(1).repeat(1, d_model, 1)
    n = torch.arange(d_state // 2, dtype=torch.float64)
    if rule == "random":
        shape = (d_model, d_state // 2)
        re = torch.rand(shape, dtype=torch.float64, generator=generator)
        im = torch.randn(shape, dtype=torch.float64, generator=generator).exp()
        return torch.stack((-re, im))
    frequencies = {
        "lin": math.pi * n,
        "inv": d_state / math.pi * (d_state / (2 * n + 1) - 1),
        "legs": torch.from_numpy(eigenbasis(d_state)[0].imag[: d_state // 2].copy()),
    }[rule]
    poles = torch.stack((torch.full_like(n, -0.5), frequencies))
    return poles.unsqueeze(1).repeat(1, d_model, 1)


def diagonal_input(rule: str, d_state: int, d_model: int) -> Tensor:
    """B as planes (2, H, P): LegS's B in the eigenbasis for "legs", else ones."""
    modes = d_state if rule == "real" else d_state // 2
    b = torch.zeros(2, modes, dtype=torch.float64)
    b[0] = 1.0
    if rule == "legs":
        _, basis = eigenbasis(d_state)
        turned = torch.from_numpy(basis.conj().T @ legs(d_state)[1])[:modes]
        b = torch.view_as_real(turned).T.clamp(-2.0, 2.0)  # published: larger entries are cut
    return b.unsqueeze(1).repeat(1, d_model, 1)


def diagonal_output(
    rule: str, d_state: int, d_model: int, generator: Generator | None = None
) -> Tensor:
    """C as planes (2, H, P): normal of variance 1, shared by both parts of a complex number."""
    if rule == "real":
        re = torch.randn(d_model, d_state, dtype=torch.float64, generator=generator)
        return torch.stack((re, torch.zeros_like(re)))
    shape = (2, d_model, d_state // 2)
    return torch.randn(shape, dtype=torch.float64, generator=generator) * math.sqrt(0.5)
