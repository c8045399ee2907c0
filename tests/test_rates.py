"""The same recordings at another rate: what is kept, what is filtered, and a run judged on it."""

import math

import numpy as np
import pytest
import scipy.signal
import torch

from eigenstate.cli import main
from eigenstate.data import Batch, Sequences, get_task
from eigenstate.data.decimation import Decimated


def ragged() -> Sequences:
    rng = np.random.default_rng(0)
    rows = [rng.standard_normal((length, 2)) for length in (7, 1, 12)]
    return Sequences(rows, [0, 1, 0], class_names=["a", "b"])


def everything(data, **more) -> Batch:
    return data.collate([data[i] for i in range(len(data))], **more)


@pytest.mark.parametrize("factor", [1, 2, 3, 20])
def test_every_kth_sample_of_each_row_is_kept(factor):
    whole = ragged()
    u, lengths, labels, dt = everything(Decimated(whole, factor))
    assert dt is None and labels.tolist() == [0, 1, 0]
    for row, values, length in zip(u, whole.sequences, lengths.tolist(), strict=True):
        expected = values[::factor]
        assert length == len(expected) == math.ceil(len(values) / factor)
        assert torch.equal(row[:length], expected) and not row[length:].any()


def test_the_published_length_of_pads_is_that_of_the_whole():
    assert everything(Decimated(ragged(), 2), pad_to=15).u.shape == (3, 8, 2)


def test_a_filter_takes_away_what_the_lower_rate_cannot_hold():
    time = np.arange(400)
    slow, fast = np.sin(2 * np.pi * 0.02 * time), np.sin(2 * np.pi * 0.48 * time)
    data = Sequences([(slow + fast)[:, None]], [0], class_names=["a"])
    naive = everything(Decimated(data, 2)).u[0, :, 0].numpy()
    filtered = everything(Decimated(data, 2, filtered=True)).u[0, :, 0].numpy()
    inner = slice(20, -20)
    assert np.abs(naive - slow[::2])[inner].max() > 0.9
    assert np.abs(filtered - slow[::2])[inner].max() < 0.01
    truth = scipy.signal.resample_poly(slow + fast, 1, 2, padtype="line")
    np.testing.assert_allclose(filtered, truth, atol=1e-6)


class Timed(Sequences):
    """Sequences whose samples are 1, 2, 3, ... apart."""

    def collate(self, samples, pad_to=None):
        batch = super().collate(samples, pad_to)
        return batch._replace(dt=torch.arange(1.0, batch.u.shape[1] + 1).expand(batch.u.shape[:2]))


def test_intervals_add_up_between_the_samples_kept():
    whole = ragged()
    timed = Timed(whole.sequences, whole.labels, class_names=whole.class_names)
    dt = everything(Decimated(timed, 3)).dt
    # The samples kept are 0, 3, 6, 9: their times are 1, 1 + 2 + 3 + 4, ...
    assert dt.tolist() == [[1.0, 9.0, 18.0, 27.0]] * 3


@pytest.mark.parametrize("factor", [0, -1, 1.5, True])
def test_a_factor_that_is_none(factor):
    with pytest.raises(ValueError, match="decimate must be a whole number from 1 up, got"):
        Decimated(ragged(), factor)


def test_what_has_no_lower_rate_says_so():
    class Tokens(Sequences):
        def collate(self, samples, pad_to=None):
            batch = super().collate(samples, pad_to)
            return batch._replace(u=batch.u[..., 0].long())

    tokens = Tokens(ragged().sequences, [0, 1, 0], class_names=["a", "b"])
    with pytest.raises(ValueError, match="tokens, images and labels at every sample have no lower"):
        everything(Decimated(tokens, 2))


def test_mnist1d_at_another_rate_is_a_task():
    task = get_task("mnist1d-80")
    splits = task.load()
    assert task.max_length == 80 and splits.test[0][0].shape == (80, 1)
    assert torch.equal(splits.test.labels, get_task("mnist1d").load().test.labels)
    with pytest.raises(ValueError, match="length: expected a whole number of at least 2"):
        get_task("mnist1d-1")


def test_a_run_is_judged_at_another_rate(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    small = ["--model.d_model=4", "--model.n_layers=1", "--training.epochs=1", "--out=run"]
    small += ["--model.layer_options.d_state=4", "--training.batch_size=500"]
    assert main(["train", "mnist1d-20", "--preset", "s5-mnist1d", *small]) == 0

    def judged(*more):
        capsys.readouterr()
        code = main(["evaluate", "run", *more])
        out, err = capsys.readouterr()
        return (code, out.splitlines()[1]) if code == 0 else (code, err)

    plain = judged()
    assert judged("--dt", "1") == judged("--decimate", "1") == plain
    others = [
        judged("--decimate", "2", "--dt", "2"),
        judged("--decimate", "2"),
        judged("--decimate", "2", "--filter", "--dt", "2"),
        judged("--task", "mnist1d-40", "--dt", "0.5"),
        judged("--task", "mnist1d-40"),
    ]
    assert others[0] != others[1] and others[0] != others[2] and others[3] != others[4]
    code, err = judged("--task", "japanese-vowels")
    assert code == 2 and "'japanese-vowels' asks something else than 'mnist1d-20'" in err
    for argv in (["--decimate", "0"], ["--dt", "-1"], ["--dt", "nan"], ["--task", "mnist"]):
        code, err = judged(*argv)
        assert code == 2 and err.startswith("eigenstate evaluate: error: ") and err.count("\n") == 1
