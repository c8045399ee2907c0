"""Data sets and the tasks they pose: plain torch and NumPy, no model and no trainer."""

from eigenstate.data.base import Batch, Samples, Splits, Task
from eigenstate.data.registry import get_task, tasks
from eigenstate.data.sequences import Sequences
from eigenstate.data.standardize import Standardizer

__all__ = [
    "Batch",
    "Samples",
    "Sequences",
    "Splits",
    "Standardizer",
    "Task",
    "get_task",
    "tasks",
]
