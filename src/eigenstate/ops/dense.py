"""Responses of small dense systems x_k = A x_(k-1) + b u_k, y_k = c · x_k, one per feature.

As for diagonal modes, L powers are split as A^(jT) A^i with T about √L: the short tables grow by
doubling, and everything long is a matrix product. A (H, N, N), b and c (H, N), all wide.
"""

import math

import torch
from torch import Tensor

from eigenstate.ops.response import count_pieces, in_pieces, long_piece, short_piece


def krylov(A: Tensor, x: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """A^0 x … A^(count-1) x for columns x (H, N, R), and A^n for the least n = 2^k >= count.

    Returns (H, N, count, R); by doubling, so log2(count) products.
    """
    columns, square = x.shape[-1], A
    table = x
    while table.shape[-1] < count * columns:
        table = torch.cat((table, square @ table), -1)
        square = square @ square
    return table[..., : count * columns].unflatten(-1, (count, columns)), square


def dense_response(A: Tensor, b: Tensor, c: Tensor, length: int) -> Tensor:
    """c · A^l b for l = 0 … length - 1: (H, length), in memory H (N √length + length)."""
    size = short_piece(length)
    right, power = krylov(A, b.unsqueeze(-1), size)  # (H, N, T, 1), A^T
    left, _ = krylov(power.transpose(1, 2), c.unsqueeze(-1), count_pieces(length, size))
    product = left.squeeze(-1).transpose(1, 2) @ right.squeeze(-1)  # (H, J, T)
    return product.flatten(1)[:, :length]


def dense_free_response(A: Tensor, c: Tensor, state: Tensor, length: int) -> Tensor:
    """c · A^(l+1) x for l = 0 … length - 1, what a state x (B, H, N) still says: (B, H, length)."""
    size = short_piece(length)
    left, power = krylov(A.transpose(1, 2), c.unsqueeze(-1), size)  # (H, N, T, 1), (A^T)^T
    start = A @ state.permute(1, 2, 0)  # (H, N, B)
    later, _ = krylov(power.transpose(1, 2), start, count_pieces(length, size))  # (H, N, J, B)
    y = left.squeeze(-1).transpose(1, 2) @ later.flatten(2)  # (H, T, J B)
    y = y.unflatten(-1, later.shape[2:]).permute(3, 0, 2, 1)  # (B, H, J, T)
    return y.flatten(2)[..., :length]


def dense_past(u: Tensor, A: Tensor, b: Tensor) -> Tensor:
    """Σ_j A^(L-1-j) b u_j, the state that input u (B, L, H) leaves behind: (B, H, N), wide."""
    batch, length, _ = u.shape
    size = long_piece(length)
    count = 2 ** math.ceil(math.log2(count_pieces(length, size)))
    table, power = krylov(A, b.unsqueeze(-1), size)
    pieces = in_pieces(u, count, size)  # (H, B J, T)
    table = table.squeeze(-1).flip(-1).transpose(1, 2)  # (H, T, N), the earliest sample first
    partial = (pieces @ table.to(u.dtype)).to(A.dtype)  # (H, B J, N)
    while count > 1:  # Σ_j (A^T)^j p_j: neighbours first
        count //= 2
        older, newer = partial.unflatten(1, (batch * count, 2)).unbind(2)
        partial = newer + older @ power.transpose(1, 2)
        power = power @ power
    return partial.transpose(0, 1)


def dense_power(A: Tensor, state: Tensor, exponent: Tensor | int, longest: int) -> Tensor:
    """A^n x for states x (B, H, N) and n an integer or one per row (B,), at most `longest`."""
    n = torch.as_tensor(exponent, device=A.device).reshape(-1, 1, 1)
    x = state.permute(1, 2, 0)  # (H, N, B)
    for bit in range(longest.bit_length()):
        chosen = ((n >> bit) % 2 == 1).permute(1, 2, 0)  # (1, 1, 1 or B)
        x = torch.where(chosen, A @ x, x)
        A = A @ A
    return x.permute(2, 0, 1)
