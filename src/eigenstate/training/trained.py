"""What a run has learnt, ready to use, and how good it is. Knows no trainer."""

from typing import NamedTuple

import torch
import torch.nn.functional as F

from eigenstate.data import Sequences, Standardizer, Task, get_task
from eigenstate.files import CheckpointError
from eigenstate.models import Classifier
from eigenstate.training.batches import lengths_of, ordered_batches
from eigenstate.training.build import build_model
from eigenstate.training.checkpoints import read_checkpoint
from eigenstate.training.runs import Run, RunError


class Trained(NamedTuple):
    """A model in evaluation mode, what its inputs go through first, its task and its age."""

    model: Classifier
    standardizer: Standardizer
    task: Task
    epoch: int


class Score(NamedTuple):
    """correct of total, and the mean cross-entropy in nats."""

    correct: int
    total: int
    loss: float

    @property
    def accuracy(self) -> float:
        return self.correct / self.total


def load_trained(run: Run) -> Trained:
    """Rebuild the model of a run from its config.yaml and checkpoint.pt.

    CheckpointError, RunError: a file that is missing, damaged or does not fit the other.
    """
    task, model = new_model(run)
    checkpoint = read_checkpoint(run.checkpoint)
    try:
        weights = {
            name.removeprefix("model."): value for name, value in checkpoint["state_dict"].items()
        }
        standardizer = Standardizer.from_state(checkpoint["standardizer"])
        epoch = int(checkpoint["epoch"]) + 1
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise CheckpointError(f"{run.checkpoint}: is not a checkpoint of a run: {error}") from None
    _check_fit(model, weights, run)
    model.load_state_dict(weights)
    return Trained(model.eval(), standardizer, task, epoch)


def new_model(run: Run) -> tuple[Task, Classifier]:
    """Return the task of a run and a new model for it. RunError: config.yaml asks for nonsense."""
    try:
        task = get_task(run.settings.task)
        return task, build_model(run.settings.model, task)
    except (ValueError, TypeError) as error:
        raise RunError(f"{run.config}: {error}") from None


def _check_fit(model: Classifier, weights: dict[str, torch.Tensor], run: Run) -> None:
    """Raise CheckpointError if the weights are not those of such a model; names the first."""
    expected = {name: tuple(value.shape) for name, value in model.state_dict().items()}
    found = {name: tuple(value.shape) for name, value in weights.items()}
    wrong = [name for name in expected | found if expected.get(name) != found.get(name)]
    if wrong:
        first = wrong[0]
        raise CheckpointError(
            f"{run.checkpoint}: does not fit the model of {run.config} in {len(wrong)} parameters; "
            f"first {first}: expected {expected.get(first, 'none')}, got {found.get(first, 'none')}"
        )


@torch.no_grad()
def score(model: Classifier, data: Sequences) -> Score:
    """Judge `model`, as it is, on standardised data."""
    correct, loss = 0, 0.0
    for batch in ordered_batches(data):
        logits, _ = model(batch.u, lengths=lengths_of(batch))
        correct += int((logits.argmax(dim=-1) == batch.labels).sum())
        loss += float(F.cross_entropy(logits, batch.labels, reduction="sum"))
    return Score(correct, len(data), loss / len(data))
