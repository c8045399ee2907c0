"""Batch normalisation of sequences, over batch and time, that leaves pads out."""

import torch
from torch import Tensor, nn

from eigenstate.ops.standardize import standardize


class SequenceBatchNorm(nn.Module):
    """Each feature to mean 0 and deviation 1 over all valid samples of the batch.

    y = (x - mean) / sqrt(variance + eps) * weight + bias; x, y (B, L, H) or, in evaluation, (B, H).
    In training, mean and variance (biased) are those of the samples before each row's own
    `lengths`, and move the running ones by `momentum` (0.05 here is 0.95 in the official code of
    the S5 paper, whose running variance is biased too). In evaluation the running ones are used,
    which a cast to 16 bits leaves in float32: a small share of a new batch would be rounded away.
    ValueError: training on a single sample in time, (B, H), or on no valid sample at all.
    """

    running_mean: Tensor
    running_var: Tensor

    def __init__(self, d_model: int, *, eps: float = 1e-5, momentum: float = 0.05) -> None:
        super().__init__()
        self.eps = eps
        self.momentum = momentum
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.register_buffer("running_mean", torch.zeros(d_model))
        self.register_buffer("running_var", torch.ones(d_model))

    def forward(self, x: Tensor, lengths: Tensor | None = None) -> Tensor:
        if not self.training:
            scale = torch.rsqrt(self.running_var + self.eps) * self.weight
            return ((x - self.running_mean) * scale + self.bias).to(x.dtype)
        if x.ndim == 2:
            raise ValueError(
                "BatchNorm takes no single steps in training: its statistics need whole "
                "sequences; call model.eval() first, or build the model with norm='layer'"
            )
        if x.numel() == 0:
            raise ValueError(
                "BatchNorm in training needs at least one sample, got a batch of none; leave empty "
                "batches out, or build the model with norm='layer'"
            )
        # In float32 at least, whatever the samples and the parameters are kept in.
        dtype = torch.promote_types(torch.promote_types(x.dtype, self.weight.dtype), torch.float32)
        wide, weight, bias = (t.to(dtype) for t in (x, self.weight, self.bias))
        y, mean, variance = standardize(wide, weight, bias, lengths, self.eps)
        self._remember(mean.detach(), variance.detach())
        return y.to(x.dtype)

    @torch.no_grad()
    def _remember(self, mean: Tensor, variance: Tensor) -> None:
        self.running_mean.lerp_(mean.to(self.running_mean.dtype), self.momentum)
        self.running_var.lerp_(variance.to(self.running_var.dtype), self.momentum)

    def _apply(self, fn, recurse=True):
        statistics = {id(self.running_mean), id(self.running_var)}

        def keep_wide(x: Tensor) -> Tensor:
            moved = fn(x)
            if id(x) in statistics and moved.dtype.itemsize < 4:
                return x.to(moved.device, torch.float32)
            return moved

        return super()._apply(keep_wide, recurse)

    def extra_repr(self) -> str:
        return f"{len(self.weight)}, eps={self.eps}, momentum={self.momentum}"


class SequenceLayerNorm(nn.LayerNorm):
    """LayerNorm: each sample by itself, so that there is no pad to leave out."""

    def forward(self, x: Tensor, lengths: Tensor | None = None) -> Tensor:
        return super().forward(x)
