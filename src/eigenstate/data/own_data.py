"""A user's own series: .ts, .npz, .csv or .parquet, one file or a training and a test file."""

from pathlib import Path

from eigenstate.data.npz_file import read_npz
from eigenstate.data.series import Kind, Series, split_by_group
from eigenstate.data.tables import Columns, read_table
from eigenstate.data.ts_file import read_ts

ENDINGS = (".ts", ".npz", ".csv", ".parquet")
HELD_OUT = 0.2
# What can be asked of a user's own files, by the name of the task.
OWN: dict[str, Kind] = {"classify": "classification", "regress": "regression"}


def read_own(
    path: Path, *, kind: Kind, columns: Columns | None = None, labelled: bool = True
) -> Series:
    """Read one file by its ending: `read_ts`, `read_npz` or `read_table`.

    Without `labelled`, labels are not looked at: the series have none, and none is refused.
    FileNotFoundError: no such file. ValueError: another ending, and what those readers refuse.
    """
    path = Path(path)
    if path.suffix not in ENDINGS:
        raise ValueError(f"data: expected a file ending in {', '.join(ENDINGS)}, got {path}")
    if not path.is_file():
        raise FileNotFoundError(f"data: no such file: {path}")
    if path.suffix == ".ts":
        return read_ts(path, kind, labelled=labelled)
    if path.suffix == ".npz":
        return read_npz(path, kind, labelled=labelled)
    return read_table(path, kind, columns or Columns(), labelled=labelled)


def read_own_parts(
    path: Path, *, kind: Kind, seed: int, columns: Columns | None = None, labelled: bool = True
) -> tuple[Series, Series]:
    """Return what to learn from and what to test on.

    A folder holds one file ending in _TRAIN and one in _TEST (NAME_TRAIN.ts, NAME_TEST.ts). Of a
    single file a fifth of the groups is held out by `seed`. `labelled` is that of `read_own`.
    FileNotFoundError, ValueError: neither; and what `read_own` and `split_by_group` refuse.
    """
    path = Path(path)
    if path.is_dir():
        train, test = (_the_one(path, part) for part in ("TRAIN", "TEST"))
        return (
            read_own(train, kind=kind, columns=columns, labelled=labelled),
            read_own(test, kind=kind, columns=columns, labelled=labelled),
        )
    series = read_own(path, kind=kind, columns=columns, labelled=labelled)
    return split_by_group(series, held_out=HELD_OUT, seed=seed)


def _the_one(folder: Path, part: str) -> Path:
    found = sorted(
        p for p in folder.iterdir() if p.stem.endswith(f"_{part}") and p.suffix in ENDINGS
    )
    if len(found) == 1:
        return found[0]
    wanted = ", ".join(f"*_{part}{ending}" for ending in ENDINGS)
    if not found:
        raise FileNotFoundError(f"data: found no {wanted} in {folder}")
    raise ValueError(f"data: expected one file like {wanted} in {folder}, got {len(found)}")
