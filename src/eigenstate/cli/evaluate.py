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
    from eigenstate.training.runs import Run, RunError
    from eigenstate.training.trained import load_trained, score

    try:
        run = Run.open(given.run)
        trained = load_trained(run)
    except (RunError, CheckpointError) as error:
        raise UsageError(str(error)) from None
    test = trained.standardizer.apply(trained.task.load(run.settings.data).test)
    result = score(trained.model, test)
    last = run.settings.training.epochs
    age = f"after {trained.epoch} of {last} epochs" if trained.epoch < last else "at the last epoch"
    print(f"test accuracy {result.accuracy:.2%} {age} ({result.correct} of {result.total})")
    print(f"test loss     {result.loss:.4f}")
    return 0
