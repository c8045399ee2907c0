"""eigenstate tasks"""

from eigenstate import data
from eigenstate.cli.arguments import new_parser, parse


def tasks(argv: list[str]) -> int:
    """List what there is to train on."""
    parser = new_parser("tasks", "", "List the tasks that a model can be trained on.")
    if parse(parser, argv) is None:
        return 0
    for task in data.tasks():
        print(f"{task.name}\n  {task.summary}")
        print(f"  {_shapes(task)}; {_origin(task)}")
        print(f"  {task.source} ({task.licence})\n")
    print("eigenstate train TASK [--data FOLDER]")
    print("eigenstate train classify|regress --data PATH   learns from files of your own")
    return 0


def _shapes(task: data.Task) -> str:
    channels = "1 channel" if task.d_input == 1 else f"{task.d_input} channels"
    inputs = {
        "channels": channels,
        "tokens": f"{task.d_input} tokens",
        "images": f"images of {task.d_input} x {task.d_input}",
    }
    asked = f"{task.n_classes} classes" if task.n_classes else f"{task.n_outputs} targets"
    return f"{inputs[task.inputs]}, {asked}"


def _origin(task: data.Task) -> str:
    return "needs its files: --data FOLDER" if task.reader else "nothing to download"
