"""From the times of samples to the intervals before them."""

import torch
from torch import Tensor

from eigenstate.layers.checks import check_intervals, check_lengths
from eigenstate.ops.steps import mask


def intervals(
    timestamps: Tensor, interval: float = 1.0, *, lengths: Tensor | None = None
) -> Tensor:
    """`dt` for a layer from timestamps: the gap before each sample in training intervals.

    dt[0] = 1 and dt[k] = (t[k] - t[k-1]) / interval. timestamps (L,) or (B, L), in any unit and
    never going back; interval: the sampling interval the model was trained at, in the same unit;
    lengths (B,): the number of samples of each row, after which dt is 0.

    Returns float64 of the same shape. Raises ValueError naming the first time that goes back or is
    not finite.
    """
    if not isinstance(timestamps, Tensor):
        raise TypeError(
            f"timestamps must be a tensor, got {type(timestamps).__name__}; use torch.as_tensor"
        )
    if timestamps.dim() not in (1, 2):
        shape = tuple(timestamps.shape)
        raise ValueError(f"timestamps must have shape (L,) or (B, L), got {shape}")
    if timestamps.is_complex() or timestamps.dtype == torch.bool:
        raise TypeError(f"timestamps must be real numbers, got {timestamps.dtype}")
    if isinstance(interval, bool) or not isinstance(interval, (int, float)):
        raise TypeError(f"interval must be a number, got {interval!r}")
    if not 0 < interval < float("inf"):
        raise ValueError(f"interval must be a positive number, got {interval}")
    valid = None
    if lengths is not None:
        if timestamps.dim() == 1:
            raise ValueError("lengths needs timestamps of shape (B, L), got (L,)")
        check_lengths(lengths, *timestamps.shape)
        valid = mask(lengths, timestamps.shape[1])
    # Integers are subtracted as integers: nanosecond stamps would not survive as floats. Small
    # types would wrap around.
    if not timestamps.is_floating_point():
        timestamps = timestamps.to(torch.int64)
    gaps = timestamps.diff(dim=-1).to(torch.float64) / interval
    dt = torch.cat((torch.ones_like(timestamps[..., :1], dtype=torch.float64), gaps), -1)
    check_intervals(dt, valid, "the intervals between timestamps")
    return dt if valid is None else torch.where(valid, dt, 0.0)
