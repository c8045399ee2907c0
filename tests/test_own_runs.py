"""Runs on a user's own files: learnt from, judged again and on new files, or refused at once."""

import json
import re
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import yaml
from own_files import GAITS, SMALL, read_table, write_levels, write_table, write_walks
from true_formats import write

from eigenstate.cli import main
from eigenstate.data.own_data import read_own_parts
from eigenstate.data.tables import Columns
from eigenstate.training.fit import train
from eigenstate.training.own import read_new
from eigenstate.training.runs import Run
from eigenstate.training.trained import load_trained

WALKS = [*SMALL, "--columns.channels=[x,y]", "--columns.group=person"]


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def said(capsys, *argv):
    """The exit code, and what went to the two outputs."""
    capsys.readouterr()
    code = main(list(argv))
    return (code, *capsys.readouterr())


def figure(out):
    return re.search(r"^test [a-z ]+ (\S+)", out)[1]


# --- learnt, and judged again ---------------------------------------------------------------------


def test_a_table_is_learnt_from_and_judged_on_what_was_held_out(capsys, tmp_path):
    write_walks(tmp_path / "walks.csv")
    code, out, err = said(capsys, "train", "classify", "--data", "walks.csv", *WALKS)
    assert code == 0
    line, sizes = err.splitlines()[:2]
    assert re.fullmatch(
        r"walks.csv: 2 channels \('x', 'y'\), values missing in 'x', a median of \S+ between "
        r"times, 2 classes \('fast, run', 'slow walk'\)",
        line,
    )
    assert sizes == "classify: 24 sequences to learn from, 6 to test on"
    folder = tmp_path / "runs/classify-001"
    facts = json.loads((folder / "data.json").read_text())
    assert facts["preparation"]["class_names"] == list(GAITS)
    settings = yaml.safe_load((folder / "config.yaml").read_text())
    assert (settings["task"], settings["preset"]) == ("classify", "s5-classify")
    assert settings["columns"] == {"channels": ["x", "y"], "group": "person"}
    _, again, _ = said(capsys, "evaluate", "runs/classify-001")
    assert figure(again) == figure(out) and "judged on     6 sequences\n" in again


def test_no_group_is_on_both_sides(tmp_path):
    write_walks(tmp_path / "walks.csv")
    columns = Columns(group="person", channels=["x"])
    kept, out = read_own_parts(
        tmp_path / "walks.csv", kind="classification", seed=0, columns=columns
    )
    assert len(kept) + len(out) == 30 and not set(kept.groups) & set(out.groups)


def test_new_files_are_judged_where_the_old_ones_are_gone(capsys, tmp_path):
    write_walks(tmp_path / "walks.csv")
    write_walks(tmp_path / "new.csv", count=7, seed=1)
    assert main(["train", "classify", "--data", "walks.csv", *WALKS]) == 0
    _, before, _ = said(capsys, "evaluate", "runs/classify-001", "--data", "new.csv")
    assert "judged on     7 sequences\n" in before
    (tmp_path / "walks.csv").unlink()
    shutil.move(tmp_path / "runs/classify-001", tmp_path / "elsewhere")
    code, after, _ = said(capsys, "evaluate", "elsewhere", "--data", "new.csv")
    assert code == 0 and after == before
    code, _, err = said(capsys, "evaluate", "elsewhere")
    assert code == 2 and "data: no such file: walks.csv" in err


def test_columns_in_another_order_and_more_of_them_change_nothing(capsys, tmp_path):
    rows = read_table(write_walks(tmp_path / "walks.csv"))
    assert main(["train", "classify", "--data", "walks.csv", *WALKS]) == 0
    names = ["note", "y", "label", "x", "time", "id"]
    changed = [[{**row, "note": "-"}[name] for name in names] for row in rows]
    write_table(tmp_path / "changed.csv", names, changed)
    judged = [
        said(capsys, "evaluate", "runs/classify-001", "--data", name)
        for name in ("walks.csv", "changed.csv")
    ]
    assert judged[0] == judged[1] and judged[0][0] == 0


def test_intervals_of_a_new_file_are_those_of_training(tmp_path):
    """At half the rate the model is told so by the times, without any flag."""
    rows = [[i, 0.5 * k, np.sin(k * (1 + i % 2)), "ab"[i % 2]] for i in range(10) for k in range(9)]
    write_table(tmp_path / "a.csv", ["id", "time", "x", "label"], rows)
    halves = [row for i in range(10) for row in rows[9 * i : 9 * (i + 1) : 2]]
    half = write_table(tmp_path / "half.csv", ["id", "time", "x", "label"], halves)
    assert main(["train", "classify", "--data", "a.csv", "--out", "run", *SMALL]) == 0
    _, data = read_new(Run.open(tmp_path / "run"), half, labelled=True)
    assert data[0][1].tolist() == [1, 2, 2, 2, 2]


