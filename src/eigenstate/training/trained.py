"""What a run has learnt, ready to use, and how good it is. Knows no trainer."""

from pathlib import Path
from typing import NamedTuple

import torch
from torch import nn

from eigenstate.data import Samples, Sequences, Splits, Standardizer, Task, get_task
from eigenstate.data.own_data import OWN
from eigenstate.files import CheckpointError
from eigenstate.training.batches import Collate, ordered_batches, output
from eigenstate.training.build import build_model
from eigenstate.training.checkpoints import read_checkpoint
from eigenstate.training.objectives import OBJECTIVES, Objective, own_targets
from eigenstate.training.own import load_own_splits
from eigenstate.training.own_facts import facts_of
from eigenstate.training.runs import Run, RunError


class Trained(NamedTuple):
    """A model in evaluation mode, what its inputs go through first, its task and its age."""

    model: nn.Module
    standardizer: Standardizer | None
    task: Task
    epoch: int


class Score(NamedTuple):
    """The objective's figure over `total` sequences, and the mean loss."""

    figure: float
    total: int
    loss: float


def load_trained(run: Run) -> Trained:
    """Rebuild the model of a run from its config.yaml and checkpoint.pt, or best.pt if asked for.

    CheckpointError, RunError: a file that is missing, damaged or does not fit the other.
    """
    best = run.settings.training.select == "best" and run.best.exists()
    return load_checkpoint(run, run.best if best else run.checkpoint)


def load_checkpoint(run: Run, path: Path) -> Trained:
    """Rebuild the model of a run from its config.yaml and one of its checkpoints."""
    task, model = new_model(run)
    checkpoint = read_checkpoint(path)
    try:
        weights = {
            name.removeprefix("model."): value for name, value in checkpoint["state_dict"].items()
        }
        kept = checkpoint["standardizer"]
        standardizer = None if kept is None else Standardizer.from_state(kept)
        epoch = int(checkpoint["epochs"])
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise CheckpointError(f"{path}: is not a checkpoint of a run: {error}") from None
    _check_fit(model, weights, run.config, path)
    model.load_state_dict(weights)
    return Trained(model.eval(), standardizer, task, epoch)


def task_of(run: Run) -> Task:
    """Return the task of a run; one on a user's own files has it in data.json.

    ValueError: there is no such task. RunError: data.json is missing or damaged.
    """
    name = run.settings.task
    return facts_of(run).task(name) if name in OWN else get_task(name)


def objective_of(run: Run) -> Objective:
    """Return what the task of a run asks for, in the units of its data. Errors as `task_of`."""
    task = task_of(run)
    if run.settings.task in OWN and task.kind == "regression":
        return own_targets(facts_of(run).scale)
    return OBJECTIVES[task.kind]


def new_model(run: Run) -> tuple[Task, nn.Module]:
    """Return the task of a run and a new model for it. RunError: config.yaml asks for nonsense."""
    try:
        task = task_of(run)
        return task, build_model(run.settings.model, task)
    except (ValueError, TypeError) as error:
        raise RunError(f"{run.config}: {error}") from None


def load_splits(run: Run, name: str | None = None, *, data: Path | None = None) -> Splits:
    """Load the data of a run's task, or of a task alike that is named, from where settings say.

    data: another place of the task's files. Of a user's own other files, see `read_new`.
    RunError: the data are not there, or not what they should be; the task asks something else.
    """
    try:
        if run.settings.task in OWN:
            if name is not None:
                raise ValueError(f"a run on your own files has no other task, got {name!r}")
            return load_own_splits(run)
        ours = get_task(run.settings.task)
        task = ours if name is None else get_task(name)
        shapes = [(t.kind, t.inputs, t.d_input, t.class_names, t.n_outputs) for t in (ours, task)]
        if shapes[0] != shapes[1]:
            raise ValueError(f"task {task.name!r} asks something else than {ours.name!r}")
        return task.load(run.settings.data if data is None else data)
    except (ValueError, OSError, ImportError) as error:
        raise RunError(f"{run.folder}: {error}") from None


def _check_fit(
    model: nn.Module, weights: dict[str, torch.Tensor], config: Path, path: Path
) -> None:
    """Raise CheckpointError if the weights are not those of such a model; names the first."""
    expected = {name: tuple(value.shape) for name, value in model.state_dict().items()}
    found = {name: tuple(value.shape) for name, value in weights.items()}
    wrong = [name for name in expected | found if expected.get(name) != found.get(name)]
    if wrong:
        first = wrong[0]
        raise CheckpointError(
            f"{path}: does not fit the model of {config} in {len(wrong)} parameters; "
            f"first {first}: expected {expected.get(first, 'none')}, got {found.get(first, 'none')}"
        )


@torch.no_grad()
def score(run: Run, model: nn.Module, data: Samples, *, dt: float = 1.0) -> Score:
    """Judge `model`, as it is, on data that went through what its inputs go through.

    dt: the time between samples in training intervals, where the data have another rate than the
    training set had; intervals that the data bring themselves are multiplied by it.
    """
    task, objective = task_of(run), objective_of(run)
    figure, loss, total, weight = 0.0, 0.0, 0, 0
    collate = Collate(data, task=task, model=run.settings.model)
    for batch in ordered_batches(data, run.settings.training.batch_size, collate):
        if dt != 1:
            batch = batch._replace(dt=torch.tensor(dt) if batch.dt is None else dt * batch.dt)
        made, size = output(model, batch), objective.weight(batch)
        figure += float(objective.figure(made, batch)) * size
        loss += float(objective.loss(made, batch)) * size
        weight += size
        total += len(batch.labels)
    return Score(figure / weight, total, loss / weight)


def fit_standardizer(task: Task, splits: Splits) -> Standardizer | None:
    """Learn from the training set what inputs go through first, if the task asks for it."""
    return Standardizer.fit(_sequences(splits.train)) if task.standardize else None


def prepared(splits: Splits, standardizer: Standardizer | None) -> Splits:
    """Return the splits as a model sees them."""
    if standardizer is None:
        return splits
    train, test, validation = splits
    return Splits(
        standardizer.apply(_sequences(train)),
        standardizer.apply(_sequences(test)),
        None if validation is None else standardizer.apply(_sequences(validation)),
    )


def _sequences(data: Samples) -> Sequences:
    assert isinstance(data, Sequences), "only sequences of channels are standardised"
    return data
