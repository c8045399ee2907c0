"""eigenstate tasks"""

from eigenstate import data
from eigenstate.cli.arguments import new_parser, parse


def tasks(argv: list[str]) -> int:
    """List what there is to train on."""
    parser = new_parser("tasks", "", "List the tasks that a model can be trained on.")
    if parse(parser, argv) is None:
        return 0
    for task in data.tasks():
        channels = "1 channel" if task.d_input == 1 else f"{task.d_input} channels"
        print(f"{task.name}\n  {task.summary}")
        print(f"  {channels}, {task.n_classes} classes")
        print(f"  {task.source} ({task.licence})\n")
    print("eigenstate train TASK")
    return 0