# --- every kind of file ---------------------------------------------------------------------------


def test_a_folder_of_an_archive_keeps_its_division(capsys, tmp_path):
    head = "@classLabel true 1 2\n@data\n"
    series = [f"{i},{2 * i % 5},{i % 3}:{1 + i % 2}\n" for i in range(8)]
    write(tmp_path / "Steps/Steps_TRAIN.ts", head + "".join(series[:5]))
    write(tmp_path / "Steps/Steps_TEST.ts", head + "".join(series[5:]))
    code, out, err = said(capsys, "train", "classify", "--data", "Steps", *SMALL)
    assert code == 0 and "classify: 5 sequences to learn from, 3 to test on" in err
    for data in ("Steps", "Steps/Steps_TEST.ts"):
        _, again, _ = said(capsys, "evaluate", "runs/classify-001", "--data", data)
        assert figure(again) == figure(out)


def test_parquet_and_a_hundred_classes_of_any_text(capsys, tmp_path):
    names = [*(f"class {i}" for i in range(96)), "None", "NA", "é\n", "1"]
    ids = [i for i in range(300) for _ in range(2)]
    table = {"id": ids, "x": [i / 7 for i in ids], "label": [names[i % 100] for i in ids]}
    pa.parquet.write_table(pa.table(table), tmp_path / "a.parquet")
    code, _, err = said(capsys, "train", "classify", "--data", "a.parquet", *SMALL)
    assert code == 0 and "100 classes ('1', 'NA', 'None'" in err
    assert "200 sequences to learn from, 100 to test on" in err


def test_arrays_and_seeds(tmp_path):
    np.savez(tmp_path / "a.npz", X=np.random.randn(20, 5, 2), y=np.arange(20) % 2)
    for seed in "01":
        assert main(["train", "classify", "--data", "a.npz", "--seed", seed, *SMALL]) == 0
    a, b = (load_trained(Run.open(tmp_path / f"runs/classify-00{n}")) for n in (1, 2))
    assert a.task.d_input == 2 and a.task.class_names == b.task.class_names == ("0", "1")
    assert str(a.model.state_dict()) != str(b.model.state_dict())


# --- going on -------------------------------------------------------------------------------------


def test_a_run_goes_on_with_what_it_has_learnt_of_its_files(tmp_path):
    write_levels(tmp_path / "a.csv")
    argv = ["train", "regress", "--data", "a.csv", *SMALL, "--columns.channels=[x,y]"]
    assert main([*argv, "--out", "whole"]) == 0
    assert main([*argv, "--out", "killed"]) == 0
    run = Run.open(tmp_path / "killed")
    facts = run.facts.read_text()
    # Killed before anything was written but its settings.
    for path in (run.checkpoint, run.metrics, run.summary, run.facts):
        path.unlink()
    train(Run.open(run.folder), progress=False)
    whole = Run.open(tmp_path / "whole")
    assert run.facts.read_text() == facts
    figures = [json.loads(r.summary.read_text())["test_mse"] for r in (run, whole)]
    assert figures[0] == figures[1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "data.json: no such file; it is written before training: eigenstate train --resume"),
        ("{", "data.json: damaged: "),
        ("[]", "data.json: damaged: "),
        ('{"preparation": {}}', "data.json: damaged: "),
    ],
)
def test_lost_facts_are_named(capsys, tmp_path, text, message):
    write_walks(tmp_path / "walks.csv")
    assert main(["train", "classify", "--data", "walks.csv", "--out", "run", *WALKS]) == 0
    facts = tmp_path / "run/data.json"
    facts.unlink() if text is None else facts.write_text(text)
    code, _, err = said(capsys, "evaluate", "run", "--data", "walks.csv")
    assert code == 2 and message in err and err.count("\n") == 1


# --- refused before training ----------------------------------------------------------------------

ROWS = [f"{i},{i / 2},{'ud'[i % 2]}\n" for i in range(12)]


def table(*rows, head="id,x,label\n"):
    return head + "".join(rows)


