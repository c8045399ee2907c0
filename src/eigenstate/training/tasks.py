"""Learning tasks for the trainer."""

from typing import Any

import pytorch_lightning as pl
import torch
from torch import Tensor, nn

from eigenstate.data import Batch
from eigenstate.training.batches import STEP, derived_seed, output
from eigenstate.training.config import TrainingSettings
from eigenstate.training.finite import check_gradients, check_loss, check_parameters
from eigenstate.training.objectives import Objective
from eigenstate.training.optimizers import parameter_groups
from eigenstate.training.schedules import s5_schedule, warmup_cosine


class SequenceTask(pl.LightningModule):
    """An objective, AdamW, warm-up and cosine, on batches of sequences.

    Logs the loss and the objective's figure of every epoch on what is watched, "validation" or
    "test" data. Stops with NonFiniteError before a step that would spoil the parameters. Every step
    starts from a random state of its own, so that a resumed run goes on as if it had never stopped.
    """

    def __init__(
        self,
        model: nn.Module,
        objective: Objective,
        *,
        settings: TrainingSettings,
        steps_per_epoch: int = 1,
        seed: int = 0,
        watched: str = "test",
    ) -> None:
        super().__init__()
        self.model = model
        self.objective = objective
        self.settings = settings
        self.steps_per_epoch = steps_per_epoch
        self.seed = seed
        self.watched = watched

    def configure_optimizers(self) -> Any:
        s = self.settings
        groups = parameter_groups(
            self.model,
            lr=s.lr,
            dynamics_lr=s.dynamics_lr,
            weight_decay=s.weight_decay,
            grouping=s.grouping,
            dt_global=s.dt_global,
        )
        optimizer = torch.optim.AdamW(groups)
        # Not asked of the trainer: it would build its loaders before it knows where to go on.
        steps = self.steps_per_epoch
        if s.schedule == "s5":
            factor = s5_schedule(steps, s.epochs, s.warmup_epochs)
        else:
            factor = warmup_cosine(steps * s.epochs, round(steps * s.warmup_epochs))
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
        return [optimizer], [{"scheduler": schedule, "interval": "step"}]

    def on_train_batch_start(self, batch: Batch, batch_index: int) -> None:
        torch.manual_seed(derived_seed(self.seed, STEP, self.global_step))

    def training_step(self, batch: Batch, batch_index: int) -> Tensor:
        if self.settings.offset_noise:
            batch = batch._replace(u=self._offset(batch.u))
        loss = self.objective.loss(self._output(batch), batch)
        check_loss(loss.detach(), self.model, batch, step=self.global_step)
        return loss

    def on_before_optimizer_step(self, optimizer: torch.optim.Optimizer) -> None:
        check_gradients(self.model, step=self.global_step)

    def validation_step(self, batch: Batch, batch_index: int) -> None:
        out, size = self._output(batch), self.objective.weight(batch)
        figure = self.objective.figure(out, batch)
        self.log(f"{self.watched}_loss", self.objective.loss(out, batch), batch_size=size)
        self.log(f"{self.watched}_{self.objective.name}", figure, batch_size=size)

    def _offset(self, u: Tensor) -> Tensor:
        """Shift each channel of each sequence by a constant, as another microphone would."""
        return u + self.settings.offset_noise * torch.randn_like(u[:, :1])

    def _output(self, batch: Batch) -> Any:
        try:
            return output(self.model, batch)
        except ValueError:  # a layer refuses poles that are not finite, but cannot name the step
            check_parameters(self.model, step=self.global_step)
            raise
