"""From features at every sample to one vector per sequence, in a way that streams.

A pooling takes x (B, L, H) and returns (pooled (B, H), state); its state is a tuple of tensors with
the batch first, so that a sequence may be cut anywhere: the answer after the last piece is the
answer to the whole. Pads (samples past `lengths`) are selected away, never multiplied by zero.
A reset begins a new episode: what came before it is forgotten here too.
"""

import torch
from torch import Tensor, nn

from eigenstate.ops.steps import mask
from eigenstate.systems.planes import wide

PoolingState = tuple[Tensor, ...]


class MeanPooling(nn.Module):
    """Mean over the valid samples since the last reset.

    pooled = sum_k x_k / count; zeros where there was no sample yet. The state is the running sum
    (B, H) and count (B, 1), in float64 (float32 on a device without it), so that a long stream
    keeps the accuracy of one pass.
    """

    def initial_state(self, batch_size: int, d_model: int, *, like: Tensor) -> PoolingState:
        """Return the state before any sample, on the device of `like`."""
        total = like.new_zeros((batch_size, d_model), dtype=wide(like.device))
        return total, total.new_zeros((batch_size, 1))

    def forward(
        self,
        x: Tensor,
        state: PoolingState | None = None,
        *,
        resets: Tensor | None = None,
        lengths: Tensor | None = None,
    ) -> tuple[Tensor, PoolingState]:
        batch, length, d_model = x.shape
        total, count = state or self.initial_state(batch, d_model, like=x)
        keep = x.new_ones((batch, length), dtype=torch.bool)
        if lengths is not None:
            keep = mask(lengths.to(x.device), length)
        if resets is not None:
            resets = resets & keep
            # Samples after which a reset is still to come belong to an earlier episode.
            after = resets.long().cumsum(dim=1)
            keep = keep & (after == after[:, -1:])
            begun = resets.any(dim=1, keepdim=True)
            total, count = torch.where(begun, 0, total), torch.where(begun, 0, count)
        kept = torch.where(keep[..., None], x, 0)
        total = total + kept.sum(dim=1, dtype=total.dtype)
        count = count + keep.sum(dim=1, keepdim=True)
        return (total / count.clamp(min=1)).to(x.dtype), (total, count)

    def step(self, x_k: Tensor, state: PoolingState | None) -> tuple[Tensor, PoolingState]:
        total, count = state or self.initial_state(*x_k.shape, like=x_k)
        total, count = total + x_k, count + 1
        return (total / count).to(x_k.dtype), (total, count)


class LastPooling(nn.Module):
    """The features of each sequence's own last sample; zeros before any sample.

    The state is those features (B, H). A reset changes nothing: the last sample is always of the
    latest episode.
    """

    def initial_state(self, batch_size: int, d_model: int, *, like: Tensor) -> PoolingState:
        """Return the state before any sample, on the device and of the type of `like`."""
        return (like.new_zeros((batch_size, d_model)),)

    def forward(
        self,
        x: Tensor,
        state: PoolingState | None = None,
        *,
        resets: Tensor | None = None,
        lengths: Tensor | None = None,
    ) -> tuple[Tensor, PoolingState]:
        batch, length, d_model = x.shape
        if length == 0:
            (last,) = state or self.initial_state(batch, d_model, like=x)
        elif lengths is None:
            last = x[:, -1]
        else:
            last = x[torch.arange(batch, device=x.device), lengths.to(x.device).long() - 1]
        return last, (last,)

    def step(self, x_k: Tensor, state: PoolingState | None) -> tuple[Tensor, PoolingState]:
        return x_k, (x_k,)


POOLINGS: dict[str, type[MeanPooling] | type[LastPooling]] = {
    "mean": MeanPooling,
    "last": LastPooling,
}
