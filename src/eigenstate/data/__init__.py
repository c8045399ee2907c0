"""Data sets and the tasks they pose: plain torch and NumPy, no model and no trainer."""

from eigenstate.data.base import Splits, Task
from eigenstate.data.registry import get_task, tasks
from eigenstate.data.sequences import Batch, Sequences, collate
from eigenstate.data.standardize import Standardizer

__all__ = [
    "Batch",
    "Sequences",
    "Splits",
    "Standardizer",
    "Task",
    "collate",
    "get_task",
    "tasks",
]
