"""eigenstate evaluate RUN"""

from pathlib import Path

from eigenstate.cli.arguments import UsageError, new_parser, parse


def evaluate(argv: list[str]) -> int:
    """Judge the model of a run on its task's test set."""
    about = "Judge the model of a run folder on its task's test set."
    parser = new_parser("evaluate", "RUN", about)
    parser.add_argument("run", metavar="RUN", type=Path, nargs="?", help="a run folder")
    given = parse(parser, argv)
    if given is None:
        return 0
    if given.run is None:
        raise UsageError("which run? eigenstate evaluate RUN")
    from eigenstate.files import CheckpointError
    from eigenstate.training.objectives import OBJECTIVES
    from eigenstate.training.runs import Run, RunError
    from eigenstate.training.trained import load_splits, load_trained, prepared, score

    try:
        run = Run.open(given.run)
        trained = load_trained(run)
        splits = prepared(load_splits(run), trained.standardizer)
    except (RunError, CheckpointError) as error:
        raise UsageError(str(error)) from None
    result = score(run, trained.model, splits.test)
    objective = OBJECTIVES[trained.task.kind]
    last = run.settings.training.epochs
    age = f"after {trained.epoch} of {last} epochs" if trained.epoch < last else "at the last epoch"
    lines = [
        (f"test {objective.words}", f"{objective.text(result.figure)} {age}"),
        ("test loss", f"{result.loss:.4f}, {objective.unit}"),
        ("judged on", f"{result.total:,} sequences"),
    ]
    width = max(len(label) for label, _ in lines) + 1
    print("\n".join(f"{label:{width}}{text}" for label, text in lines))
    return 0
