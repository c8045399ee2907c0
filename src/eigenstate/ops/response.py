"""Sums of powers of modes: impulse responses, free responses and final states.

A power a^l is split as a^(jT) a^i with T about √L, so that L powers of P modes need only 2 √L of
them and the sum over modes becomes a plain matrix product. Everything is formed in the dtype of a,
float64 for the layers: float32 would lose a slow mode's phase over a long response.
"""

import math

import torch
from torch import Tensor

from eigenstate.systems.planes import multiply

# Samples in one piece when a state is gathered: each piece then costs one state of memory for 256
# samples of input.
_LONG_PIECE = 256


def powers(a: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """a^0, …, a^(count-1) by doubling, and a^n for the least n = 2^k >= count.

    a (..., 2, P) -> (..., count, 2, P) and (..., 2, P).
    """
    one = torch.zeros_like(a)
    one[..., 0, :] = 1.0
    table, square = one.unsqueeze(-3), a
    while table.shape[-3] < count:
        table = torch.cat((table, multiply(table, square.unsqueeze(-3))), -3)
        square = multiply(square, square)
    return table[..., :count, :, :], square


def power(a: Tensor, exponent: Tensor | int, longest: int) -> Tensor:
    """a^n by squaring: a (..., 2, P), n an integer or one per row (B, 1, ..., 1), at most longest.

    Returns the shape to which n and a broadcast.
    """
    n = torch.as_tensor(exponent, device=a.device)
    result, square = torch.zeros_like(a), a
    result[..., 0, :] = 1.0
    for bit in range(longest.bit_length()):
        result = torch.where((n >> bit) % 2 == 1, multiply(result, square), result)
        square = multiply(square, square)
    return result


def power_sums(weight: Tensor, a: Tensor, length: int) -> Tensor:
    """Re Σ_p w_p a_p^l for l = 0 … length - 1: w (..., H, 2, P), a (H, 2, P) -> (..., H, length).

    With w = C ∘ gain ∘ B this is the impulse response of a diagonal system; with w = C ∘ a ∘ x it
    is what a state x still says when no more input comes. Memory: H (P √length + length).
    """
    fast, slow = _tables(a, length, short_piece(length))
    re, im = multiply(weight.unsqueeze(-3), slow).unbind(-2)
    left = torch.cat((re, -im), -1)  # (..., H, J, 2P)
    return (left @ fast.flatten(-2).transpose(-1, -2)).flatten(-2)[..., :length]


def weighted_past(u: Tensor, a: Tensor) -> Tensor:
    """Σ_j a^(L-1-j) u_j: real u (B, L, H), a (H, 2, P) -> (B, H, 2, P) in a's dtype.

    Times gain ∘ B it is the state that input leaves behind. The products run in u's dtype over
    pieces of 256 samples; the pieces are added up in a's.
    """
    batch, length, _ = u.shape
    fast, slow = _tables(a, length, long_piece(length))
    size, count = fast.shape[1], slow.shape[1]
    pieces = in_pieces(u, count, size)  # (H, B J, T)
    partial = (pieces @ fast.flip(1).flatten(-2).to(u.dtype)).to(a.dtype)  # (H, B J, 2P)
    partial = partial.unflatten(1, (batch, count)).unflatten(-1, (2, -1))
    return multiply(partial, slow.flip(1).unsqueeze(1)).sum(2).transpose(0, 1)


def in_pieces(u: Tensor, count: int, size: int) -> Tensor:
    """u (B, L, H) cut along time, after zeros at its front: (H, B count, size)."""
    # Two plain transpositions are several times faster than one across three axes.
    by_feature = u.transpose(1, 2).contiguous()
    padded = torch.nn.functional.pad(by_feature, (size * count - u.shape[1], 0))
    return padded.unflatten(-1, (count, size)).transpose(0, 1).flatten(1, 2)


def _tables(a: Tensor, length: int, size: int) -> tuple[Tensor, Tensor]:
    """a^0 … a^(T-1) and a^0, a^T, …, a^((J-1)T) with J T >= length: (H, T, 2, P), (H, J, 2, P)."""
    fast, piece = powers(a, size)
    slow, _ = powers(piece, count_pieces(length, size))
    return fast, slow


def short_piece(length: int) -> int:
    """The least power of 2 that is at least √length: the piece that makes both tables short."""
    return 2 ** math.ceil(math.log2(max(1, length)) / 2)


def long_piece(length: int) -> int:
    """The samples in one piece when a state is gathered: `length` rounded up to a power of 2,
    at most 256."""
    return min(_LONG_PIECE, short_piece(length**2))


def count_pieces(length: int, size: int) -> int:
    """How many pieces of that size hold `length` samples; one at least."""
    return max(1, math.ceil(length / size))
