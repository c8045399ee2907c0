"""The learning rate over the steps of a run."""

import math
from collections.abc import Callable


def warmup_cosine(total_steps: int, warmup_steps: int = 0) -> Callable[[int], float]:
    """Return step -> factor on the learning rate, for steps 0 .. total_steps - 1.

    Linear to 1 over the first `warmup_steps` steps (never 0: the first is 1 / warmup_steps), then
    half a cosine that would reach 0 at step total_steps:
    (1 + cos(pi (step - warmup_steps) / (total_steps - warmup_steps))) / 2.
    """

    def factor(step: int) -> float:
        if step < warmup_steps:
            return (step + 1) / warmup_steps
        if step >= total_steps:
            return 0.0
        return 0.5 * (1 + math.cos(math.pi * (step - warmup_steps) / (total_steps - warmup_steps)))

    return factor
