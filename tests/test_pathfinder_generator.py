"""Generated Pathfinder pictures: what they show, whether the labels are true, and their files."""

import numpy as np
import pytest
from scipy import ndimage

from eigenstate.data import pathfinder_generator as generator
from eigenstate.data import pathfinder_paddles as paddles
from eigenstate.data.pathfinder import read_pathfinder, read_pathx
from eigenstate.data.pathfinder_generator import LEVEL, write_pathfinder
from eigenstate.data.pathfinder_paddles import Paddles
from eigenstate.data.pathfinder_pictures import LEVELS, Level, draw
from eigenstate.data.png import read_gray


def pictures(level, count, **options):
    return [draw(level, np.random.RandomState([7, i]), **options) for i in range(count)]


def disc(radius):
    y, x = np.mgrid[-radius : radius + 1, -radius : radius + 1]
    return y**2 + x**2 <= radius**2 + 0.5


# --- labels ---------------------------------------------------------------------------------------


# The published 128, and four times the published 32 on a sheet with room for gaps to be closed.
SPACIOUS = Level(256, 28, 6.0, 5, 8, 2.0, (4,), 1.0, (1.5, 2.0))


@pytest.mark.parametrize(("level", "count", "least"), [(SPACIOUS, 300, 70), (LEVELS[128], 30, 8)])
def test_labels_are_what_following_the_paths_finds(level, count, least):
    """Without distractors, close the gaps; where that leaves two pieces, they are the two paths."""
    followed = [0, 0]
    for picture in pictures(level, count, distractors=False):
        closed = ndimage.binary_dilation(picture.image > 20, disc(picture.margin))
        pieces, number = ndimage.label(closed, np.ones((3, 3)))
        if number != 2:  # the paths pass so close that closing the gaps has joined them
            continue
        first, second = (pieces[point] for point in picture.markers)
        assert first > 0 and second > 0
        assert picture.label == (first == second)
        followed[picture.label] += 1
    assert min(followed) >= least


@pytest.mark.parametrize(("level", "count"), [(SPACIOUS, 400), (LEVELS[32], 200)])
def test_half_of_the_labels_are_one(level, count):
    labels = [picture.label for picture in pictures(level, count, distractors=False)]
    assert abs(np.mean(labels) - 0.5) < 3 * 0.5 / np.sqrt(count)


# --- pictures -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "count"), [(32, 40), (128, 4)])
def test_markers_and_paddles_are_seen(size, count):
    level = LEVELS[size]
    for i in range(count):
        rngs = [np.random.RandomState([1, i]) for _ in range(2)]
        picture, alone = draw(level, rngs[0]), draw(level, rngs[1], distractors=False)
        assert picture.image.shape == (size, size) and picture.image.dtype == np.uint8
        assert picture.image.max() == 255 and picture.image.min() == 0
        for y, x in picture.markers:
            assert picture.image[max(y - 1, 0) : y + 2, max(x - 1, 0) : x + 2].min() > 120
        for image, least, most in ((alone.image, 0.01, 0.2), (picture.image, 0.02, 0.25)):
            assert least < (image > 60).mean() < most
        assert (picture.image > 60).sum() > 1.1 * (alone.image > 60).sum()


def test_the_markers_are_apart():
    for picture in pictures(SPACIOUS, 100):
        (y, x), (v, u) = picture.markers
        assert np.hypot(y - v, x - u) > 2 * SPACIOUS.marker_radius


def test_a_picture_depends_on_its_random_numbers_alone():
    first, again = (draw(LEVELS[32], np.random.RandomState(5)) for _ in range(2))
    other = draw(LEVELS[32], np.random.RandomState(6))
    np.testing.assert_array_equal(first.image, again.image)
    assert first[1:] == again[1:]
    assert (first.image != other.image).any()


# --- paddles --------------------------------------------------------------------------------------


