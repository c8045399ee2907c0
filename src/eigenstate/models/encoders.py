"""From what a sample is (channels, a token, an image) to the width of a backbone."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from eigenstate.layers.checks import check_count, check_dt, check_flag, check_lengths
from eigenstate.models.checks import (
    check_channels,
    check_ids,
    check_images,
    check_tokens,
    without_pads,
)

CHANNELS = 12  # of both convolutions of the published CNN
IMAGE_FEATURES = 30
SMALLEST_SIDE = 6  # below it nothing is left after the second pooling
IMAGES_AT_ONCE = 200


class Encoder(nn.Module):
    """Each sample by itself: (..., *sample_shape) -> (..., d_model), for any leading axes.

    A subclass sets d_model, computes in `forward(u, dt)` and checks in `_check(u, axes)`, where
    axes names the leading ones: "batch, length" or "batch". dt, the elapsed time before each
    sample, broadcasts to the leading axes; most encoders have no use for it.
    """

    d_model: int

    def check_sequences(self, u: Tensor, lengths: Tensor | None = None) -> None:
        """Raise ValueError or TypeError unless u is (B, L, *sample_shape) and lengths fit it."""
        self._check(u, "batch, length")
        if lengths is not None:
            check_lengths(lengths, *u.shape[:2])

    def check_samples(self, u_k: Tensor) -> None:
        """Raise ValueError or TypeError unless u_k is (B, *sample_shape)."""
        self._check(u_k, "batch")

    def without_pads(self, u: Tensor, lengths: Tensor | None) -> Tensor:
        """u with zeros (token 0, a black image) past each row's length, whatever was there."""
        return without_pads(u, lengths)

    def _check(self, u: Tensor, axes: str) -> None:
        raise NotImplementedError


class LinearEncoder(Encoder, nn.Linear):
    """W u + b: (..., d_input) -> (..., d_model)."""

    def __init__(self, d_input: int, d_model: int) -> None:
        check_count("d_input", d_input)
        check_count("d_model", d_model)
        super().__init__(d_input, d_model)
        self.d_input = d_input
        self.d_model = d_model

    def forward(self, u: Tensor, dt: Tensor | float | None = None) -> Tensor:
        return F.linear(u, self.weight, self.bias)

    def _check(self, u: Tensor, axes: str) -> None:
        check_channels(u, axes, self.d_input, self.weight, "d_input")


class TokenEncoder(Encoder):
    """Token ids (...) -> (..., d_model): the rows of a table, which a subclass and its module give.

    ValueError: an id outside 0 <= u < n_tokens.
    """

    def __init__(self, n_tokens: int, d_model: int) -> None:
        check_count("n_tokens", n_tokens)
        check_count("d_model", d_model)
        super().__init__(n_tokens, d_model)
        self.n_tokens = n_tokens
        self.d_model = d_model

    def forward(self, u: Tensor, dt: Tensor | float | None = None) -> Tensor:
        check_ids(u, self.n_tokens)
        return F.embedding(u.long(), self._table())

    def _table(self) -> Tensor:
        """(n_tokens, d_model)."""
        raise NotImplementedError

    def _check(self, u: Tensor, axes: str) -> None:
        check_tokens(u, axes, next(self.parameters()).device)


class OneHotEncoder(TokenEncoder, nn.Linear):
    """W onehot(u) + b: token ids (...) -> (..., d_model), W (d_model, n_tokens).

    Evaluated as a row of the table W^T + b, so that no one-hot vector is formed.
    ValueError: an id outside 0 <= u < n_tokens.
    """

    def _table(self) -> Tensor:
        return self.weight.T + self.bias


class EmbeddingEncoder(TokenEncoder, nn.Embedding):
    """Row u of a table: token ids (...) -> (..., d_model).

    ValueError: an id outside 0 <= u < n_tokens.
    """

    def _table(self) -> Tensor:
        return self.weight


