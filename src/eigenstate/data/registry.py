"""Every task there is, by name."""

import difflib
import re

from eigenstate.data.base import Task
from eigenstate.data.cifar import CIFAR, IMAGE
from eigenstate.data.cut_to_sound import SPOKEN_WORDS
from eigenstate.data.japanese_vowels import JAPANESE_VOWELS
from eigenstate.data.listops import LISTOPS
from eigenstate.data.mnist import PSMNIST, SFASHION, SMNIST
from eigenstate.data.mnist1d import MNIST1D, mnist1d_at
from eigenstate.data.own_data import OWN
from eigenstate.data.pathfinder import PATHFINDER, PATHX
from eigenstate.data.pendulum import PENDULUM
from eigenstate.data.retrieval import RETRIEVAL
from eigenstate.data.speech_commands import SPEECH_COMMANDS
from eigenstate.data.text import TEXT

_TASKS = {
    task.name: task
    for task in (
        JAPANESE_VOWELS,
        MNIST1D,
        PENDULUM,
        LISTOPS,
        TEXT,
        RETRIEVAL,
        IMAGE,
        CIFAR,
        PATHFINDER,
        PATHX,
        SMNIST,
        PSMNIST,
        SFASHION,
        SPEECH_COMMANDS,
        SPOKEN_WORDS,
    )
}


def tasks() -> tuple[Task, ...]:
    """Return every task, in the order of their names."""
    return tuple(_TASKS[name] for name in sorted(_TASKS))


def get_task(name: str) -> Task:
    """Return the task called `name`; "mnist1d-80" is MNIST-1D in 80 samples instead of 40.

    ValueError: no task has that name; the message offers the nearest one and lists them all.
    """
    if name in _TASKS:
        return _TASKS[name]
    at_a_rate = re.fullmatch(r"mnist1d-(\d+)", str(name))
    if at_a_rate:
        return mnist1d_at(int(at_a_rate[1]))
    known = [*_TASKS, *OWN]
    near = difflib.get_close_matches(str(name).lower().replace("_", "-"), known, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise ValueError(
        f"name: no task is called {name!r}.{hint} Tasks: {', '.join(sorted(_TASKS))}; "
        f"{' and '.join(OWN)} learn from files of your own"
    )
