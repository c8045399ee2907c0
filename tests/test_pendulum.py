"""The pendulum: the published arrays to the last pixel, how they are kept, and their batches."""

import hashlib
from pathlib import Path

import numpy as np
import pytest
import torch

from eigenstate.data import cache, pendulum
from eigenstate.data import pendulum_simulation as simulation
from eigenstate.data.pendulum import PENDULUM, Frames

GOLDEN = Path(__file__).parent / "golden"
# Of the published arrays: uint8 (N, 50, 24, 24) and int64 (N, 50).
PUBLISHED = {
    "train_images": "2b2c826dc26f00fd47518ba5a0566f42357ed0ef5f9821e1c45264cc4c72d7b2",
    "train_times": "11705e6c15d8d462f6dbcacd3d6ef9b8b26f2b5389770732abcd670df95bb43e",
    "test_images": "08d7af5628a7807e8988428b74a76ce1b9003b60a93582d7dbfa9a1a58a6e3f4",
    "test_times": "ea8b101f14dece3bf33358f7d1e5d925a706d1adf2ae0468524b661262abff5f",
    "validation_images": "ebf8dee8a4ca16e3f0149ed634fdc91b47e29f60b9f664f56a5917faf0db8384",
    "validation_times": "be38154566329c1f0123eed34a8b84a17a315a044f215ed4e14f6c6c8a35288c",
}


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    pendulum.load.cache_clear()
    yield
    pendulum.load.cache_clear()


@pytest.fixture
def four_sequences(monkeypatch):
    """A generator of 2 + 1 + 1 sequences in place of the 4,000, and how often it ran."""
    runs = []

    def generate():
        runs.append(1)
        return real((2, 1, 1))

    real = pendulum.generate
    monkeypatch.setattr(pendulum, "generate", generate)
    return runs


# --- the published arrays -------------------------------------------------------------------------


