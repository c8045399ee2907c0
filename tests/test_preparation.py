"""What is learnt from a user's training series, remembered, and done to new ones."""

import json

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader
from true_formats import write

from eigenstate.data.own_data import read_own
from eigenstate.data.preparation import Preparation

NAN = np.nan
X = np.arange(24.0).reshape(2, 4, 3)
CSV = """id,time,x,"y, left",label
b,0,1,2.5,up
a,10,,4,down
b,0.5,3,?,up
a,11,7,8,down
"""


def classes(path):
    return read_own(path, kind="classification")


def npz(folder, **arrays):
    np.savez(folder / "a.npz", **arrays)
    return folder / "a.npz"


def prepare(path, kind="classification"):
    series = read_own(path, kind=kind)
    preparation = Preparation.fit(series, kind)
    state = json.loads(json.dumps(preparation.state()))
    assert Preparation.from_state(state) == preparation
    return series, preparation


def test_missing_values_become_masks_and_times(tmp_path):
    text = "id,time,x,z,label\n" + "".join(
        f"{row}\n"
        for row in ("a,0,,1,u", "a,2,4,2,u", "a,3,,3,u", "a,7,,4,u", "a,9,6,5,u", "b,0,5,6,v")
    )
    series, preparation = prepare(write(tmp_path / "a.csv", text))
    data = preparation.apply(series)
    assert preparation.incomplete == ("x",) and preparation.d_input == 4
    assert preparation.interval == 2.0 and preparation.class_names == ("u", "v")
    u, dt, label = data[0]
    x = np.array([4, 6, 5])
    held = np.array([NAN, 4, 4, 4, 6])
    expected = np.where(np.isnan(held), 0, (held - x.mean()) / x.std())
    np.testing.assert_allclose(u[:, 0], expected, rtol=1e-6)
    z = np.arange(1, 7)
    np.testing.assert_allclose(u[:, 1], (z[:5] - z.mean()) / z.std(), rtol=1e-6)
    assert u[:, 2].tolist() == [0, 1, 0, 0, 1]
    since = np.array([0, 0, 0.5, 2.5, 0, 0])
    np.testing.assert_allclose(u[:, 3], (since[:5] - since.mean()) / since.std(), rtol=1e-5)
    assert dt.tolist() == [1, 1, 0.5, 2, 1] and label == 0


def test_a_batch_carries_intervals_only_where_they_differ(tmp_path):
    text = "id,time,x,label\n" + "".join(
        f"{name},{t * 0.1:.1f},{t},{name}\n" for name in "ab" for t in range(3 + (name == "a"))
    )
    series, preparation = prepare(write(tmp_path / "a.csv", text))
    data = preparation.apply(series)
    (batch,) = DataLoader(data, batch_size=2, collate_fn=data.collate)
    assert batch.dt is None and batch.u.shape == (2, 4, 1) and batch.labels.tolist() == [0, 1]
    assert batch.lengths.tolist() == [4, 3] and batch.u.dtype == torch.float32
    slow = write(tmp_path / "b.csv", "id,time,x,label\na,0,1,a\na,0.2,1,a\nb,1,3,b\n")
    new = preparation.apply(classes(slow))
    assert new.collate([new[0], new[1]]).dt.tolist() == [[1, 2], [1, 0]]


def test_targets_are_nan_where_nothing_is_asked(tmp_path):
    path = write(tmp_path / "a.csv", "id,x,label\na,1,5\na,2,\nb,3,6\n")
    series, preparation = prepare(path, "regression")
    data = preparation.apply(series)
    labels = data.collate([data[0], data[1]], pad_to=3).labels
    np.testing.assert_array_equal(labels[..., 0], [[5, NAN, NAN], [6, NAN, NAN]])
    assert preparation.outputs == 1 and preparation.class_names == ()


def test_a_constant_channel_stays_small(tmp_path):
    series, preparation = prepare(npz(tmp_path, X=np.full((2, 1000, 1), 0.1), y=[0, 1]))
    assert preparation.scale == (1.0,) and abs(preparation.apply(series)[0][0]).max() < 1e-6


def test_numbers_as_classes_sort_by_size(tmp_path):
    _, preparation = prepare(npz(tmp_path, X=np.zeros((4, 1, 1)), y=["10", "9", "x", "-1"]))
    assert preparation.class_names == ("-1", "9", "10", "x")


def test_new_series_need_no_labels_to_be_predicted(tmp_path):
    _, preparation = prepare(write(tmp_path / "a.csv", CSV))
    new = classes(write(tmp_path / "b.csv", 'id,time,x,"y, left"\nq,0,1,2\n'))
    assert len(preparation.apply(new, labelled=False)) == 1
    with pytest.raises(
        ValueError, match="labels: expected a class for each series, got a file wit"
    ):
        preparation.apply(new)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("x,", "w,"), r"channels: expected \['x', 'y, left'\] in this order.*got \['w'"),
        (("id,time", "id,clock"), "channels: expected"),
        (
            ("down", "left"),
            "id 'a': the class 'left' is not in the training set, which has down, up",
        ),
        (("7,8", "inf,8"), "id 'a', sample 1: expected a finite value in channel 'x', got inf"),
    ],
)
def test_series_that_do_not_fit_the_training_are_refused(tmp_path, change, message):
    _, preparation = prepare(write(tmp_path / "a.csv", CSV))
    with pytest.raises(ValueError, match=message):
        preparation.apply(classes(write(tmp_path / "b.csv", CSV.replace(*change))))


def test_what_was_never_missing_must_not_be_missing(tmp_path):
    _, preparation = prepare(npz(tmp_path, X=X, y=[0, 1]))
    gap = X.copy()
    gap[1, 2, 0] = NAN
    with pytest.raises(
        ValueError, match="series 1, sample 2: channel 'channel 0' is missing, which"
    ):
        preparation.apply(classes(npz(tmp_path, X=gap, y=[0, 1])))
    with pytest.raises(
        ValueError, match="times: the model was trained without times, these come w"
    ):
        times = np.tile(np.arange(4), (2, 1))
        preparation.apply(classes(npz(tmp_path, X=X, y=[0, 1], times=times)))


@pytest.mark.parametrize(
    ("arrays", "kind", "message"),
    [
        ({}, "classification", "labels: expected a class for each series"),
        ({"y": [1, 1]}, "classification", r"labels: expected at least two classes .*got \['1'\]"),
        ({}, "regression", "labels: expected a target for each series"),
        ({"y": [NAN, NAN]}, "regression", "labels: expected numbers in the training set"),
        ({"y": [1, np.inf]}, "regression", "series 1, sample 3: expected a finite target, got inf"),
        ({"X": X * NAN, "y": [1, 2]}, "regression", "channel 'channel 0': expected a value in the"),
        (
            {"X": X + np.inf, "y": [1, 2]},
            "regression",
            "series 0, sample 0: expected a finite value",
        ),
    ],
)
def test_nothing_can_be_learnt_from_these(tmp_path, arrays, kind, message):
    series = read_own(npz(tmp_path, **{"X": X, **arrays}), kind=kind)
    with pytest.raises(ValueError, match=message):
        Preparation.fit(series, kind)
