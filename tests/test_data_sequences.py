"""Labelled sequences of unequal length: sets, padded batches, standardising."""

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

from eigenstate.data import Sequences, Standardizer, get_task


def ragged() -> Sequences:
    values = [np.arange(1, 1 + 2 * n).reshape(n, 2) for n in (3, 1, 2)]
    return Sequences(values, [0, 2, 1], class_names=["a", "b", "c"])


def test_collate_pads_at_the_end_with_zeros() -> None:
    u, lengths, labels, dt = ragged().collate([ragged()[i] for i in range(3)])
    assert dt is None
    assert u.dtype == torch.float32 and u.shape == (3, 3, 2)
    assert lengths.tolist() == [3, 1, 2] and labels.tolist() == [0, 2, 1]
    assert u[1].tolist() == [[1, 2], [0, 0], [0, 0]]
    assert u[2].tolist() == [[1, 2], [3, 4], [0, 0]]


def test_a_loader_and_a_batch_by_index_agree() -> None:
    data = ragged()
    (loaded,) = DataLoader(data, batch_size=3, collate_fn=data.collate)
    for left, right in zip(loaded[:3], data.batch()[:3], strict=True):
        assert torch.equal(left, right)
    assert data.batch([1, 2]).u.shape == (2, 2, 2)


def test_sequences_own_their_values() -> None:
    source = np.ones((4, 2), dtype=np.float32)
    data = Sequences([source], [0], class_names=["only"])
    source[:] = 5
    assert data.sequences[0].max() == 1


def test_map_keeps_labels_and_names() -> None:
    data = ragged().map(lambda u: u[:1] * 2)
    assert data.lengths.tolist() == [1, 1, 1] and data.labels.tolist() == [0, 2, 1]
    assert data.class_names == ("a", "b", "c")
    assert data.sequences[0].tolist() == [[2, 4]]


@pytest.mark.parametrize(
    ("sequences", "labels", "message"),
    [
        ([], [], "sequences: expected at least one sequence, got none"),
        ([np.ones((3, 2)), np.ones((3, 4))], [0, 0], r"sequences\[1\]: expected 2 channels"),
        ([np.ones(3)], [0], r"sequences\[0\]: expected shape \(length, channels\)"),
        ([np.ones((0, 2))], [0], r"sequences\[0\]: expected shape .*got \(0, 2\)"),
        ([np.array([["a"]])], [0], r"sequences\[0\]: expected real numbers, got dtype <U1"),
        ([np.ones((2, 2)) * 1j], [0], r"sequences\[0\]: expected real numbers, got dtype complex"),
        ([np.array([[1.0], [np.nan]])], [0], r"sequences\[0\]: .*got nan at step 1, channel 0"),
        ([np.array([[-np.inf, 1.0]])], [0], r"sequences\[0\]: .*got -inf at step 0, channel 0"),
        ([np.ones((2, 2))], [0, 1], r"labels: expected 1 whole numbers.*got shape \(2,\)"),
        ([np.ones((2, 2))], [0.0], "labels: expected 1 whole numbers.*dtype float64"),
        ([np.ones((2, 2))] * 2, [1, 2], r"labels\[1\]: expected 0 to 1.*got 2"),
        ([np.ones((2, 2))] * 2, [-1, 0], r"labels\[0\]: expected 0 to 1.*got -1"),
    ],
)
def test_bad_sets_are_refused(sequences, labels, message) -> None:
    with pytest.raises(ValueError, match=message):
        Sequences(sequences, labels, class_names=["a", "b"])


def test_an_empty_batch_is_refused() -> None:
    with pytest.raises(ValueError, match="samples: expected at least one"):
        ragged().collate([])


# --- standardising -------------------------------------------------------------------------------


def test_standardizer_gives_every_channel_mean_0_and_deviation_1() -> None:
    train = get_task("japanese-vowels").load().train
    frames = torch.cat(Standardizer.fit(train).apply(train).sequences)
    assert frames.dtype == torch.float32
    torch.testing.assert_close(frames.mean(0), torch.zeros(12).float(), atol=1e-5, rtol=0)
    torch.testing.assert_close(frames.std(0, correction=0), torch.ones(12).float())


def test_standardizer_survives_being_written_down() -> None:
    fitted = Standardizer.fit(get_task("japanese-vowels").load().train)
    state = fitted.state()
    assert all(type(value) is float for values in state.values() for value in values)
    assert Standardizer.from_state(state) == fitted


def test_standardizer_treats_frames_as_it_treats_batches() -> None:
    standardize = Standardizer((1.0, 2.0), (0.5, 4.0))
    u = torch.randn(3, 5, 2)
    assert torch.equal(standardize(u)[1, 2], standardize(u[1, 2]))
    assert standardize(u.float()).dtype == torch.float32


def test_standardizer_leaves_a_constant_channel_finite() -> None:
    data = Sequences([[[1, 3], [2, 3]]], [0], class_names=["only"])
    assert Standardizer.fit(data) == Standardizer((1.5, 3.0), (0.5, 1.0))


def test_standardizer_refuses_what_does_not_fit() -> None:
    with pytest.raises(ValueError, match=r"u: expected 2 channels .* got shape \(4, 3\)"):
        Standardizer((0.0, 0.0), (1.0, 1.0))(torch.zeros(4, 3))
    with pytest.raises(ValueError, match="mean, scale: expected one number per channel"):
        Standardizer((0.0,), (1.0, 1.0))
    with pytest.raises(ValueError, match="scale: expected positive finite numbers"):
        Standardizer((0.0,), (0.0,))
