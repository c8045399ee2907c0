"""Learning tasks for the trainer."""

from typing import Any

import pytorch_lightning as pl
import torch
import torch.nn.functional as F
from torch import Tensor

from eigenstate.data import Batch
from eigenstate.models import Classifier
from eigenstate.training.batches import STEP, derived_seed, lengths_of
from eigenstate.training.config import TrainingSettings
from eigenstate.training.finite import check_gradients, check_loss, check_parameters
from eigenstate.training.optimizers import parameter_groups
from eigenstate.training.schedules import warmup_cosine


class ClassificationTask(pl.LightningModule):
    """Cross-entropy on the classes of whole sequences, AdamW, warm-up and cosine.

    Logs train_loss, test_loss and test_accuracy of every epoch. Stops with NonFiniteError before
    a step that would spoil the parameters. Every step starts from a random state of its own, so
    that a resumed run goes on as if it had never stopped.
    """

    def __init__(self, model: Classifier, settings: TrainingSettings, *, seed: int = 0) -> None:
        super().__init__()
        self.model = model
        self.settings = settings
        self.seed = seed

    def configure_optimizers(self) -> Any:
        s = self.settings
        groups = parameter_groups(
            self.model, lr=s.lr, dynamics_lr=s.dynamics_lr, weight_decay=s.weight_decay
        )
        optimizer = torch.optim.AdamW(groups)
        steps = int(self.trainer.estimated_stepping_batches)
        warmup = round(steps / s.epochs * s.warmup_epochs)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, warmup_cosine(steps, warmup))
        return [optimizer], [{"scheduler": schedule, "interval": "step"}]

    def on_train_batch_start(self, batch: Batch, batch_index: int) -> None:
        torch.manual_seed(derived_seed(self.seed, STEP, self.global_step))

    def training_step(self, batch: Batch, batch_index: int) -> Tensor:
        batch = batch._replace(u=self._offset(batch.u))
        loss = F.cross_entropy(self._logits(batch), batch.labels)
        check_loss(loss.detach(), self.model, batch, step=self.global_step)
        self.log("train_loss", loss, on_step=False, on_epoch=True, batch_size=len(batch.labels))
        return loss

    def on_before_optimizer_step(self, optimizer: torch.optim.Optimizer) -> None:
        check_gradients(self.model, step=self.global_step)

    def validation_step(self, batch: Batch, batch_index: int) -> None:
        logits = self._logits(batch)
        size = len(batch.labels)
        correct = (logits.argmax(dim=-1) == batch.labels).double().mean()
        self.log("test_loss", F.cross_entropy(logits, batch.labels), batch_size=size)
        self.log("test_accuracy", correct, batch_size=size)

    def _offset(self, u: Tensor) -> Tensor:
        """Shift each channel of each sequence by a constant, as another microphone would."""
        noise = self.settings.offset_noise
        return u + noise * torch.randn_like(u[:, :1]) if noise else u

    def _logits(self, batch: Batch) -> Tensor:
        try:
            return self.model(batch.u, lengths=lengths_of(batch))[0]
        except ValueError:  # a layer refuses poles that are not finite, but cannot name the step
            check_parameters(self.model, step=self.global_step)
            raise