REFUSED = [
    (
        table("a,1,up\n"),
        [],
        "a.csv: held_out: 0.2 of each class's groups .the largest has 1. leaves none.*",
    ),
    (table(*(f"{i},1,up\n" for i in range(9))), [], "a.csv: labels: expected at least two classes"),
    (table(*(f"{i},,{i % 2}\n" for i in range(9))), [], "a.csv: channel 'x': expected a value in"),
    (table(*ROWS, head="id,x,kind\n"), [], "a.csv, row 2: expected a number in the column 'kind'"),
    (table(*ROWS, head="who,x,label\n"), [], r"a.csv: expected a column 'id'.*\['who', 'x'"),
    (table(*(f"{i},1\n" for i in range(9)), head="id,x\n"), [], "a.csv: expected labels.*'label'"),
    (table(*ROWS, "12,1,\n"), [], "a.csv, row 14: the column 'label' is empty"),
    (table(*ROWS), ["--columns.time=when"], "a.csv: expected a column 'when', as columns.time"),
    (table(*ROWS), ["--columns.lable=x"], "'columns.lable'; did you mean 'columns.label'"),
    (table(*ROWS), ["--columns.hue=x"], "'columns.hue': id, time, label, group, channels"),
    (table(*ROWS), ["--columns.id=[x]"], r"columns.id must be the name of a column, got \['x'\]"),
    (table(*ROWS), ["--columns.channels=[x,z]"], r"the channels \['z'\] are not among"),
    (table(*ROWS), ["--columns.group=g"], "a.csv: expected a column 'g'"),
    (
        table(
            *(f"{i},{t},1,{i % 2}\n" for i in range(9) for t in (1, 0)), head="id,time,x,label\n"
        ),
        [],
        "a.csv, row 3, id '0': the time 0 is not later than the one before it, 1",
    ),
]


@pytest.mark.parametrize(("text", "flags", "message"), REFUSED)
def test_what_cannot_be_learnt_from_is_one_line(capsys, tmp_path, text, flags, message):
    write(tmp_path / "a.csv", text)
    code, out, err = said(capsys, "train", "classify", "--data", "a.csv", *SMALL, *flags)
    assert (code, out) == (2, "")
    assert re.fullmatch(f"eigenstate train: error: .*{message}.*\n", err), err
    assert not (tmp_path / "runs").exists()


def test_what_is_not_there(capsys, tmp_path):
    (tmp_path / "empty").mkdir()
    for data, message in [
        ([], "'classify' reads files of your own; give a .ts, .npz, .csv or .parquet"),
        (["--data", "gone.csv"], "data: no such file: gone.csv"),
        (["--data", "gone.xls"], "expected a file ending in .ts, .npz, .csv, .parquet, got gone"),
        (["--data", "empty"], "found no *_TRAIN.ts, *_TRAIN.npz"),
        (["--data", "a.ts", "--columns.id", "x"], "only .csv and .parquet files have columns"),
    ]:
        code, _, err = said(capsys, "train", "classify", *data)
        assert code == 2 and message in err and err.count("\n") == 1
    code, _, err = said(capsys, "train", "mnist1d", "--columns.id", "x")
    assert code == 2 and "columns: the task 'mnist1d' reads no table of yours" in err
    code, _, err = said(capsys, "train", "clasify", "--data", "a.csv")
    assert code == 2 and "no task is called 'clasify'. Did you mean 'classify'?" in err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (table("a,1,u\n", "b,2,sideways\n"), "new.csv, id 'b': the class 'sideways' is not in the"),
        (table("a,1\n", head="id,x\n"), "new.csv: expected labels to learn from or to judge by"),
        (table("a,u\n", head="id,label\n"), r"new.csv: the channels \['x'\] are not among"),
        (table("a,,u\n"), "new.csv, id 'a', sample 0: channel 'x' is missing, which it never was"),
        (
            table("a,0,1,u\n", head="id,time,x,label\n"),
            "new.csv: times: the model was trained with",
        ),
        ("", "new.csv: the file is empty"),
    ],
)
def test_a_new_file_that_cannot_be_judged_is_named(capsys, tmp_path, text, message):
    write(tmp_path / "a.csv", table(*ROWS))
    assert main(["train", "classify", "--data", "a.csv", "--out", "run", *SMALL]) == 0
    write(tmp_path / "new.csv", text)
    code, out, err = said(capsys, "evaluate", "run", "--data", "new.csv")
    assert (code, out) == (2, "") and err.count("\n") == 1
    assert re.search(f"^eigenstate evaluate: error: {message}", err), err
    code, _, err = said(capsys, "evaluate", "run", "--task", "mnist1d")
    assert code == 2 and "a run on your own files has no other task, got 'mnist1d'" in err


def test_a_missing_value_in_one_series_alone_is_learnt_from(capsys, tmp_path):
    """Whichever fifth is held out, it is not the one series that shows how values are missing."""
    write(tmp_path / "a.csv", table(*ROWS, "odd,,u\n"))
    for seed in range(4):
        code, _, err = said(
            capsys, "train", "classify", "--data", "a.csv", f"--seed={seed}", *SMALL
        )
        assert code == 0 and "values missing in 'x'" in err