def test_the_first_sequences_of_300_are_the_published_ones():
    """All draws for 300 sequences come before the first noise image, so 300 it has to be."""
    golden = np.load(GOLDEN / "pendulum.npz")
    part = simulation.simulate(300, np.random.RandomState(42), first_seed=2000)
    compared = 0
    for i in range(4):
        np.testing.assert_array_equal(part.targets[i], golden["targets"][i, part.times[i]])
        for image, time in zip(part.images[i], part.times[i], strict=True):
            if time % 4 == 0:
                np.testing.assert_array_equal(image, golden["every_fourth_frame"][i, time // 4])
                compared += 1
    assert compared > 40


@pytest.mark.slow
def test_all_4000_sequences_are_the_published_ones():
    arrays = pendulum.generate()
    digests = {name: hashlib.sha256(arrays[name].tobytes()).hexdigest() for name in PUBLISHED}
    assert digests == PUBLISHED
    assert arrays["train_targets"].mean() == pytest.approx(0.188288003, abs=1e-7)
    assert arrays["test_targets"].mean() == pytest.approx(0.188085824, abs=1e-7)


def test_the_simulation_leaves_the_global_random_state_alone():
    before = np.random.get_state()[1].copy()
    simulation.simulate(1, np.random.RandomState(1), first_seed=0)
    np.testing.assert_array_equal(np.random.get_state()[1], before)


@pytest.mark.parametrize("angle", np.linspace(0, 6, 7))
def test_the_rod_points_where_the_angle_says(angle):
    (image,) = simulation.frames(np.array([angle]))
    rows, columns = np.indices(image.shape)
    across, down = ((image * axis).sum() / image.sum() - 11.5 for axis in (columns, rows))
    assert np.hypot(across, down) > 3
    assert np.cos(np.arctan2(across, down) - angle) > 0.99


# --- the task -------------------------------------------------------------------------------------


def test_the_task_describes_what_it_loads(four_sequences):
    splits = PENDULUM.load()
    assert [len(part) for part in splits] == [2, 1, 1]
    images, intervals, targets = splits.train[0]
    assert images.shape == (PENDULUM.max_length, PENDULUM.d_input, PENDULUM.d_input)
    assert targets.shape == (PENDULUM.max_length, PENDULUM.n_outputs)
    assert (images.dtype, intervals.dtype, targets.dtype) == (
        torch.uint8, torch.float32, torch.float32,
    )  # fmt: skip
    torch.testing.assert_close(targets.square().sum(-1), torch.ones(50, dtype=torch.float32))


def test_intervals_are_differences_of_the_kept_times_with_a_leading_one(four_sequences):
    times = pendulum.generate()["train_times"]
    splits = PENDULUM.load()
    for i, row in enumerate(times):
        np.testing.assert_array_equal(row, np.unique(row))
        assert row.min() >= 0 and row.max() < simulation.FRAMES
        assert splits.train[i][1].tolist() == [1, *np.diff(row)]


@pytest.mark.parametrize("pad_to", [None, 50, 53])
def test_a_batch_is_scaled_and_padded(four_sequences, pad_to):
    train = PENDULUM.load().train
    u, lengths, labels, dt = train.collate([train[1], train[0]], pad_to)
    assert u.dtype == labels.dtype == dt.dtype == torch.float32
    assert lengths.tolist() == [50, 50]
    length = pad_to or 50
    assert u.shape == (2, length, 24, 24)
    assert labels.shape == (2, length, 2) and dt.shape == (2, length)
    assert torch.equal((u[1, :50] * 255).round().to(torch.uint8), train[0][0])
    assert u.min() >= 0 and u.max() <= 1
    assert not u[:, 50:].any() and not labels[:, 50:].any() and not dt[:, 50:].any()


@pytest.mark.parametrize("length", [0, 1, 2])
def test_short_sequences_have_intervals_too(length):
    images = np.zeros((1, length, 3, 3), np.uint8)
    times = np.arange(length)[None] * 4.5
    frames = Frames(images, times, targets=np.zeros((1, length, 1)))
    assert frames[0][1].tolist() == [1.0, 4.5][:length]


ZEROS = np.zeros((2, 3, 4, 4), np.uint8)


@pytest.mark.parametrize(
    ("images", "times", "targets", "message"),
    [
        (ZEROS / 1.0, [[0, 1, 2]] * 2, np.zeros((2, 3, 1)), "images: expected uint8 .* got float"),
        (ZEROS[0], [[0, 1, 2]] * 2, np.zeros((2, 3, 1)), r"images: .* got uint8 of shape \(3, 4"),
        (ZEROS, [[0, 1]] * 2, np.zeros((2, 3, 1)), r"times: expected shape \(2, 3\), got \(2, 2\)"),
        (ZEROS, [[0, 1, 2]] * 2, np.zeros((2, 3)), r"targets: expected shape \(2, 3, outputs\)"),
        (ZEROS, [[0, 1, 2], [0, 2, 2]], np.zeros((2, 3, 1)), r"times\[1\]: .* later than the one"),
        (ZEROS, [[0, np.nan, 2], [0, 1, 2]], np.zeros((2, 3, 1)), r"times\[0\]: expected each"),
    ],
)
def test_frames_refuse_what_does_not_fit(images, times, targets, message):
    with pytest.raises(ValueError, match=message):
        Frames(images, np.asarray(times), targets=targets)


# --- kept between runs ----------------------------------------------------------------------------


def again():
    pendulum.load.cache_clear()
    return PENDULUM.load().train[1]


def test_the_arrays_are_generated_once(four_sequences, tmp_path, capsys):
    first, second = again(), again()
    assert len(four_sequences) == 1
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))
    assert [file.name for file in (tmp_path / "eigenstate").iterdir()] == ["pendulum-1.npz"]
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("damage", ["one byte", "cut", "empty", "another checksum", "text"])
def test_a_damaged_file_is_generated_again_and_said_so(four_sequences, tmp_path, capsys, damage):
    first = again()
    path = tmp_path / "eigenstate" / "pendulum-1.npz"
    whole = path.read_bytes()
    middle = len(whole) // 2
    if damage == "another checksum":
        with np.load(path) as stored:
            arrays = dict(stored)
        arrays["train_images"][0, 0, 0, 0] ^= 1
        np.savez(path, **arrays)
    else:
        path.write_bytes(
            {
                "one byte": whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :],
                "cut": whole[:middle],
                "empty": b"",
                "text": b"not an archive",
            }[damage]
        )
    second = again()
    assert len(four_sequences) == 2
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"{path}: unusable (") and line.endswith("generating it again")
    assert path.read_bytes() == whole


def test_a_folder_that_cannot_be_written_is_said_so(four_sequences, tmp_path, capsys):
    (tmp_path / "eigenstate").write_text("a file where the folder should be")
    assert len(again()) == 3
    (line,) = capsys.readouterr().err.splitlines()
    assert "pendulum-1.npz" in line and "the next run generates it again" in line


def test_a_full_disk_leaves_no_half_file(four_sequences, tmp_path, capsys, monkeypatch):
    def full(file, **arrays):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache.np, "savez", full)
    assert len(again()) == 3
    assert "cannot be stored (No space left on device)" in capsys.readouterr().err
    assert not list((tmp_path / "eigenstate").iterdir())


@pytest.mark.parametrize(
    ("given", "expected"), [("/a/b", "/a/b"), ("", "/home/x/.cache"), ("a/b", "/home/x/.cache")]
)
def test_the_cache_is_where_the_platform_keeps_caches(monkeypatch, given, expected):
    monkeypatch.setenv("XDG_CACHE_HOME", given)
    monkeypatch.setenv("HOME", "/home/x")
    assert cache.cache_folder() == Path(expected) / "eigenstate"
