"""The learning rate over the steps of a run."""

import math
from collections.abc import Callable

SCHEDULES = ("cosine", "s5")


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


def s5_schedule(steps_per_epoch: int, epochs: int, warmup_epochs: float) -> Callable[[int], float]:
    """Return step -> factor on the learning rate, as the S5 paper's official code has it.

    That code sets the rate after each step, for the next one. So the first step is taken at the
    full rate; step k + 1 at (k + 1) / w if step k was in the warm-up of w = steps_per_epoch *
    warmup_epochs steps, and else at (1 + cos(pi min(k, e) / e)) / 2, e = steps_per_epoch *
    (epochs - warmup_epochs). The cosine counts from the start of training: it begins below 1, and
    the last w steps have the rate 0. `warmup_cosine` is what was meant.
    ValueError: a warm-up that leaves no epoch.
    """
    if not 0 <= warmup_epochs < epochs or warmup_epochs != int(warmup_epochs):
        raise ValueError(
            "schedule 's5' needs a warm-up of whole epochs, fewer than the training has: "
            f"got warmup_epochs={warmup_epochs!r} of epochs={epochs}"
        )
    warmup = steps_per_epoch * int(warmup_epochs)
    end = steps_per_epoch * (epochs - int(warmup_epochs))

    def factor(step: int) -> float:
        if step == 0:
            return 1.0
        if step - 1 < warmup:
            return step / warmup
        return 0.5 * (1 + math.cos(math.pi * min(step - 1, end) / end))

    return factor
