"""The command line: one file for each command, and one for how arguments are read."""

import sys
from collections.abc import Sequence

from eigenstate.cli.arguments import UsageError, did_you_mean
from eigenstate.cli.benchmark import benchmark
from eigenstate.cli.data import data
from eigenstate.cli.evaluate import evaluate
from eigenstate.cli.predict import predict
from eigenstate.cli.presets import presets
from eigenstate.cli.tasks import tasks
from eigenstate.cli.train import train

USAGE, INTERRUPTED = 2, 130
COMMANDS = {
    "train": (train, "train a model and leave a run folder"),
    "evaluate": (evaluate, "judge a run on its test set, or on new files"),
    "predict": (predict, "write what a run predicts for new files"),
    "tasks": (tasks, "list what there is to train on"),
    "presets": (presets, "list the recipes, published ones and ours"),
    "benchmark": (benchmark, "train and judge a suite with several seeds; write its tables"),
    "data": (data, "generate a data set in the files of the published one"),
}
OVERVIEW = """\
usage: eigenstate COMMAND ...

Structured state-space sequence models: train one on a task, and judge it.

commands:
{commands}

`eigenstate COMMAND --help` explains a command; `eigenstate --version` says which this is.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    0 done, 1 the training failed, 2 wrong usage or an unusable run folder, 130 Ctrl-C, 143 SIGTERM.
    """
    argv = list(sys.argv[1:] if argv is None else argv)
    try:
        return _command(argv)
    except UsageError as error:
        command = f" {argv[0]}" if argv and argv[0] in COMMANDS else ""
        print(f"eigenstate{command}: error: {error}", file=sys.stderr)
        return USAGE
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return INTERRUPTED


def _command(argv: list[str]) -> int:
    if not argv or argv[0] in ("-h", "--help"):
        lines = [f"  {name:<10}{summary}" for name, (_, summary) in COMMANDS.items()]
        print(OVERVIEW.format(commands="\n".join(lines)), end="")
        return 0 if argv else USAGE
    if argv[0] == "--version":
        from eigenstate import __version__

        print(f"eigenstate {__version__}")
        return 0
    if argv[0] not in COMMANDS:
        near = did_you_mean(argv[0], COMMANDS)
        raise UsageError(f"no command {argv[0]!r}.{near} Commands: {', '.join(COMMANDS)}")
    return COMMANDS[argv[0]][0](argv[1:])
