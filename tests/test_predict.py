"""What a run predicts for new series: compared with how it is judged, and with the model itself."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from own_files import GAITS, SMALL, read_table, walks, write_levels, write_table, write_walks
from true_formats import write

from eigenstate.cli import main
from eigenstate.data import Batch
from eigenstate.files import replace_file
from eigenstate.models import Gaussian
from eigenstate.training.objectives import TARGETS, own_targets
from eigenstate.training.own import read_new
from eigenstate.training.runs import Run
from eigenstate.training.trained import load_trained, score

NAN = float("nan")


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def trained(task, name, *more):
    assert main(["train", task, "--data", name, "--out", "run", *SMALL, *more]) == 0


def predicted(capsys, *argv):
    capsys.readouterr()
    code = main(["predict", "run", *argv])
    return (code, *capsys.readouterr())


# --- classes --------------------------------------------------------------------------------------


def test_classes_and_their_probabilities(capsys, tmp_path):
    rows = read_table(write_walks(tmp_path / "walks.csv"))
    trained("classify", "walks.csv", "--columns.channels=[x,y]")
    code, out, err = predicted(capsys, "--data", "walks.csv")
    assert (code, err) == (0, "")
    assert out == "predicted on 30 sequences\npredictions  predictions.csv, 30 rows\n"
    table = read_table(tmp_path / "predictions.csv")
    assert list(table[0]) == ["id", "class", *(f"p({name})" for name in GAITS)]
    assert [row["id"] for row in table] == [f"s{i}" for i in range(30)]
    truth = {row["id"]: row["label"] for row in rows}
    for row in table:
        p = [float(row[f"p({name})"]) for name in GAITS]
        assert sum(p) == pytest.approx(1, abs=1e-8) and row["class"] == GAITS[int(np.argmax(p))]
    right = np.mean([row["class"] == truth[row["id"]] for row in table])
    capsys.readouterr()
    main(["evaluate", "run", "--data", "walks.csv"])
    assert capsys.readouterr().out.startswith(f"test accuracy {right:.2%} ")


def test_labels_are_not_looked_at(capsys, tmp_path):
    write_walks(tmp_path / "walks.csv")
    trained("classify", "walks.csv", "--columns.channels=[x,y]")
    bare = [[row[0], *row[2:5]] for row in walks()]
    write_table(tmp_path / "bare.csv", ["id", "time", "x", "y"], bare)
    odd = [[*row[:5], ["", "new"][i % 2]] for i, row in enumerate(walks())]
    write_table(tmp_path / "odd.csv", ["id", "person", "time", "x", "y", "label"], odd)
    texts = []
    for name in ("walks", "bare", "odd"):
        assert predicted(capsys, "--data", f"{name}.csv", "--out", f"{name}.out")[0] == 0
        texts.append((tmp_path / f"{name}.out").read_text())
    assert texts[0] == texts[1] == texts[2]


def test_series_without_names_are_numbered(capsys, tmp_path):
    text = "@classLabel true a b\n@data\n" + "1,2:a\n2,1:b\n" * 6
    write(tmp_path / "a.ts", text)
    trained("classify", "a.ts")
    write(tmp_path / "new.ts", "@classLabel false\n@data\n1,2,3\n1\n")
    assert predicted(capsys, "--data", "new.ts")[0] == 0
    assert [row["id"] for row in read_table(tmp_path / "predictions.csv")] == ["0", "1"]


def assert_labels_are_not_looked_at(capsys, new, writers):
    """Files with the same series and other labels, the first as it was learnt from."""
    texts = []
    for write_new in writers:
        write_new()
        out = Path(f"{len(texts)}.csv")
        assert predicted(capsys, "--data", new, "--out", str(out))[0] == 0
        texts.append(out.read_text())
        if len(texts) > 1:
            assert main(["evaluate", "run", "--data", new]) == 2
    assert len(set(texts)) == 1


@pytest.mark.parametrize("task", ["classify", "regress"])
def test_labels_in_arrays_are_not_looked_at(capsys, tmp_path, task):
    x = np.random.default_rng(0).standard_normal((12, 4, 1))
    np.savez(tmp_path / "a.npz", X=x, y=np.arange(12) % 2)
    trained(task, "a.npz")
    labels = (np.arange(12) % 2, [NAN] * 12, ["?"] * 12, [], np.array([None]), ["new"] * 12)
    writers = [partial(np.savez, tmp_path / "new.npz", X=x, y=y) for y in labels]
    assert_labels_are_not_looked_at(capsys, "new.npz", writers)


def test_labels_in_ts_files_are_not_looked_at(capsys, tmp_path):
    text = "@classLabel true a b\n@data\n" + "1,2:a\n2,1:b\n" * 6
    write(tmp_path / "a.ts", text)
    trained("classify", "a.ts")
    files = [text, *(text.replace(":a", label) for label in (":?", ":", ":c"))]
    files += [text.replace("@classLabel true a b", "@targetLabel true")]
    writers = [partial(write, tmp_path / "new.ts", new) for new in files]
    assert_labels_are_not_looked_at(capsys, "new.ts", writers)


# --- numbers --------------------------------------------------------------------------------------


def test_numbers_along_each_series_are_in_the_label_s_units(capsys, tmp_path):
    rows = read_table(write_levels(tmp_path / "a.csv"))
    trained("regress", "a.csv", "--columns.channels=[x,y]", "--training.epochs=4")
    assert "1 number asked along each series, in training 10" in capsys.readouterr().err
    code, out, _ = predicted(capsys, "--data", "a.csv")
    assert code == 0 and f"{len(rows)} rows" in out
    table = read_table(tmp_path / "predictions.csv")
    assert list(table[0]) == ["id", "time", "mean", "deviation"]
    assert [(r["id"], float(r["time"])) for r in table] == [
        (r["id"], float(r["time"])) for r in rows
    ]
    assert all(float(row["deviation"]) > 0 for row in table)
    pairs = [
        (float(p["mean"]), float(r["label"]))
        for p, r in zip(table, rows, strict=True)
        if r["label"]
    ]
    mse = float(np.mean([(mean - label) ** 2 for mean, label in pairs]))
    capsys.readouterr()
    main(["evaluate", "run", "--data", "a.csv"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"test mean square error {mse:.3e} at")
    assert lines[1].endswith(f" {mse**0.5:.4g}, in the units of the label")
    assert lines[2].endswith("negative log-likelihood of standardised labels, nats")
    assert lines[0][23] == lines[1][23] or lines[1].startswith("its root               ")


def test_the_figure_does_not_depend_on_how_series_are_batched(tmp_path):
    write_levels(tmp_path / "a.csv")
    trained("regress", "a.csv", "--columns.channels=[x,y]")
    run = Run.open(tmp_path / "run")
    _, data = read_new(run, tmp_path / "a.csv", labelled=True)
    model = load_trained(run).model
    scores = []
    for size in (1, 7, 64):
        object.__setattr__(run.settings.training, "batch_size", size)
        scores.append(score(run, model, data))
    assert {s.total for s in scores} == {30}
    for name in ("figure", "loss"):
        values = [getattr(s, name) for s in scores]
        np.testing.assert_allclose(values, values[0], rtol=1e-5)


def test_one_number_a_series_is_one_row(capsys, tmp_path):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((20, 6, 1))
    y = np.stack([x[:, :, 0].sum(1), 1e6 + x[:, 0, 0]], axis=1)
    np.savez(tmp_path / "a.npz", X=x, y=y)
    trained("regress", "a.npz")
    assert "2 numbers asked at the end of each series" in capsys.readouterr().err
    np.savez(tmp_path / "new.npz", X=x[:3])
    assert predicted(capsys, "--data", "new.npz", "--out", "p.csv")[0] == 0
    table = read_table(tmp_path / "p.csv")
    assert list(table[0]) == ["id", "mean 0", "deviation 0", "mean 1", "deviation 1"]
    assert len(table) == 3 and all(abs(float(row["mean 1"]) - 1e6) < 10 for row in table)
    code, _, err = predicted(capsys, "--data", "a.npz", "--out", "p.csv")
    assert code == 2 and "p.csv: is there already; remove it or choose another --out" in err


# --- tasks ----------------------------------------------------------------------------------------


def test_a_task_s_run_predicts_its_test_set(capsys, tmp_path):
    argv = ["train", "japanese-vowels", "--out", "run", *SMALL, "--training.batch_size=90"]
    assert main(argv) == 0
    assert predicted(capsys)[0] == 0
    table = read_table(tmp_path / "predictions.csv")
    assert len(table) == 370 and len(table[0]) == 2 + 9
    from eigenstate.data import get_task

    task = get_task("japanese-vowels")
    labels = task.load().test.labels.tolist()
    right = np.mean([r["class"] == task.class_names[i] for r, i in zip(table, labels, strict=True)])
    capsys.readouterr()
    main(["evaluate", "run"])
    assert f" {right:.2%} " in capsys.readouterr().out


# --- refused --------------------------------------------------------------------------------------


def test_nothing_is_half_written(capsys, tmp_path, monkeypatch):
    write_walks(tmp_path / "walks.csv")
    trained("classify", "walks.csv", "--columns.channels=[x,y]")
    rows = walks()
    rows[-1][3] = "1e30"
    write_table(tmp_path / "huge.csv", ["id", "person", "time", "x", "y", "label"], rows)
    before = set(tmp_path.iterdir())
    refused = [
        ([], "which series? eigenstate predict RUN --data PATH"),
        (["--data", "gone.csv"], "data: no such file: gone.csv"),
        (
            ["--data", "walks.csv", "--out", "no/a.csv"],
            "no/a.csv: could not be written: No such file",
        ),
        (["--data", "walks.csv", "--out", "walks.csv"], "walks.csv: is there already"),
    ]
    for argv, message in refused:
        code, out, err = predicted(capsys, *argv)
        assert (code, out) == (2, "") and message in err and err.count("\n") == 1
    assert main(["predict"]) == 2 and main(["predict", "none"]) == 2
    assert set(tmp_path.iterdir()) == before

    def full(path, fill):
        def stop(file):
            fill(file)
            raise OSError(28, "No space left on device")

        replace_file(path, stop)

    monkeypatch.setattr("eigenstate.training.predictions.replace_file", full)
    code, _, err = predicted(capsys, "--data", "walks.csv")
    full = "predictions.csv: could not be written: No space left on device; make room on its disk"
    assert code == 2 and full in err
    assert set(tmp_path.iterdir()) == before


def test_a_prediction_that_is_not_finite_is_refused(capsys, tmp_path):
    write_walks(tmp_path / "walks.csv")
    trained("classify", "walks.csv", "--columns.channels=[x,y]")
    run = Run.open(tmp_path / "run")
    bad = load_trained(run)
    with torch.no_grad():
        next(bad.model.parameters()).fill_(3e38)
    from eigenstate.training.predictions import Unknown, write_predictions

    series, data = read_new(run, tmp_path / "walks.csv", labelled=False)
    with pytest.raises(ValueError, match="the prediction for 's0' is not finite"):
        write_predictions(tmp_path / "p.csv", run, bad, Unknown(data, series.ids, series.times))
    assert not (tmp_path / "p.csv").exists() and not list(tmp_path.glob(".p*"))


# --- what is not asked ----------------------------------------------------------------------------


def test_nan_targets_count_for_nothing():
    torch.manual_seed(1)
    mean = torch.randn(2, 3, 2, requires_grad=True)
    raw = torch.rand(2, 3, 2) + 0.5
    labels = torch.randn(2, 3, 2)
    labels[0, 0] = NAN
    labels[0, 1, 1] = NAN
    batch = Batch(torch.zeros(2, 3, 1), torch.tensor([3, 2]), labels)
    out = Gaussian(mean, raw)
    # Asked are one target at (0, 1), both at (0, 2), (1, 0), (1, 1), and none at the pad (1, 2).
    asked = [(0, 1, 0), (0, 2, 0), (0, 2, 1), (1, 0, 0), (1, 0, 1), (1, 1, 0), (1, 1, 1)]
    normal = [
        -torch.distributions.Normal(mean[i], raw[i].sqrt()).log_prob(labels[i]) for i in asked
    ]
    loss = TARGETS.loss(out, batch)
    torch.testing.assert_close(loss, sum(normal) / 4)
    (gradient,) = torch.autograd.grad(loss, mean)
    zero = {(0, 0, 0), (0, 0, 1), (0, 1, 1), (1, 2, 0), (1, 2, 1)}
    for index in np.ndindex(2, 3, 2):
        assert (gradient[index] == 0) == (index in zero)
    assert TARGETS.weight(batch) == 4
    out = Gaussian(mean.detach(), raw)
    error = {i: float((out.mean[i] - labels[i]) ** 2) for i in asked}
    samples = [
        error[0, 1, 0],
        *((error[*s, 0] + error[*s, 1]) / 2 for s in ((0, 2), (1, 0), (1, 1))),
    ]
    assert float(TARGETS.figure(out, batch)) == pytest.approx(np.mean(samples))
    scaled = [
        error[0, 1, 0] * 9,
        *((error[*s, 0] * 9 + error[*s, 1] * 0.25) / 2 for s in ((0, 2), (1, 0), (1, 1))),
    ]
    assert float(own_targets((3.0, 0.5)).figure(out, batch)) == pytest.approx(np.mean(scaled))


def test_a_batch_that_asks_nothing_teaches_nothing():
    mean = torch.randn(2, 3, 1, requires_grad=True)
    batch = Batch(torch.zeros(2, 3, 1), torch.tensor([3, 2]), torch.full((2, 3, 1), NAN))
    loss = TARGETS.loss(Gaussian(mean, torch.ones(2, 3, 1)), batch)
    (gradient,) = torch.autograd.grad(loss, mean)
    assert loss == 0 and not gradient.any() and TARGETS.weight(batch) == 0
