"""A user's own files as the data of a run."""

import dataclasses
import difflib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from eigenstate.data import Splits
from eigenstate.data.own_data import OWN, read_own, read_own_parts
from eigenstate.data.preparation import TimedSequences
from eigenstate.data.series import Series
from eigenstate.data.tables import Columns
from eigenstate.training.config import RunSettings
from eigenstate.training.own_facts import OwnData, facts_of, keep_facts
from eigenstate.training.runs import Run

NO_TABLES = (".ts", ".npz")


def read_own_data(settings: RunSettings) -> tuple[OwnData, Splits]:
    """Read the files that settings name, learn from the training part, and prepare both parts.

    ValueError, FileNotFoundError, ImportError: the files are not there or not usable.
    """
    train, test = _parts(settings)
    with _naming(settings.data):
        own = OwnData.fit(train, test)
        return own, Splits(own.apply(train), own.apply(test))


def load_own_splits(run: Run) -> Splits:
    """Return the data of a run, prepared as when it began; now, if it has not begun yet.

    RunError: data.json is damaged; and what `read_own_data` raises.
    """
    if not run.facts.exists():
        own, splits = read_own_data(run.settings)
        keep_facts(run, own)
        return splits
    own = facts_of(run)
    train, test = _parts(run.settings)
    with _naming(run.settings.data):
        return Splits(own.apply(train), own.apply(test))


def read_new(run: Run, path: Path, *, labelled: bool) -> tuple[Series, TimedSequences]:
    """Read other files for a run: their series, and the data set of them.

    A folder stands for its _TEST file. Columns that are no channel of the run are left aside, and
    so are labels if not `labelled`. Errors are those of `load_own_splits`.
    """
    own, kind = facts_of(run), OWN[run.settings.task]
    given = _columns(run.settings)
    columns = dataclasses.replace(given, group=None, channels=own.preparation.channels)
    with _naming(path):
        if path.is_dir():
            parts = read_own_parts(path, kind=kind, seed=0, columns=columns, labelled=labelled)
            series = parts[1]
        else:
            series = read_own(path, kind=kind, columns=columns, labelled=labelled)
        if labelled:
            _check_labelled(series, columns)
        return series, own.apply(series, labelled=labelled)


def _parts(settings: RunSettings) -> tuple[Series, Series]:
    if settings.data is None:
        raise ValueError(
            f"data: {settings.task!r} reads files of your own; give a .ts, .npz, .csv or .parquet "
            "file, or a folder with a *_TRAIN and a *_TEST file (--data on the command line)"
        )
    path, columns = Path(settings.data), _columns(settings)
    if settings.columns and path.suffix in NO_TABLES:
        raise ValueError(f"columns: only .csv and .parquet files have columns, got {path}")
    with _naming(path):
        parts = read_own_parts(path, kind=OWN[settings.task], seed=settings.seed, columns=columns)
        for series in parts:
            _check_labelled(series, columns)
            if "time" in settings.columns and series.times is None:
                raise ValueError(f"expected a column {columns.time!r}, as columns.time says")
    return parts


def _columns(settings: RunSettings) -> Columns:
    """Return the columns that settings name. ValueError: a column for nothing, or no name."""
    given = dict(settings.columns)
    known = [f.name for f in dataclasses.fields(Columns)]
    for name, value in given.items():
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"; did you mean 'columns.{near[0]}'?" if near else f": {', '.join(known)}"
            raise ValueError(f"there is no setting 'columns.{name}'{hint}")
        names = value if isinstance(value, list) and name == "channels" else [value]
        if not names or any(isinstance(each, (list, dict)) or each is None for each in names):
            raise ValueError(f"columns.{name} must be the name of a column, got {value!r}")
        # A name that looks like a number was read as one.
        given[name] = list(map(str, names)) if name == "channels" else str(value)
    return Columns(**given)


def _check_labelled(series: Series, columns: Columns) -> None:
    if series.labels is None and series.targets is None:
        raise ValueError(
            "expected labels to learn from or to judge by, got none; a table has them in its "
            f"column {columns.label!r} (--columns.label gives it another name)"
        )


@contextmanager
def _naming(path: Path | str | None) -> Iterator[None]:
    """Let errors begin with the file that they are about."""
    try:
        yield
    except ValueError as error:
        text = str(error)
        raise ValueError(text if text.startswith(str(path)) else f"{path}: {text}") from None
