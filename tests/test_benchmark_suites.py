"""What may stand in a suite, and what a mistake in it is answered by."""

import json
import re
import shutil

import pytest
import yaml
from suite_cases import CITED, SETTINGS, columns, write_suite

from eigenstate.cli import main
from eigenstate.training.campaign import plan
from eigenstate.training.own_facts import any_task
from eigenstate.training.presets import presets
from eigenstate.training.results import collect
from eigenstate.training.results_page import page
from eigenstate.training.runs import Run
from eigenstate.training.suites import read_suite, suites


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


# --- the suites of the package --------------------------------------------------------------------


@pytest.mark.parametrize("name", suites())
def test_a_suite_of_the_package_is_sound_and_without_runs_has_no_figures(name, tmp_path):
    suite = read_suite(name)
    assert len(suite.about) > 20 and all(row.preset in presets() for row in suite.rows)
    reading = {row.run_settings(0, None).task for row in suite.rows}
    reading = {task for task in reading if any_task(task).loader is None}
    data = {task: str(tmp_path) for task in reading}
    for row in suite.rows:
        (tmp_path / (row.data or "")).mkdir(exist_ok=True)
    jobs = plan(suite, tmp_path / "out", seeds=suite.seeds, data=data)
    assert {job.state for job in jobs} == {"new"} and not (tmp_path / "out").exists()
    results = collect(suite, jobs, command="eigenstate benchmark")
    for line in columns(page(results)):
        assert line["measured"] == "missing"
        assert set(line["of each seed"].split(", ")) == {"missing"}
        assert line["bar"] == "–" or line["bar"].endswith(": runs missing")
    assert results["date"] is None and "No run is finished." in page(results)
    cited = [each for row in results["rows"] for f in row["figures"] for each in f["cited"]]
    assert all(each["source"] and f". {each['source']}\n" in page(results) for each in cited)


def test_the_pendulum_s_bar_and_what_was_published():
    suite = read_suite("pendulum")
    plain, append, drop = suite.rows
    assert [row.seeds for row in suite.rows] == [None, 1, 1]
    assert (suite.seeds, plain.bar) == (3, 3.2e-3)
    assert [each.figure for each in plain.cited] == [3.41e-3, 3.94e-3, 5.44e-3]
    assert (append.cited[0].figure, drop.cited[0].figure) == (4.13e-3, 6.68e-3)


def test_the_rates_are_judged_with_and_without_their_interval():
    (row,) = read_suite("rates").rows
    assert row.run_settings(0, None).task == "mnist1d-80" and row.bar == 0.98
    bars = {(e.decimate, e.dt, e.task): e.bar for e in row.evaluations if not e.filtered}
    assert bars == {
        (2, 2, None): 0.93, (2, 1, None): None,
        (1, 0.5, "mnist1d-160"): 0.975, (1, 1, "mnist1d-160"): None,
    }  # fmt: skip
    assert {(e.decimate, e.dt) for e in row.evaluations if e.filtered} == {(2, 2), (2, 1)}


# --- mistakes in a suite --------------------------------------------------------------------------


def test_a_row_has_at_most_its_own_number_of_seeds(tmp_path):
    for own, asked, number in ((None, 3, 3), (2, 3, 2), (2, 1, 1)):
        suite = write_suite(tmp_path, **({"seeds": own} if own else {}))
        assert len(plan(suite, tmp_path / "out", seeds=asked)) == number
    suite = read_suite("pendulum")
    rows = [job.row.name for job in plan(suite, tmp_path / "out", seeds=2)]
    assert rows == ["s5-pendulum"] * 2 + ["s5-pendulum-append", "s5-pendulum-drop"]


def test_rows_share_a_task_but_not_their_files(tmp_path, capsys):
    row = {"preset": "s5-mnist1d", "settings": SETTINGS | {"task": "classify"}}
    rows = {name: row | {"data": f"{name}.csv"} for name in ("sines", "ramps")}
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump({"seeds": 1, "rows": rows}))
    (tmp_path / "archive").mkdir()
    for name in rows:
        lines = [f"{n},{k},{(n % 2) * k},{'ab'[n % 2]}" for n in range(20) for k in range(5)]
        (tmp_path / f"archive/{name}.csv").write_text("\n".join(["id,time,x,label", *lines]))
    command = ["benchmark", "mine.yaml", "--data.classify", "archive", "--out", "out"]
    assert main(command) == 0
    results = json.loads((tmp_path / "out/results.json").read_text())
    assert results["command"].endswith("--out out --data.classify archive")
    for row in results["rows"]:
        assert 0 <= row["figures"][0]["measured"]["mean"] <= 1
        run = Run.open(tmp_path / f"out/{row['row']}/seed-0")
        assert run.settings.data == f"archive/{row['row']}.csv"
    capsys.readouterr()
    shutil.rmtree(tmp_path / "archive")  # finished runs need no files
    assert main(["benchmark", "mine.yaml", "--out", "out"]) == 0
    assert capsys.readouterr().err == ""
    assert json.loads((tmp_path / "out/results.json").read_text()) == results


