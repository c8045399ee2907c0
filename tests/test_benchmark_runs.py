"""`eigenstate benchmark`: runs are trained once, go on where they stopped, and are never mixed up."""

import json
import os
import re
import shutil
import signal

import pytest
import yaml
from run_cases import TINY, assert_same_weights, at_step

from eigenstate.cli import main
from eigenstate.training.presets import read_preset
from eigenstate.training.runs import Run
from eigenstate.training.tasks import SequenceTask

PRESET = "s5-japanese-vowels"
SETTINGS = {"model": TINY["model"], "training": TINY["training"]}
SUITE = {
    "seeds": 2,
    "rows": {
        "tiny": {
            "preset": PRESET,
            "settings": SETTINGS,
            "bar": 0.02,
            "cited": [{"system": "another", "figure": 0.949, "source": "a paper"}],
            "evaluations": [{"name": "half rate", "decimate": 2, "dt": 2, "bar": 0.99}],
        },
        "causal": {
            "preset": PRESET,
            "seeds": 1,
            "settings": SETTINGS | {"model": TINY["model"] | {"pooling": "last"}},
        },
    },
}
RUNS = ["tiny/seed-0", "tiny/seed-1", "causal/seed-0"]


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_suite(tmp_path)


def write_suite(folder, **settings):
    suite = json.loads(json.dumps(SUITE))
    for row in suite["rows"].values():
        row["settings"]["training"] |= settings
    (folder / "mine.yaml").write_text("# Mine.\n" + yaml.safe_dump(suite, sort_keys=False))


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a whole campaign."""
    folder = tmp_path_factory.mktemp("suite")
    write_suite(folder)
    assert main(["benchmark", str(folder / "mine.yaml"), "--out", str(folder / "out")]) == 0
    return folder / "out"


def copied(finished, tmp_path):
    shutil.copytree(finished, tmp_path / "out")
    return tmp_path / "out"


def said(capsys, *argv):
    capsys.readouterr()
    code = main(["benchmark", "mine.yaml", "--out", "out", *argv])
    return (code, *capsys.readouterr())


def results(out):
    """What results.json says, without what differs from one day to the next."""
    found = json.loads((out / "results.json").read_text())
    del found["command"], found["date"]
    for row in found["rows"]:
        for run in row["runs"]:
            del run["seconds"], run["finished"]
            run.pop("tokens_per_second", None)
            run.pop("peak_memory", None)
    return found


def never(self, batch, index):
    raise AssertionError("trained again")


# --- what a campaign leaves -----------------------------------------------------------------------


def test_every_run_is_an_ordinary_one(finished, tmp_path):
    assert sorted(path.parent.relative_to(finished).as_posix() for path in
                  finished.rglob("config.yaml")) == sorted(RUNS)  # fmt: skip
    run = Run.open(finished / "tiny/seed-1")
    assert (run.settings.preset, run.settings.seed) == (PRESET, 1)
    assert run.settings.training.offset_noise == read_preset(PRESET)["training"]["offset_noise"]
    alone = ["train", "--config", str(run.config), "--out", str(tmp_path / "alone")]
    assert main(alone) == 0
    assert_same_weights(Run.open(tmp_path / "alone"), run)


def test_the_tables_hold_what_the_runs_left(finished, capsys):
    tiny, causal = results(finished)["rows"]
    test, half = tiny["figures"]
    for seed in ("0", "1"):
        run = Run.open(finished / f"tiny/seed-{seed}")
        summary = json.loads(run.summary.read_text())
        assert test["measured"]["seeds"][seed] == summary["test_accuracy"]
        assert tiny["parameters"] == summary["parameters"]
        capsys.readouterr()
        assert main(["evaluate", str(run.folder), "--decimate", "2", "--dt", "2"]) == 0
        figure = half["measured"]["seeds"][seed]
        assert capsys.readouterr().out.startswith(f"test accuracy {figure:.2%} ")
    a, b = test["measured"]["seeds"].values()
    assert test["measured"]["mean"] == pytest.approx((a + b) / 2)
    assert test["measured"]["spread"] == pytest.approx(abs(a - b) / 2**0.5)
    assert (test["met"], half["met"]) == (True, False)
    assert causal["figures"][0]["measured"]["spread"] is None and causal["runs"][0]["threads"] == 1
    assert all(run["last_train_loss"] < run["first_train_loss"] for run in tiny["runs"])
    assert all(run["machine"]["cores"] and run["versions"]["torch"] for run in tiny["runs"])
    page = (finished / "results.md").read_text()
    assert (
        f"$ eigenstate benchmark {finished.parent}/mine.yaml --seeds 2 --out {finished}\n" in page
    )
    assert "another 94.9 % [1]" in page and "\n1. a paper\n" in page
    assert re.search(r"≥ 2 %: met .*\n.* ≥ 99 %: missed ", page)


def test_what_is_finished_is_not_done_again(finished, tmp_path, monkeypatch, capsys):
    out = copied(finished, tmp_path)
    monkeypatch.setattr(SequenceTask, "training_step", never)
    monkeypatch.setattr("eigenstate.training.campaign.judge", never)
    code, stdout, err = said(capsys)
    assert (code, err) == (0, "")
    assert re.match(r"tiny, test set +\d+\.\d+ ± \d+\.\d+ %  ≥ 2 %: met\n", stdout)
    assert stdout.endswith("results           out/results.md\n")
    assert results(out) == results(finished)


def test_another_seed_is_trained_beside_the_others(finished, tmp_path, capsys):
    out = copied(finished, tmp_path)
    code, _, err = said(capsys, "--seeds", "3")
    assert code == 0 and re.findall(r"^\[.*", err, re.MULTILINE) == ["[1 of 1] tiny, seed 2"]
    (tiny, _), (before, _) = results(out)["rows"], results(finished)["rows"]
    assert list(tiny["figures"][0]["measured"]["seeds"]) == ["0", "1", "2"]
    assert tiny["runs"][:2] == before["runs"]


# --- stopped and gone on with ---------------------------------------------------------------------


class Killed(BaseException):
    pass


def kill():
    raise Killed


def in_the_second_run(act):
    """At the step asked for, but not in the first run."""
    runs = []

    def second(_):
        runs.append(None)
        if len(runs) == 2:
            act()

    return second


@pytest.mark.parametrize("how", ["killed", "interrupted"])
def test_a_campaign_goes_on_bit_for_bit(finished, tmp_path, monkeypatch, capsys, how):
    """Stopped in the middle of the second epoch of the second run, which saves every step."""
    monkeypatch.setattr("eigenstate.training.log.SAVE_EVERY", 0.0)
    out = tmp_path / "out"
    with monkeypatch.context() as patch:
        if how == "killed":
            at_step(patch, 4, in_the_second_run(kill))
            with pytest.raises(Killed):
                said(capsys)
        else:
            stop = in_the_second_run(lambda: os.kill(os.getpid(), signal.SIGINT))
            at_step(patch, 4, stop)
            code, stdout, err = said(capsys)
            assert (code, stdout) == (130, "")
            assert "\ninterrupted in epoch 2 of 3\nWhat tiny, seed 1 has learnt is kept in " in err
            assert (
                "out/tiny/seed-1/checkpoint.pt\n1 of 3 runs are finished: out/results.md\n" in err
            )
            assert err.endswith("  go on  eigenstate benchmark mine.yaml --seeds 2 --out out\n")
    tiny, causal = results(out)["rows"]
    assert [run["state"] for run in tiny["runs"] + causal["runs"]] == [
        "finished", "missing", "missing",
    ]  # fmt: skip
    assert (
        tiny["figures"][0]["measured"]["seeds"]["1"] is None and tiny["figures"][0]["met"] is None
    )
    page = (out / "results.md").read_text()
    assert "(1 of 2 seeds)" in page and "≥ 2 %: runs missing" in page
    code, _, err = said(capsys)
    assert code == 0
    assert "[1 of 2] tiny, seed 1: goes on from its checkpoint\n" in err
    assert "[2 of 2] causal, seed 0\n" in err
    for name in RUNS:
        assert_same_weights(Run.open(out / name), Run.open(finished / name))
    assert results(out) == results(finished)


def test_stopped_before_a_run_began_it_says_how_to_go_on(tmp_path, monkeypatch, capsys):
    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("eigenstate.training.fit.load_splits", interrupted)
        code, _, err = said(capsys, "--only", "causal")
    assert code == 130
    again = "eigenstate benchmark mine.yaml --seeds 2 --out out --only causal"
    assert err.endswith(f"\ninterrupted\n  go on  {again}\n")
    (tmp_path / "out/causal/seed-0/config.yaml").unlink()  # killed while it was being written
    (tmp_path / "out/causal/seed-0/.config.yaml.9.tmp").write_text("half")
    assert main(again.split()[1:]) == 0
    assert not list((tmp_path / "out/causal/seed-0").glob(".*"))
    tiny, causal = results(tmp_path / "out")["rows"]
    assert {run["state"] for run in tiny["runs"]} == {"missing"}
    assert causal["runs"][0]["state"] == "finished"
    assert "--only" not in (tmp_path / "out/results.md").read_text()


def test_a_run_that_fails_does_not_stop_the_others(tmp_path, capsys):
    suite = json.loads(json.dumps(SUITE))
    suite["rows"]["tiny"]["settings"]["training"] |= {"lr": 1e30, "warmup_epochs": 0}
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(suite, sort_keys=False))
    code, out, err = said(capsys)
    assert code == 1
    assert len(re.findall(r"benchmark: tiny, seed [01]: failed: step 1: .*not finite", err)) == 2
    assert err.endswith("2 of 3 runs failed; try them again: eigenstate benchmark mine.yaml "
                        "--seeds 2 --out out\n")  # fmt: skip
    assert re.search(r"tiny, test set +missing  ≥ 2 %: runs missing\n", out)
    assert results(tmp_path / "out")["rows"][1]["runs"][0]["state"] == "finished"


# --- damaged, or another one ----------------------------------------------------------------------


def test_a_changed_setting_is_named_and_nothing_is_touched(finished, tmp_path, capsys):
    out = copied(finished, tmp_path)
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    write_suite(tmp_path, epochs=4)
    code, stdout, err = said(capsys)
    assert (code, stdout) == (2, "")
    assert "error: out/tiny/seed-0/config.yaml: training.epochs is 3 there, but 4 is asked" in err
    assert before == {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}


SUMMARY, EVALUATIONS = "tiny/seed-1/metrics.json", "tiny/seed-0/evaluations.json"
DAMAGES = [
    (SUMMARY, "", "not valid JSON"),
    (SUMMARY, "[1]", "expected names and values"),
    (SUMMARY, '{"test_accuracy": NaN}', "'test_accuracy' must be a number, got nan"),
    (SUMMARY, '{"test_accuracy": 0.5}', "'parameters' must be a number, got None"),
    (EVALUATIONS, "{", "not valid JSON"),
    (EVALUATIONS, "{}", "'evaluations' must be a list, got None"),
    (EVALUATIONS, '{"evaluations": [{"dt": 1}]}', "expected a 'figure' in {'dt': 1}"),
]


@pytest.mark.parametrize(("name", "text", "message"), DAMAGES)
def test_a_damaged_file_is_named_before_anything_is_trained(
    finished, tmp_path, monkeypatch, capsys, name, text, message
):
    out = copied(finished, tmp_path)
    (out / name).write_text(text)
    monkeypatch.setattr(SequenceTask, "training_step", never)
    for argv in ([], ["--only", "causal"], ["--seeds", "4"]):
        code, _, err = said(capsys, *argv)
        assert code == 2 and f"error: out/{name}: {message}" in err and err.count("\n") == 1
        assert "remove the file, and the same command judges the run again" in err
    (out / name).unlink()
    code, _, err = said(capsys)
    assert code == 0 and results(out) == results(finished)


def test_the_summary_of_another_run_is_refused(finished, tmp_path, capsys):
    out = copied(finished, tmp_path)
    (out / SUMMARY).write_text((out / "tiny/seed-0/metrics.json").read_text())
    code, _, err = said(capsys)
    assert code == 2 and "expected task 'japanese-vowels' and seed 1, got" in err


def test_a_folder_of_something_else_is_refused(tmp_path, capsys):
    (tmp_path / "out/tiny/seed-1").mkdir(parents=True)
    (tmp_path / "out/tiny/seed-1/metrics.json").write_text("{}")
    code, _, err = said(capsys)
    assert code == 2 and "out/tiny/seed-1: has metrics.json but no config.yaml" in err
