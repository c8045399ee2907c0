"""eigenstate train [TASK] [options]"""

import dataclasses
import sys
import typing
from pathlib import Path
from typing import Any

from eigenstate.cli.arguments import UsageError, check_types, new_parser, parse

FAILURE = 1
SETTINGS = ("columns", "seed", "model", "training")
ABOUT = """\
Train a model on a task and leave a run folder: config.yaml, metrics.csv, metrics.json,
checkpoint.pt and learning_curve.png. Judged is the last epoch, or the best by training.select."""

MORE = """\
A --config file, such as the config.yaml of a run, is laid over the preset, and flags over both.

examples:
  eigenstate train japanese-vowels
  eigenstate train mnist1d --seed 1 --training.epochs 20 --out runs/short
  eigenstate train --preset s5-listops --data lra_release
  eigenstate train classify --data walks.csv --columns.label gait
  eigenstate train --resume runs/short

classify and regress learn from a file of yours (a fifth is held out) or a folder with NAME_TRAIN
and NAME_TEST. A table has a row a sample; its columns are id, time (if any), channels and label.
"""


def train(argv: list[str]) -> int:
    """Train a model and leave a run folder."""
    parser = _train_parser()
    parser.set_defaults({"model.layer": None})  # to tell whether it was given
    given = parse(parser, argv)
    if given is None:
        return 0
    from eigenstate.training.runs import Run, RunError

    try:
        if given.resume is not None:
            if len(argv) > (1 if "=" in argv[0] else 2):
                raise UsageError("--resume goes on with the settings of the run: give it alone")
            run, splits = Run.open(given.resume), None
        else:
            run, splits = _new_run(*_settings(argv, given), given.out)
    except RunError as error:
        raise UsageError(str(error)) from None
    return _train(run, splits)


def _train(run: Any, splits: Any) -> int:
    from eigenstate.files import CheckpointError, WriteError
    from eigenstate.training.finite import NonFiniteError
    from eigenstate.training.fit import Interrupted
    from eigenstate.training.fit import train as fit
    from eigenstate.training.runs import RunError
    from eigenstate.training.trained import objective_of

    try:
        summary = fit(run, splits)
    except (RunError, CheckpointError) as error:
        raise UsageError(str(error)) from None
    except (NonFiniteError, WriteError) as error:
        print(f"eigenstate train: stopped: {error}", file=sys.stderr)
        _say_what_is_kept(run)
        return FAILURE
    except Interrupted as error:
        print(f"\n{error}", file=sys.stderr)
        _say_what_is_kept(run)
        return error.exit_code
    objective = objective_of(run)
    chosen, last = summary["epoch"], summary["epochs"]
    age = "at the last epoch" if chosen == last else f"at epoch {chosen}, the best of {last}"
    label = f"test {objective.words}"
    print(f"{label} {objective.text(summary[f'test_{objective.name}'])} {age}")
    print(f"{'run folder':{len(label)}} {run.folder}")
    return 0


def _say_what_is_kept(run: Any) -> None:
    if run.checkpoint.exists():
        lines = [
            f"What it has learnt is kept in {run.checkpoint}",
            f"  go on with it  eigenstate train --resume {run.folder}",
            f"  judge it       eigenstate evaluate {run.folder}",
        ]
    else:
        lines = [
            "There is no checkpoint yet",
            f"  start again  eigenstate train --resume {run.folder}",
        ]
    print("\n".join(lines), file=sys.stderr)


def _new_run(settings: Any, own: Any, splits: Any, folder: Path | None) -> tuple[Any, Any]:
    """Make the run folder, and say how a user's own files were understood."""
    from eigenstate.training.own_facts import described, keep_facts
    from eigenstate.training.runs import Run

    run = Run.create(settings, folder)
    if own is not None:
        keep_facts(run, own)
        print(f"{settings.data}: {described(own)}", file=sys.stderr)
    return run, splits


def _settings(argv: list[str], given: Any) -> tuple[Any, Any, Any]:
    """Lay preset, file and flags over one another; see that model and data are there to be had.

    Return the settings, what was learnt of a user's own files, and the data.
    """
    from eigenstate.data.own_data import OWN
    from eigenstate.training.batches import check_splits
    from eigenstate.training.build import build_model
    from eigenstate.training.config import RunSettings, laid_over
    from eigenstate.training.own import read_own_data
    from eigenstate.training.own_facts import any_task
    from eigenstate.training.presets import read_preset, read_settings

    parser = _train_parser()
    try:
        over = {} if given.config is None else read_settings(given.config)
        _check_file(parser, over, given.config)
        over |= {key: given[key] for key in ("task", "preset", "data") if given[key] is not None}
        base = laid_over(read_preset(over.get("preset"), over.get("task")), over)
        if given.model.layer is not None:
            base = laid_over(base, {"model": {"layer": given.model.layer}})
        task = any_task(base["task"])
        names = {key: base.pop(key, None) for key in ("task", "preset", "data")}
        parser.set_defaults(parser.parse_object(base))
        final = parser.parse_args(argv).as_dict()
        settings = RunSettings.from_dict(names | {key: final[key] for key in SETTINGS})
        build_model(settings.model, task)
        if task.name in OWN:
            own, splits = read_own_data(settings)
        else:
            own, splits = None, task.load(settings.data)
        check_splits(settings, splits)
        return settings, own, splits
    except (ValueError, TypeError, OSError, ImportError) as error:
        raise UsageError(str(error).removeprefix("name: ")) from None


def _check_file(parser: Any, settings: dict[str, Any], path: Path | None) -> None:
    try:
        check_types(parser, {key: settings[key] for key in SETTINGS if key in settings})
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None


def _train_parser() -> Any:
    """Arguments of `train`; those of a group of settings come from its dataclass."""
    from eigenstate.training.config import GROUPS

    parser = new_parser("train", "[TASK] [options]", ABOUT, MORE)
    run = parser.add_argument_group("run")
    run.add_argument(
        "task", metavar="TASK", nargs="?", help="see `eigenstate tasks`; or classify, regress"
    )
    run.add_argument(
        "--preset",
        metavar="NAME",
        help="recipe to start from (the task's own); see `eigenstate presets`",
    )
    run.add_argument("--config", metavar="FILE", type=Path, help="YAML file of settings")
    run.add_argument("--data", metavar="PATH", help="where the task's files are, if it needs any")
    run.add_argument(
        "--columns",
        metavar="{...}",
        type=dict[str, Any],
        default={},
        help="of a table: --columns.label NAME; id, time, channels, group",
    )
    run.add_argument("--out", metavar="DIR", type=Path, help="run folder (runs/TASK-001, ...)")
    run.add_argument("--resume", metavar="RUN", type=Path, help="go on with an interrupted run")
    run.add_argument("--seed", metavar="N", type=int, default=0, help="of all random numbers (0)")
    for key, settings in GROUPS.items():
        group = parser.add_argument_group(f"{key} (defaults: those of the preset)")
        types = typing.get_type_hints(settings)
        for field in dataclasses.fields(settings):
            group.add_argument(
                f"--{key}.{field.name}",
                type=types[field.name],
                default=getattr(settings(), field.name),
                metavar=field.metadata["metavar"],
                help=field.metadata["help"],
            )
    return parser
