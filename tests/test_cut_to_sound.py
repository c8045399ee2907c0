"""Spoken words: recordings cut to their sound, in the files of Speech Commands."""

import numpy as np
import pytest
import torch
from true_formats import WORDS, wav, write, write_speech

from eigenstate.data import get_task
from eigenstate.data.decimation import Decimated

TASK = get_task("spoken-words")


pytestmark = pytest.mark.usefixtures("cache")


@pytest.fixture
def recordings(tmp_path):
    """Every recording has silence around 3 to 40 samples, with a zero amid them."""
    folder = tmp_path / "data"
    sounds = write_speech(folder)
    rng = np.random.default_rng(0)
    for name in sounds:
        sound = rng.integers(1, 2**15, rng.integers(3, 40))
        sound[1] = 0
        sounds[name] = sound
        before, after = np.zeros((2, 100), dtype=int)
        write(folder / name, wav(np.concatenate([before, sound, after])))
    return folder, sounds


def test_the_silence_around_a_word_is_cut_off_and_all_is_divided_alike(recordings) -> None:
    folder, sounds = recordings
    splits = TASK.load(folder)
    assert (len(splits.train), len(splits.validation), len(splits.test)) == (70, 35, 35)
    learnt = np.zeros((70, 16_000))
    train = [s for name, s in sounds.items() if name.split("/")[1][:8] in ("00000000", "00000001")]
    for row, sound in zip(learnt, train, strict=True):
        row[: len(sound)] = sound
    batch = splits.test.collate([splits.test[i] for i in range(35)])
    for row, n, label in zip(batch.u, batch.lengths.tolist(), batch.labels, strict=True):
        sound = sounds[f"{TASK.class_names[label]}/00000003_nohash_0.wav"]
        np.testing.assert_allclose(row[:n, 0], sound / learnt.std(), rtol=1e-5)
        assert n == len(sound) and (row[n:] == 0).all()
    assert sorted(TASK.class_names) == WORDS


def test_pads_and_half_the_rate(recordings) -> None:
    folder, _ = recordings
    test = TASK.load(folder).test
    items = [test[i] for i in range(5)]
    whole, longer = test.collate(items), test.collate(items, pad_to=100)
    assert longer.u.shape == (5, 100, 1) and longer.u[:, : whole.u.shape[1]].equal(whole.u)
    half = Decimated(test, 2).collate(items)
    for row, n, before in zip(half.u, half.lengths.tolist(), items, strict=True):
        assert n == (len(before[0]) + 1) // 2
        torch.testing.assert_close(row[:n] / row[0], (before[0][::2] / before[0][0]).float())
    with pytest.raises(ValueError, match="at least one sequence"):
        test.collate([])


def test_a_recording_of_silence_keeps_one_sample(recordings) -> None:
    folder, _ = recordings
    write(folder / "bed" / "00000003_nohash_0.wav", wav(np.zeros(50, dtype=int)))
    q, label = TASK.load(folder).test[0]
    assert q.tolist() == [[0]] and label == 0
