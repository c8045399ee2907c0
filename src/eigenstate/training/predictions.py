"""What a run predicts, written as a table. Knows no trainer."""

import csv
import io
import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import torch
from torch import Tensor

from eigenstate.data import Samples, Task
from eigenstate.data.own_data import OWN
from eigenstate.files import replace_file
from eigenstate.models import Gaussian
from eigenstate.training.batches import Collate, ordered_batches, output
from eigenstate.training.own_facts import facts_of
from eigenstate.training.runs import Run
from eigenstate.training.trained import Trained


class Unknown(NamedTuple):
    """Sequences to predict on: prepared, with their names, and their times if they have any."""

    data: Samples
    ids: Sequence[str]
    times: Sequence[np.ndarray] | None = None


def write_predictions(path: Path, run: Run, trained: Trained, unknown: Unknown) -> int:
    """Write a csv of what the model of a run predicts, and return its number of rows.

    Of a classification a row for each sequence: id, class, and p(NAME) of every class. Of a
    regression one for each sample: id, time (without times the sample's number, from 0), mean and
    deviation in the units of the labels; and one for each sequence, without time, where training
    had one answer at the end of each. The file is written whole or not at all.
    OSError: it cannot be. ValueError: a prediction is not finite.
    """
    outputs = _outputs(run, trained, unknown.data)
    if trained.task.kind == "regression":
        table = _regressed(run, trained.task, unknown, outputs)
    else:
        table = _classified(trained.task, unknown, outputs)
    count = 0

    def write(file: BinaryIO) -> None:
        nonlocal count
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        writer = csv.writer(text, lineterminator="\n")
        for row in table:
            writer.writerow(row)
            count += 1
        text.flush()
        text.detach()  # the file is not ours to close

    replace_file(path, write)
    return count - 1


@torch.no_grad()
def _outputs(run: Run, trained: Trained, data: Samples) -> Iterator[Tensor]:
    """Yield what the model makes of each sequence: logits (N,), or means and variances (L, 2, D)."""
    collate = Collate(data, task=trained.task, model=run.settings.model)
    for batch in ordered_batches(data, run.settings.training.batch_size, collate):
        made = output(trained.model, batch)
        if isinstance(made, Gaussian):
            both = torch.stack([*made], dim=2).double()  # (B, L, 2, D)
            yield from (row[:n] for row, n in zip(both, batch.lengths.tolist(), strict=True))
        else:
            yield from made.double()


def _classified(task: Task, unknown: Unknown, outputs: Iterable[Tensor]) -> Iterator[list[Any]]:
    yield ["id", "class", *(f"p({name})" for name in task.class_names)]
    for id, logits in zip(unknown.ids, outputs, strict=True):
        p = torch.softmax(logits, dim=0)
        yield [id, task.class_names[int(p.argmax())], *_digits(id, p.tolist())]


def _regressed(
    run: Run, task: Task, unknown: Unknown, outputs: Iterable[Tensor]
) -> Iterator[list[Any]]:
    shift, scale, at_end = np.zeros(task.n_outputs), np.ones(task.n_outputs), False
    if run.settings.task in OWN:
        facts = facts_of(run)
        shift, scale, at_end = np.array(facts.mean), np.array(facts.scale), facts.at_end
    numbers = [f" {d}" for d in range(task.n_outputs)] if task.n_outputs > 1 else [""]
    columns = [f"{word}{number}" for number in numbers for word in ("mean", "deviation")]
    yield ["id", *columns] if at_end else ["id", "time", *columns]
    for i, (id, both) in enumerate(zip(unknown.ids, outputs, strict=True)):
        mean, variance = both.numpy().transpose(1, 0, 2)  # (L, D) each
        told = np.stack([shift + scale * mean, scale * np.sqrt(variance)], axis=2)
        rows = told.reshape(len(told), -1).tolist()  # mean and deviation of each in turn
        if at_end:
            yield [id, *_digits(id, rows[-1])]
            continue
        times = range(len(rows)) if unknown.times is None else unknown.times[i].tolist()
        yield from ([id, time, *_digits(id, row)] for time, row in zip(times, rows, strict=True))


def _digits(id: str, values: Sequence[float]) -> list[str]:
    if not all(map(math.isfinite, values)):
        raise ValueError(f"the prediction for {id!r} is not finite; are its values far too large?")
    return [f"{value:.9g}" for value in values]