class ImageEncoder(Encoder):
    """The CNN of the pendulum task: images (..., side, side) -> (..., d_model).

    convolution, 12 of 5 x 5 -> ReLU -> max of 2 x 2 -> convolution, 12 of 3 x 3, stride 2 -> ReLU
    -> max of 2 x 2 -> dense, 30 -> ReLU -> [append dt] -> dense, d_model.
    With `append_dt` the elapsed time before each image (1 where there is none) is one more feature.
    Source: the S5 paper's pendulum experiment, after M. Schirmer et al., "Modeling Irregular Time
    Series with Continuous Recurrent Units" (2022).
    """

    def __init__(self, d_model: int, *, side: int = 24, append_dt: bool = False) -> None:
        super().__init__()
        check_count("d_model", d_model)
        check_count("side", side, least=SMALLEST_SIDE)
        check_flag("append_dt", append_dt)
        self.d_model = d_model
        self.side = side
        self.append_dt = append_dt
        half = side // 2
        left = (half + 1) // 2 // 2  # pixels of a side after stride and pooling
        self.conv1 = nn.Conv2d(1, CHANNELS, 5, padding=2)
        self.conv2 = nn.Conv2d(CHANNELS, CHANNELS, 3, stride=2, padding=1)
        self.dense = nn.Linear(CHANNELS * left**2, IMAGE_FEATURES)
        self.output = nn.Linear(IMAGE_FEATURES + append_dt, d_model)

    def forward(self, u: Tensor, dt: Tensor | float | None = None) -> Tensor:
        leading = u.shape[:-2]
        images = u.reshape(-1, 1, *u.shape[-2:])  # (N, 1, side, side)
        # What a few hundred images need stays in the cache of a CPU: twice as fast as all at once.
        pieces = images.split(IMAGES_AT_ONCE) if u.device.type == "cpu" else (images,)
        x = torch.cat([self._features(piece) for piece in pieces]).reshape(*leading, IMAGE_FEATURES)
        if self.append_dt:
            x = torch.cat([x, self._intervals(dt, x)], dim=-1)
        return self.output(x)

    def _features(self, images: Tensor) -> Tensor:
        x = F.relu(self._convolve_and_pool(images))  # (N, 12, side / 2, side / 2)
        x = F.relu(F.max_pool2d(self.conv2(x), 2))  # ReLU keeps order, so it may follow the maximum
        return F.relu(self.dense(x.flatten(1)))  # (N, 30)

    def _convolve_and_pool(self, images: Tensor) -> Tensor:
        """max_pool2d(conv1(images), 2), several times faster on a CPU than these two calls.

        The kernel is shifted to each place of a pool, and all four convolve with stride 2: the
        maximum then runs over an axis of 4, one long vector against another.
        """
        shifts = [(0, 0), (0, 1), (1, 0), (1, 1)]
        corners = [F.pad(self.conv1.weight, (x, 1 - x, y, 1 - y)) for y, x in shifts]
        weight = torch.cat(corners)  # (4 * 12, 1, 6, 6)
        assert self.conv1.bias is not None
        y = F.conv2d(images, weight, self.conv1.bias.repeat(4), stride=2, padding=2)
        y = y.unflatten(1, (4, CHANNELS))
        # The same values: max remembers where they were, for the gradient, which takes its time.
        return y.max(dim=1).values if torch.is_grad_enabled() else y.amax(dim=1)

    def _intervals(self, dt: Tensor | float | None, x: Tensor) -> Tensor:
        """dt as one more feature, (..., 1)."""
        leading = x.shape[:-1]
        if dt is None:
            return x.new_ones((*leading, 1))
        check_dt(dt, [(), tuple(leading[-1:]), tuple(leading)], x.device)
        return torch.as_tensor(dt, device=x.device).to(x.dtype).expand(leading).unsqueeze(-1)

    def _check(self, u: Tensor, axes: str) -> None:
        check_images(u, axes, self.side, self.output.weight)


def as_encoder(encoder: int | Encoder, d_model: int) -> Encoder:
    """The encoder itself, or a linear one for a number of channels; as wide as the backbone."""
    if isinstance(encoder, int) and not isinstance(encoder, bool):
        return LinearEncoder(encoder, d_model)
    if not isinstance(encoder, Encoder):
        raise TypeError(
            "encoder must be the number of input channels or an Encoder, "
            f"got {type(encoder).__name__}"
        )
    if encoder.d_model != d_model:
        raise ValueError(
            f"encoder must be as wide as the backbone, d_model={d_model}, "
            f"got d_model={encoder.d_model}"
        )
    return encoder