@pytest.mark.parametrize("direction", np.arange(-3, 4, 0.7))
def test_a_paddle_goes_where_it_points(direction):
    shape = Paddles(5, 1.5, 2, 1.8)
    ink, room = paddles.stamp(shape, float(direction))
    assert ink.shape == room.shape == (2 * shape.reach + 1,) * 2
    y, x = np.indices(ink.shape) - shape.reach
    along = np.cos(direction) * x + np.sin(direction) * y
    across = np.cos(direction) * y - np.sin(direction) * x
    total = ink.sum()
    assert (ink * along).sum() / total == pytest.approx(2.5, abs=0.6)
    assert (ink * across).sum() / total == pytest.approx(0, abs=0.5)
    assert (room[ink > 0.5] > 0.9).all()
    assert room.sum() > ink.sum()
    assert room.max() <= 1 and min(room.min(), ink.min()) >= 0


@pytest.mark.parametrize(("radius", "margin"), [(2, 1), (5, 2), (5, 3)])
def test_steps_lie_on_a_circle_around(radius, margin):
    ends, directions, near = paddles.steps(Paddles(radius, 1.0, margin, 1.0), 50)
    np.testing.assert_allclose(np.hypot(*ends.T), radius + margin, atol=0.75)
    np.testing.assert_allclose(np.sin(directions), ends[:, 0] / np.hypot(*ends.T), atol=1e-12)
    assert len(ends) > 4 * radius
    assert np.ptp(ends[:, 0]) == np.ptp(ends[:, 1]) == 2 * (radius + margin)
    centre = near[:, near.shape[1] // 2]
    np.testing.assert_array_equal(centre, ends[:, 0] * 50 + ends[:, 1])


# --- files ----------------------------------------------------------------------------------------


def test_the_files_are_those_of_the_release(tmp_path, monkeypatch):
    monkeypatch.setattr(generator, "BATCH", 40)
    write_pathfinder(tmp_path, size=32, seed=2, count=43)
    level = tmp_path / LEVEL
    assert sorted(path.name for path in level.iterdir()) == ["imgs", "metadata"]
    assert sorted(path.name for path in (level / "metadata").iterdir()) == ["0.npy", "1.npy"]
    for batch, count in (("0", 40), ("1", 3)):
        lines = (level / "metadata" / f"{batch}.npy").read_text().splitlines()
        assert len(lines) == count == len(list((level / "imgs" / batch).iterdir()))
        for i, line in enumerate(lines):
            fields = line.split(" ")
            assert fields[:3] == [f"imgs/{batch}", f"sample_{i}.png", str(i)]
            assert fields[3] in "01"
            assert fields[4:] == ["1.0", "14", "4", "2", "0.5", "1", "1"]
    last = draw(LEVELS[32], np.random.RandomState([2, 42]))
    np.testing.assert_array_equal(read_gray(level / "imgs/1/sample_2.png"), last.image)
    assert lines[2].split(" ")[3] == str(last.label)


def contents(folder):
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_the_seed_decides_and_the_workers_do_not(tmp_path):
    for seed, workers in ((1, 1), (1, 2), (2, 1)):
        (tmp_path / f"{seed}{workers}").mkdir()
        write_pathfinder(
            tmp_path / f"{seed}{workers}", size=32, seed=seed, count=45, workers=workers
        )
    assert contents(tmp_path / "11") == contents(tmp_path / "12")
    assert contents(tmp_path / "11") != contents(tmp_path / "21")


@pytest.mark.parametrize(("size", "read"), [(32, read_pathfinder), (128, read_pathx)])
def test_the_reader_of_the_release_reads_them(tmp_path, monkeypatch, size, read):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    made = tmp_path / "made"
    made.mkdir()
    write_pathfinder(made, size=size, seed=0, count=10)
    splits = read(made)
    assert [len(part) for part in splits] == [8, 1, 1]
    labels = (made / LEVEL / "metadata/0.npy").read_text().split("\n")
    ones = sum(line.split(" ")[3] == "1" for line in labels if line)
    assert ones == sum(int(part[i][1]) for part in splits for i in range(len(part)))
