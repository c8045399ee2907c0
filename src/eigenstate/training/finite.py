"""The first number that is NaN or infinite ends a run, with a message that says where it was."""

import torch
from torch import Tensor, nn

from eigenstate.data import Batch
from eigenstate.training.batches import output


class NonFiniteError(FloatingPointError):
    """A loss, gradient or parameter that is NaN or infinite; names the step and the place."""


def check_loss(loss: Tensor, model: nn.Module, batch: Batch, *, step: int) -> None:
    """Raise NonFiniteError if the loss of this batch is not finite."""
    if torch.isfinite(loss):
        return
    place = _bad_parameter(model) or _bad_output(model, batch) or "only the loss itself"
    raise NonFiniteError(f"step {step}: the loss is {loss.item()}; first not finite: {place}")


def check_gradients(model: nn.Module, *, step: int) -> None:
    """Raise NonFiniteError if the gradient of a parameter is not finite."""
    gradients = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
    if torch.isfinite(torch.nn.utils.get_total_norm(list(gradients.values()))):
        return
    # The norm of huge finite gradients overflows too, which is no reason to stop.
    for name, gradient in gradients.items():
        if not torch.isfinite(gradient).all():
            raise NonFiniteError(f"step {step}: the gradient of parameter {name} is not finite")


def check_parameters(model: nn.Module, *, step: int) -> None:
    """Raise NonFiniteError if a parameter is not finite."""
    place = _bad_parameter(model)
    if place is not None:
        raise NonFiniteError(f"step {step}: {place} is not finite")


def _bad_parameter(model: nn.Module) -> str | None:
    for name, parameter in model.named_parameters():
        if not torch.isfinite(parameter).all():
            return f"parameter {name}"
    return None


def _bad_output(model: nn.Module, batch: Batch) -> str | None:
    """Run the batch again and return the first module whose output is not finite."""
    bad: list[str] = []

    def watch(name: str):
        def hook(_module: nn.Module, _inputs: object, result: object) -> None:
            y = result[0] if isinstance(result, tuple) else result
            if isinstance(y, Tensor) and not torch.isfinite(y).all():
                bad.append(name)

        return hook

    handles = [
        module.register_forward_hook(watch(name)) for name, module in model.named_modules() if name
    ]
    try:
        with torch.no_grad():
            output(model, batch)
    finally:
        for handle in handles:
            handle.remove()
    return f"the output of {bad[0]}" if bad else None
