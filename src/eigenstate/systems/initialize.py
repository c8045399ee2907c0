"""Where S5 starts: poles in blocks, B, the three published C, D and the timescales.

All of it is formed in float64 on real planes. Source: Smith et al. 2023 (S5), section 4 and
appendix B.1; the widths of the random draws are those of the published implementation.
"""

import math
from typing import NamedTuple

import numpy as np
import torch
from torch import Generator, Tensor

from eigenstate.systems.hippo import eigenbasis, unitary_eigenbasis

C_RULES = ("trunc_standard_normal", "lecun_normal", "complex_normal")
STARTS = ("hippo", "antisymmetric", "random")


class Start(NamedTuple):
    """The diagonal form of J blocks of n states, m modes kept of each; P = J m.

    poles (2, P); basis V (J, 2, n, m) and inverse (J, 2, m, n) as planes, each block being
    V diag(poles) V^-1 on what was kept.
    """

    poles: Tensor
    basis: Tensor
    inverse: Tensor


def start(
    name: str, d_state: int, blocks: int, conjugate: bool, generator: Generator | None = None
) -> Start:
    """Diagonalise `blocks` equal state matrices, of size n = d_state / blocks.

    "hippo": HiPPO-N, the same in every block; "antisymmetric": (G - G^T) / sqrt(2) - I / 2;
    "random": G, moved left until its slowest mode decays like the others, Re λ = -1/2. G (n, n) is
    normal with variance 1/n, drawn for each block. With conjugate halves the n/2 modes of least
    imaginary part are kept; of a random G's real eigenvalues, which have no partner, that is half.
    """
    size = d_state // blocks
    kept = size // 2 if conjugate else size
    systems = [_system(name, size, generator) for _ in range(blocks if name != "hippo" else 1)]
    systems = systems * (blocks // len(systems))
    poles = torch.cat([torch.view_as_real(poles[:kept]).T for poles, _, _ in systems], 1)
    return Start(
        poles.contiguous(),
        torch.stack([_planes(basis[:, :kept]) for _, basis, _ in systems]),
        torch.stack([_planes(inverse[:kept]) for _, _, inverse in systems]),
    )


def input_matrix(system: Start, d_model: int, generator: Generator | None = None) -> Tensor:
    """B as planes (2, P, H): a real draw of variance 1/d_state, turned into the eigenbasis."""
    blocks, _, size, _ = system.basis.shape
    d_state = blocks * size
    draw = _truncated_normal((d_state, d_model), 1 / math.sqrt(d_state), generator)
    rows = draw.unflatten(0, (blocks, -1))  # (J, n, H)
    return torch.einsum("jcmn,jnh->cjmh", system.inverse, rows).flatten(1, 2)


def output_matrix(
    system: Start, d_model: int, rule: str, generator: Generator | None = None
) -> Tensor:
    """C as planes (H, 2, P) by one of the published rules.

    "trunc_standard_normal": both parts of variance 1/d_state; "lecun_normal": 1/(H d_state), both
    turned into the eigenbasis; "complex_normal": variance 1/2 per part, drawn in the eigenbasis.
    """
    if rule == "complex_normal":
        modes = system.poles.shape[1]
        draw = torch.randn(d_model, 2, modes, dtype=torch.float64, generator=generator)
        return draw * math.sqrt(0.5)
    blocks, _, size, _ = system.basis.shape
    d_state = blocks * size
    fan_in = d_state * (d_model if rule == "lecun_normal" else 1)
    draw = _truncated_normal((d_model, 2, d_state), 1 / math.sqrt(fan_in), generator)
    rows = draw.unflatten(-1, (blocks, -1))  # (H, 2, J, n)
    turned = torch.einsum("hcjn,jdnm->dhcjm", rows, system.basis).flatten(-2)
    re, im = turned.unbind(0)  # each (H, 2, P): C times Re V, C times Im V
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


def _system(name: str, size: int, generator: Generator | None) -> tuple[Tensor, Tensor, Tensor]:
    """Poles (n,) with imaginary parts ascending, V (n, n) and its inverse, complex."""
    if name == "hippo":
        return _unitary(*eigenbasis(size))
    draw = torch.randn(size, size, dtype=torch.float64, generator=generator) / math.sqrt(size)
    if name == "antisymmetric":
        skew = (draw - draw.T) / math.sqrt(2)
        return _unitary(*unitary_eigenbasis((skew - 0.5 * torch.eye(size)).numpy()))
    poles, basis = torch.linalg.eig(draw)
    order = poles.imag.argsort()
    poles, basis = poles[order], basis[:, order]
    return poles - (poles.real.max() + 0.5), basis, torch.linalg.inv(basis)


def _unitary(poles: np.ndarray, basis: np.ndarray) -> tuple[Tensor, Tensor, Tensor]:
    turned = torch.from_numpy(basis)
    return torch.from_numpy(poles), turned, turned.mH


def _planes(matrix: Tensor) -> Tensor:
    return torch.stack((matrix.real, matrix.imag))


def _truncated_normal(shape: tuple[int, ...], std: float, generator: Generator | None) -> Tensor:
    """A normal cut at two deviations whose own deviation is `std` (hence the .8796)."""
    draw = torch.zeros(shape, dtype=torch.float64)
    torch.nn.init.trunc_normal_(draw, a=-2.0, b=2.0, generator=generator)
    return draw * (std / 0.87962566103423978)
