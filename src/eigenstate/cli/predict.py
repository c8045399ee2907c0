"""eigenstate predict RUN"""

from pathlib import Path
from typing import Any

from eigenstate.cli.arguments import UsageError, new_parser, parse

ABOUT = "Write what the model of a run folder predicts into a csv file."
MORE = """\
The columns of a classification are id, class, and p(NAME), the probability of each class; a row a
series. Those of a regression are id, time, mean and deviation (the standard deviation that the
model gives its answer), in the units of the labels; a row a sample, or one for each series where
each had one answer. An id is that of the table, or the number of the series in its file, from 0.

examples:
  eigenstate predict runs/classify-001 --data new.csv
  eigenstate predict runs/regress-001 --data new.npz --out answers.csv
  eigenstate predict runs/mnist1d-001                    of a task, its test set
"""


def predict(argv: list[str]) -> int:
    """Write predictions for the series of a file."""
    parser = new_parser("predict", "RUN [options]", ABOUT, MORE)
    add = parser.add_argument
    add("run", metavar="RUN", type=Path, nargs="?", help="a run folder")
    add("--data", metavar="PATH", type=Path, help="a file like the run's own; may lack labels")
    add(
        "--out",
        metavar="FILE",
        type=Path,
        default=Path("predictions.csv"),
        help="the file to write, which must not be there yet (predictions.csv)",
    )
    given = parse(parser, argv)
    if given is None:
        return 0
    if given.run is None:
        raise UsageError("which run? eigenstate predict RUN --data PATH")
    if given.out.exists():
        raise UsageError(f"{given.out}: is there already; remove it or choose another --out")
    from eigenstate.files import CheckpointError
    from eigenstate.training.runs import RunError

    try:
        _predict(given)
    except (RunError, CheckpointError, ValueError, OSError, ImportError) as error:
        raise UsageError(str(error)) from None
    return 0


def _predict(given: Any) -> None:
    from eigenstate.training.predictions import write_predictions
    from eigenstate.training.runs import Run
    from eigenstate.training.trained import load_trained

    run = Run.open(given.run)
    trained = load_trained(run)
    unknown = _unknown(run, trained, given.data)
    rows = write_predictions(given.out, run, trained, unknown)
    lines = [
        ("predicted on", f"{len(unknown.data):,} sequences"),
        ("predictions", f"{given.out}, {rows:,} rows"),
    ]
    last = run.settings.training.epochs
    if trained.epoch < last:
        lines.append(("trained for", f"{trained.epoch} of {last} epochs"))
    print("\n".join(f"{label:13}{text}" for label, text in lines))


def _unknown(run: Any, trained: Any, data: Path | None) -> Any:
    """Return what is to be predicted: series of a user's file, or the test set of a task."""
    from eigenstate.data.own_data import OWN
    from eigenstate.training.own import read_new
    from eigenstate.training.predictions import Unknown
    from eigenstate.training.trained import load_splits, prepared

    if run.settings.task in OWN:
        if data is None:
            raise UsageError("which series? eigenstate predict RUN --data PATH")
        series, prepared_data = read_new(run, data, labelled=False)
        return Unknown(prepared_data, series.ids, series.times)
    test = prepared(load_splits(run, data=data), trained.standardizer).test
    return Unknown(test, [str(i) for i in range(len(test))])
