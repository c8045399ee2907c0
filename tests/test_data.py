"""The tasks: how they are found, what is shipped, what is generated."""

import hashlib
import pickle
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
import torch

from eigenstate.data import get_task, japanese_vowels, mnist1d, tasks

GOLDEN = Path(__file__).parent / "golden"


# --- tasks ---------------------------------------------------------------------------------------


def test_tasks_are_listed_by_name() -> None:
    names = [task.name for task in tasks()]
    assert names == sorted(names) and {"japanese-vowels", "mnist1d"} <= set(names)
    for task in tasks():
        assert get_task(task.name) is task
        assert "\n" not in task.summary
        assert task.source and task.licence
        assert (task.loader is None) != (task.reader is None)
        assert (task.n_classes == 0) == (task.kind == "regression") == (task.n_outputs > 0)


@pytest.mark.parametrize("name", ["japanese-vowels", "mnist1d"])
def test_a_task_describes_what_it_loads(name) -> None:
    task = get_task(name)
    splits = task.load()[:2]
    assert max(int(split.lengths.max()) for split in splits) == task.max_length
    for split in splits:
        assert split.d_input == task.d_input
        assert split.class_names == task.class_names and len(split.class_names) == task.n_classes
        assert set(split.labels.tolist()) == set(range(task.n_classes))
        assert all(values.dtype == torch.float32 for values in split.sequences)
        assert split.labels.dtype == split.lengths.dtype == torch.int64


@pytest.mark.parametrize("name", ["japanese-vowel", "Japanese_Vowels", "japanesevowels"])
def test_a_misspelt_task_is_guessed(name) -> None:
    with pytest.raises(ValueError, match=r"Did you mean 'japanese-vowels'\?.*mnist1d"):
        get_task(name)


def test_an_unknown_task_lists_what_there_is() -> None:
    with pytest.raises(
        ValueError, match=r"no task is called 'zebra'\. Tasks: .*japanese-vowels, listops"
    ):
        get_task("zebra")


def test_a_task_with_its_own_data_refuses_a_path() -> None:
    with pytest.raises(ValueError, match="data: the task 'mnist1d' brings its own data"):
        get_task("mnist1d").load("/somewhere")


# --- JapaneseVowels ------------------------------------------------------------------------------


def test_japanese_vowels_is_the_file_it_says() -> None:
    folder = files("eigenstate.data")
    digest = hashlib.sha256(folder.joinpath("japanese_vowels.npz").read_bytes()).hexdigest()
    text = folder.joinpath("japanese_vowels.md").read_text(encoding="utf-8")
    assert f"sha256 {digest}" in text
    assert "CC BY 4.0" in text and "10.24432/C5NS47" in text


def test_japanese_vowels_has_the_published_shape() -> None:
    train, test, _ = get_task("japanese-vowels").load()
    assert torch.bincount(train.labels).tolist() == [30] * 9
    assert torch.bincount(test.labels).tolist() == [31, 35, 88, 44, 29, 24, 40, 50, 29]
    lengths = torch.cat([train.lengths, test.lengths])
    assert (int(lengths.min()), int(lengths.max()), int(lengths.sum())) == (7, 29, 9961)


def test_japanese_vowels_keeps_every_printed_decimal() -> None:
    """The first and last printed values, and a sum that float64 rounding cannot hide."""
    values = japanese_vowels.recordings()["values"]
    assert values.shape == (9961, 12) and values.dtype == np.float64
    assert values[0, :3].tolist() == [1.860936, -0.207383, 0.261557]
    assert values[1, 0] == 1.891651 and values[-1, 0] == 1.177449
    printed = [f"{value:.6f}" for value in values.ravel()]
    assert [float(text) for text in printed] == values.ravel().tolist()
    millionths = sum(int(text.replace(".", "")) for text in printed)
    assert millionths == -3_203_965_733


def test_japanese_vowels_cannot_be_overwritten() -> None:
    with pytest.raises(ValueError, match="read-only"):
        japanese_vowels.recordings()["values"][0] = 0
    first = get_task("japanese-vowels").load().train
    first.sequences[0].zero_()
    assert get_task("japanese-vowels").load().train.sequences[0].abs().sum() > 0


# --- MNIST-1D ------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [40, 80, 160])
def test_mnist1d_equals_the_official_arrays(length) -> None:
    """Rows as they are, and three weighted sums of all 5,000 rows that any other row would move."""
    golden = np.load(GOLDEN / "mnist1d.npz")
    x, y = mnist1d.arrays(length)
    assert x.shape == (5000, length) and x.dtype == np.float64
    np.testing.assert_array_equal(y, golden["labels"])
    np.testing.assert_allclose(x[:3], golden[f"first_{length}"], rtol=0, atol=1e-12)
    np.testing.assert_allclose(x[4000:4003], golden[f"first_test_{length}"], rtol=0, atol=1e-12)
    sketch = np.cos(np.outer((0.3, 0.7, 1.1), np.arange(5000))) @ x
    np.testing.assert_allclose(sketch, golden[f"sketch_{length}"], rtol=0, atol=1e-10)


def test_mnist1d_is_split_as_published() -> None:
    train, test, _ = get_task("mnist1d").load()
    assert (len(train), len(test)) == (4000, 1000)
    x, y = mnist1d.arrays(40)
    assert train.sequences[7].shape == (40, 1)
    np.testing.assert_array_equal(train.sequences[7][:, 0].numpy(), x[7].astype(np.float32))
    np.testing.assert_array_equal(test.labels.numpy(), y[4000:])


def test_mnist1d_at_another_length_is_the_same_signal() -> None:
    """At 79 points every second one is a point of the published 40, up to the standardising."""
    coarse, labels = mnist1d.arrays(40)
    fine, same = mnist1d.arrays(79)
    np.testing.assert_array_equal(labels, same)
    slope, offset = np.polyfit(fine[:, ::2].ravel(), coarse.ravel(), 1)
    np.testing.assert_allclose(slope * fine[:, ::2] + offset, coarse, atol=1e-12)


def test_mnist1d_leaves_the_global_random_state_alone() -> None:
    before = pickle.dumps(np.random.get_state()), torch.get_rng_state()
    mnist1d._signals.cache_clear()
    mnist1d.arrays.cache_clear()
    mnist1d.arrays(40)
    assert pickle.dumps(np.random.get_state()) == before[0]
    assert torch.equal(torch.get_rng_state(), before[1])


@pytest.mark.parametrize("length", [1, 0, -3, 40.0, True, "40"])
def test_mnist1d_refuses_a_bad_length(length) -> None:
    with pytest.raises(ValueError, match="length: expected a whole number of at least 2, got"):
        mnist1d.load(length)
