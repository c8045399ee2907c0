"""A tree of compositions in plain torch: any device, differentiated by autograd.

Neighbours are paired, the pairs' prefixes found by the same rule, and the prefixes in between
filled in: linear work, logarithmic depth. Source: Smith et al. 2023 (S5), section 2.2, appendix H.
"""

import torch
from torch import Tensor

from eigenstate.ops.affine import apply, product


def scan(
    a: Tensor, b: Tensor, state: Tensor, reverse: bool, overwrite: bool = False
) -> tuple[Tensor, Tensor]:
    """x_k = a_k x_(k-1) + b_k for all k at once, in the dtype of the state."""
    if b.shape[1] == 0:
        return b.clone(), state.clone()
    maps = a.to(state.dtype), b.to(state.dtype)
    a_wide, b_wide = (m.flip(1) for m in maps) if reverse else maps
    # The carried state enters through the first map.
    first = apply(a_wide[:, 0], state, b_wide[:, 0])
    x = _prefixes(a_wide, torch.cat((first.unsqueeze(1), b_wide[:, 1:]), 1))
    final = x[:, -1].clone()  # memory of its own
    return (x.flip(1) if reverse else x).to(b.dtype), final


def _prefixes(a: Tensor, b: Tensor) -> Tensor:
    """The b of every prefix composition; a keeps a time axis of 1 while it is constant."""
    length = b.shape[1]
    if length == 1:
        return b
    constant = a.shape[1] == 1
    earlier = a if constant else a[:, 0 : length - 1 : 2]
    later = a if constant else a[:, 1::2]
    odd = _prefixes(product(later, earlier), apply(later, b[:, 0 : length - 1 : 2], b[:, 1::2]))
    before = odd[:, : (length - 1) // 2]
    even = apply(a if constant else a[:, 2::2], before, b[:, 2::2])
    even = torch.cat((b[:, :1], even), 1)
    # Interleave even and odd positions: (B, L, C, P).
    pairs = torch.stack((even[:, : odd.shape[1]], odd), 2).flatten(1, 2)
    return pairs if length % 2 == 0 else torch.cat((pairs, even[:, -1:]), 1)