WRONG = [
    ({"seed": 1}, "rows.tiny has no key 'seed'; did you mean 'seeds'"),
    ({"preset": "s5-mnst1d"}, "rows.tiny: preset .* did you mean 's5-mnist1d'"),
    ({"seeds": 0}, "rows.tiny: seeds must be at least 1, got 0"),
    ({"bar": "high"}, "rows.tiny: bar must be a number, got 'high'"),
    ({"evaluations": [{"name": "a", "bar": 0.9, "drop_at_most": 0.1}]},
     r"evaluations\[0\]: an evaluation has one bar, got bar and drop_at_most"),
    ({"evaluations": [{"name": "a", "drop_at_least": "much"}]}, "drop_at_least must be a number"),
    ({"settings": {"training": {"epoch": 1}}}, "'training.epoch'; did you mean 'training.epochs'"),
    ({"settings": {"training": {"epochs": 0}}}, "training.epochs must be a number from 1 up"),
    ({"settings": {"model": {"d_model": 0}}}, "rows.tiny: d_model must be at least 1, got 0"),
    ({"settings": {"task": "mnist-1d"}}, "no task is called 'mnist-1d'. Did you mean 'mnist1d'"),
    ({"settings": {"seed": 1}}, "rows.tiny: settings must not hold 'seed'"),
    ({"cited": CITED}, r"rows.tiny.cited must be a list"),
    ({"cited": [{"system": "a", "figure": 1}]}, r"rows.tiny.cited\[0\] needs a 'source'"),
    ({"cited": [CITED | {"figure": "94 %"}]}, r"rows.tiny.cited\[0\]: figure must be a number"),
    ({"cited": [CITED | {"source": " "}]}, r"rows.tiny.cited\[0\]: source must be words"),
    ({"evaluations": [{"decimate": 2}]}, r"rows.tiny.evaluations\[0\] needs a 'name'"),
    ({"evaluations": [{"name": "a", "decimate": 0}]}, "decimate must be at least 1, got 0"),
    ({"evaluations": [{"name": "a", "dt": -1}]}, "dt must be a number from 0 up, got -1"),
    ({"evaluations": [{"name": "a", "dt": None}]}, "dt must be a number from 0 up, got None"),
    ({"evaluations": [{"name": "a", "task": "pendulm"}]}, "Did you mean 'pendulum'"),
    ({"evaluations": [{"name": "a", "task": "mnist1d"}]}, "asks something else"),
    ({"evaluations": [{"name": "a"}, {"name": "a"}]}, "must have different names"),
    ({"preset": "s5-pendulum", "settings": {}, "evaluations": [{"name": "a", "decimate": 2}]},
     "decimate needs channels and one label each, unlike 'pendulum'"),
]  # fmt: skip


@pytest.mark.parametrize(("row", "message"), WRONG, ids=lambda value: str(value)[:40])
def test_a_mistake_in_a_suite_names_the_file_and_the_place(tmp_path, row, message):
    with pytest.raises(ValueError, match=message.replace("?", "[?]")) as caught:
        write_suite(tmp_path, **row)
    assert str(caught.value).startswith("mine.yaml: ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "suite must hold keys and values, got None"),
        ("seeds: 1", "suite needs a 'rows'"),
        ("{seeds: 1, rows: {}}", "rows must hold rows by name, got {}"),
        ("{seeds: 1, rows: {a: 3}}", "rows.a must hold keys and values, got 3"),
        ("{seeds: 1, rows: {../a: }}", "it is a folder"),
        ("{seeds: no, rows: {s5-mnist1d: }}", "seeds must be an integer, got False"),
        ("seeds: [", "not valid YAML: line"),
    ],
)
def test_a_file_that_is_no_suite(tmp_path, text, message, capsys):
    (tmp_path / "mine.yaml").write_text(text)
    assert main(["benchmark", "mine.yaml"]) == 2
    err = capsys.readouterr().err
    assert "error: mine.yaml: " in err and message in err and err.count("\n") == 1


# --- mistakes in a command ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([], "which suite? eigenstate benchmark SUITE"),
        (["pendlum"], "suite must be one of .* did you mean 'pendulum'"),
        (["none.yaml"], "none.yaml: no such file"),
        (["mine.yaml", "--only", "tny"], "row must be one of .* did you mean 'tiny'"),
        (["mine.yaml", "--seeds", "0"], "--seeds must be at least 1, got 0"),
        (["mine.yaml", "--seed", "1"], "no option '--seed'. Did you mean '--seeds'"),
        (["mine.yaml", "--data", "x"], "data: the tasks of 'mine' bring their own; leave it out"),
        (["mine.yaml", "--data"], "--data: expected a path"),
        (["mine.yaml", "--data", "--out"], "--data: expected a path"),
        (["files.yaml"], "data: sfashion, listops read files: give --data.sfashion PATH --data.l"),
        (["files.yaml", "--data.listops=."], "data: sfashion read files: give --data.sfashion"),
        (["files.yaml", "--data.lstops=a"], "--data.TASK must be .* did you mean 'listops'"),
        (["files.yaml", "--data=a", "--data=b"], "--data is given twice"),
        (["files.yaml", "--data", "none"], "data of sfashion: none: there is no such file or f"),
    ],
)
def test_a_mistake_is_one_line_and_starts_nothing(tmp_path, capsys, argv, message):
    write_suite(tmp_path)
    (tmp_path / "files.yaml").write_text("seeds: 1\nrows: {s5-sfashion: , s5-listops: }\n")
    assert main(["benchmark", *argv]) == 2
    err = capsys.readouterr().err
    assert re.search("^eigenstate benchmark: error: .*" + message.replace("?", "[?]"), err), err
    assert err.count("\n") == 1 and not list(tmp_path.glob("runs"))
