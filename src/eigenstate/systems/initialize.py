"""Where S5 starts: poles in blocks, B, the three published C, D and the timescales.

All of it is formed in float64 on real planes. Source: Smith et al. 2023 (S5), section 4 and
appendix B.1; the widths of the random draws are those of the published implementation.
"""

import math

import torch
from torch import Generator, Tensor

from eigenstate.systems.hippo import eigenbasis

C_RULES = ("trunc_standard_normal", "lecun_normal", "complex_normal")


def block_poles(d_state: int, blocks: int, conjugate: bool) -> Tensor:
    """HiPPO-N poles of `blocks` equal blocks as planes (2, P).

    With conjugate halves the modes of negative imaginary part are kept: P = d_state / 2.
    """
    size = d_state // blocks
    poles, _ = eigenbasis(size)
    kept = torch.from_numpy(poles[: size // 2] if conjugate else poles).repeat(blocks)
    return torch.view_as_real(kept).T.contiguous()


def input_matrix(
    d_state: int, d_model: int, blocks: int, conjugate: bool, generator: Generator | None = None
) -> Tensor:
    """B as planes (2, P, H): a real draw of variance 1/d_state, turned into the eigenbasis."""
    draw = _truncated_normal((d_state, d_model), 1 / math.sqrt(d_state), generator)
    basis = _basis(d_state, blocks, conjugate)  # (2, block, block modes)
    rows = draw.unflatten(0, (blocks, -1))  # (J, block, H)
    re = torch.einsum("nm,jnh->jmh", basis[0], rows).flatten(0, 1)
    im = torch.einsum("nm,jnh->jmh", -basis[1], rows).flatten(0, 1)  # V^* conjugates
    return torch.stack((re, im))


def output_matrix(
    d_state: int,
    d_model: int,
    blocks: int,
    conjugate: bool,
    rule: str,
    generator: Generator | None = None,
) -> Tensor:
    """C as planes (H, 2, P) by one of the published rules.

    "trunc_standard_normal": both parts of variance 1/d_state; "lecun_normal": 1/(H d_state), both
    turned into the eigenbasis; "complex_normal": variance 1/2 per part, drawn in the eigenbasis.
    """
    if rule == "complex_normal":
        modes = d_state // 2 if conjugate else d_state
        draw = torch.randn(d_model, 2, modes, dtype=torch.float64, generator=generator)
        return draw * math.sqrt(0.5)
    fan_in = d_state * (d_model if rule == "lecun_normal" else 1)
    draw = _truncated_normal((d_model, 2, d_state), 1 / math.sqrt(fan_in), generator)
    rows = draw.unflatten(-1, (blocks, -1))  # (H, 2, J, block)
    basis = _basis(d_state, blocks, conjugate)
    turned = torch.stack([torch.einsum("hcjn,nm->hcjm", rows, plane) for plane in basis])
    re, im = turned.flatten(-2).unbind(0)  # each (H, 2, P): C times Re V, C times Im V
    return torch.stack((re[:, 0] - im[:, 1], re[:, 1] + im[:, 0]), 1)


def feedthrough(d_model: int, generator: Generator | None = None) -> Tensor:
    """D (H,): standard normal."""
    return torch.randn(d_model, dtype=torch.float64, generator=generator)


def log_timescales(
    count: int, dt_min: float, dt_max: float, generator: Generator | None = None
) -> Tensor:
    """log Δ (count,): uniform between log dt_min and log dt_max."""
    low, high = math.log(dt_min), math.log(dt_max)
    return low + (high - low) * torch.rand(count, dtype=torch.float64, generator=generator)


def _basis(d_state: int, blocks: int, conjugate: bool) -> Tensor:
    """One block's V as planes (2, block, block modes)."""
    size = d_state // blocks
    _, basis = eigenbasis(size)
    kept = torch.from_numpy(basis[:, : size // 2] if conjugate else basis)
    return torch.stack((kept.real, kept.imag))


def _truncated_normal(shape: tuple[int, ...], std: float, generator: Generator | None) -> Tensor:
    """A normal cut at two deviations whose own deviation is `std` (hence the .8796)."""
    draw = torch.zeros(shape, dtype=torch.float64)
    torch.nn.init.trunc_normal_(draw, a=-2.0, b=2.0, generator=generator)
    return draw * (std / 0.87962566103423978)
