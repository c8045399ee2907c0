"""eigenstate evaluate RUN"""

from pathlib import Path
from typing import Any

from eigenstate.cli.arguments import UsageError, new_parser, parse

ABOUT = "Judge the model of a run folder on its test set, or on other files with labels."
MORE = """\
--data judges on new files, which go through what the training files went through:

  eigenstate evaluate runs/classify-001 --data new.csv

--decimate and --dt ask how the model does at another sampling rate, without more training:

  eigenstate evaluate RUN --decimate 2 --dt 2           half the rate, and the model is told
  eigenstate evaluate RUN --decimate 2                  half the rate, and it is not
  eigenstate evaluate RUN --task mnist1d-160 --dt 0.5   twice the rate of a run on mnist1d-80
"""


def evaluate(argv: list[str]) -> int:
    """Judge the model of a run on its task's test set."""
    parser = new_parser("evaluate", "RUN [options]", ABOUT, MORE)
    add = parser.add_argument
    add("run", metavar="RUN", type=Path, nargs="?", help="a run folder")
    add("--data", metavar="PATH", type=Path, help="files to judge on (the run's own)")
    add("--decimate", metavar="K", type=int, default=1, help="keep every K-th sample (1)")
    add("--filter", action="store_true", help="filter before, so that nothing folds back")
    add(
        "--dt", metavar="X", type=float, default=1.0, help="time between samples (1), in training's"
    )
    add("--task", metavar="TASK", help="test set of a task that asks the same (the run's own)")
    given = parse(parser, argv)
    if given is None:
        return 0
    if given.run is None:
        raise UsageError("which run? eigenstate evaluate RUN")
    if not 0 <= given.dt < float("inf"):
        raise UsageError(f"--dt must be a finite number from 0 up, got {given.dt}")
    from eigenstate.files import CheckpointError
    from eigenstate.training.runs import RunError

    try:
        _judge(given)
    except (RunError, CheckpointError, ValueError, OSError, ImportError) as error:
        raise UsageError(str(error)) from None
    return 0


def _judge(given: Any) -> None:
    """Print the figure, the loss and on how much they were measured."""
    from eigenstate.data.decimation import Decimated
    from eigenstate.training.runs import Run
    from eigenstate.training.trained import load_trained, objective_of, score

    run = Run.open(given.run)
    trained = load_trained(run)
    test = _test_set(run, trained, given)
    if given.decimate != 1:
        test = Decimated(test, given.decimate, filtered=given.filter)
    result = score(run, trained.model, test, dt=given.dt)
    objective = objective_of(run)
    last = run.settings.training.epochs
    age = f"after {trained.epoch} of {last} epochs" if trained.epoch < last else "at the last epoch"
    lines = [
        (f"test {objective.words}", f"{objective.text(result.figure)} {age}"),
        ("test loss", f"{result.loss:.4f}, {objective.unit}"),
        ("judged on", f"{result.total:,} sequences"),
    ]
    if trained.task.kind == "regression" and trained.task.n_outputs == 1:
        lines.insert(1, ("its root", f"{result.figure**0.5:.4g}, in the units of the label"))
    width = max(len(label) for label, _ in lines) + 1
    print("\n".join(f"{label:{width}}{text}" for label, text in lines))


def _test_set(run: Any, trained: Any, given: Any) -> Any:
    """Return the test set of a run, of a task alike, or of files that are named."""
    from eigenstate.data.own_data import OWN
    from eigenstate.training.own import read_new
    from eigenstate.training.trained import load_splits, prepared

    if run.settings.task in OWN and given.data is not None:
        return read_new(run, given.data, labelled=True)[1]
    return prepared(load_splits(run, given.task, data=given.data), trained.standardizer).test
