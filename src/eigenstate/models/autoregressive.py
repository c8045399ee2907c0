"""The next token, and the one after it."""

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Self

import torch
from torch import Tensor, nn

from eigenstate.layers.checks import check_count, check_lengths
from eigenstate.models.backbone import Backbone
from eigenstate.models.base import check_backbone
from eigenstate.models.checks import check_ids, check_tokens
from eigenstate.models.encoders import EmbeddingEncoder
from eigenstate.models.logits import LogitsModel
from eigenstate.models.pretrained import check_model
from eigenstate.systems.planes import wide


class Autoregressive(LogitsModel):
    """embedding -> backbone, which must be causal -> decoder (d_model -> n_tokens).

    u (B, L) token ids -> logits (B, L, n_tokens) of the token after each, zeros past each row's
    length. The state is the list of the layers' states.

    >>> model = es.Autoregressive(256, backbone=es.Backbone(64, 3))
    """

    def __init__(self, n_tokens: int, *, backbone: Backbone) -> None:
        check_count("n_tokens", n_tokens)
        check_backbone(backbone)
        if backbone.bidirectional:
            raise ValueError(
                "backbone must be causal: a bidirectional one has read the token that is to be "
                "predicted; build it with layer_options={'bidirectional': False}"
            )
        super().__init__(EmbeddingEncoder(n_tokens, backbone.d_model), backbone=backbone)
        self.n_tokens = n_tokens
        self.decoder = nn.Linear(backbone.d_model, n_tokens)

    @property
    def config(self) -> dict[str, Any]:
        """What `from_config` needs: the number of tokens and the backbone, flat."""
        return self.backbone.config | {"model": "autoregressive", "n_tokens": self.n_tokens}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """Build a model from a `config`. ValueError: an unknown, missing or impossible setting."""
        check_model(cls, config)
        if "n_tokens" not in config:
            raise ValueError("config lacks 'n_tokens'")
        values = {name: value for name, value in config.items() if name != "n_tokens"}
        return cls(config["n_tokens"], backbone=Backbone.from_config(values))

    @torch.no_grad()
    def generate(
        self,
        prompt: Tensor,
        count: int,
        *,
        temperature: float = 1.0,
        top_k: int | None = None,
        generator: torch.Generator | None = None,
        lengths: Tensor | None = None,
    ) -> Tensor:
        """Return the next `count` tokens (B, count) after prompts (B, L) of at least one token.

        The prompt is read in one pass, then each token costs one step and no further memory.
        Tokens are drawn from softmax(logits / temperature), of the `top_k` likeliest if given, by
        `generator` or torch's own; temperature 0 takes the likeliest. Prompts may end at their own
        `lengths` (B,). The model runs in evaluation mode and is left as it was.
        ValueError, TypeError: an argument out of range, named.
        """
        self._check_prompt(prompt, lengths)
        check_count("count", count, least=0)
        _check_sampling(temperature, top_k, self.n_tokens)
        tokens = prompt.new_empty((len(prompt), count), dtype=torch.int64)
        with _evaluation(self):
            x, state = self._features(prompt, None, None, None, lengths)
            last = prompt.shape[1] - 1 if lengths is None else lengths.to(x.device).long() - 1
            logits = self.decoder(x[torch.arange(len(x), device=x.device), last])
            for k in range(count):
                if k:
                    logits, state = self.step(tokens[:, k - 1], state)
                tokens[:, k] = _draw(logits, temperature, top_k, generator)
        return tokens

    def _check_prompt(self, prompt: Tensor, lengths: Tensor | None) -> None:
        check_tokens(prompt, "batch, length", self.decoder.weight.device, "prompt")
        if prompt.shape[1] == 0:
            raise ValueError(
                "prompt must have at least one token, from which the first is predicted, got "
                f"{tuple(prompt.shape)}; begin with a start token"
            )
        if lengths is not None:
            check_lengths(lengths, *prompt.shape)
            if self.backbone.options.padding == "published":
                raise ValueError(
                    "lengths must be None: with padding='published' a row's state is that of its "
                    "pads; build the backbone with padding='invariant', or give prompts of one "
                    "length"
                )
        check_ids(self.encoder.without_pads(prompt, lengths), self.n_tokens, "prompt")


def _check_sampling(temperature: float, top_k: int | None, n_tokens: int) -> None:
    if isinstance(temperature, bool) or not isinstance(temperature, (int, float)):
        raise TypeError(f"temperature must be a number, got {temperature!r}")
    if not 0 <= temperature < math.inf:
        raise ValueError(f"temperature must be finite and at least 0, got {temperature}")
    if top_k is not None:
        check_count("top_k", top_k)
        if top_k > n_tokens:
            raise ValueError(f"top_k must be at most n_tokens={n_tokens}, got {top_k}")


def _draw(
    logits: Tensor, temperature: float, top_k: int | None, generator: torch.Generator | None
) -> Tensor:
    """One token of each row of logits (B, n_tokens) -> (B,)."""
    if not logits.isfinite().all():
        raise ValueError(
            "generate got logits that are not finite: the weights are damaged, or training has "
            "diverged; go back to an earlier checkpoint"
        )
    if temperature == 0:
        return logits.argmax(dim=-1)
    scores, kept = logits.to(wide(logits.device)), None
    if top_k is not None:
        scores, kept = scores.topk(top_k)  # (B, top_k)
    # The largest becomes 0 first, so that no temperature is too small to divide by.
    shares = ((scores - scores.amax(dim=-1, keepdim=True)) / temperature).softmax(dim=-1)
    drawn = shares.multinomial(1, generator=generator)  # (B, 1)
    return (drawn if kept is None else kept.gather(1, drawn)).squeeze(1)


@contextmanager
def _evaluation(model: nn.Module) -> Iterator[None]:
    """Evaluation mode, and afterwards for every part the mode it was in."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training
