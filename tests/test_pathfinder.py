"""Pathfinder pictures: the level, its metadata in three guises, the split, and bad files named."""

import pickle
from io import BytesIO

import numpy as np
import pytest
import torch
from PIL import Image
from true_formats import png, write, write_pathfinder

from eigenstate.data.pathfinder import PATHX, read_pathfinder, read_pathx
from eigenstate.data.pickles import load_plain

LEVEL = "curv_contour_length_14"


pytestmark = pytest.mark.usefixtures("cache")


def everything(part):
    return part.collate([part[i] for i in range(len(part))])


@pytest.mark.parametrize("metadata", ["text", "text array", "pickled", "one text"])
def test_pictures_and_split_are_as_published(tmp_path, metadata):
    images, labels = write_pathfinder(tmp_path / "lra_release" / "lra_release", metadata=metadata)
    splits = read_pathfinder(tmp_path)
    generator = torch.Generator().manual_seed(42)
    rows = torch.utils.data.random_split(range(20), [16, 2, 2], generator=generator)
    for part, chosen in zip((splits.train, splits.validation, splits.test), rows, strict=True):
        u, lengths, y, _ = everything(part)
        truth = (images[chosen.indices][..., None] / 255 - 0.5) / 0.5
        np.testing.assert_allclose(u, truth, atol=1e-6)
        assert y.tolist() == labels[chosen.indices].tolist()
        assert lengths.tolist() == [1024] * len(chosen)


def test_large_pictures_stay_on_disk(tmp_path):
    images, _ = write_pathfinder(tmp_path, 128, per_file=5)
    write_pathfinder(tmp_path, 32)
    test = read_pathx(tmp_path).test
    assert everything(test).u.shape == (1, PATHX.max_length, 1) == (1, 16384, 1)
    assert isinstance(test._values, np.memmap) and len(test._values) == len(images)


def test_the_second_reading_needs_no_picture(tmp_path, monkeypatch):
    write_pathfinder(tmp_path / "data")
    first = everything(read_pathfinder(tmp_path / "data").test)
    monkeypatch.setattr("eigenstate.data.pathfinder.read_gray", None)
    assert torch.equal(everything(read_pathfinder(tmp_path / "data").test).u, first.u)


def test_the_level_itself_may_be_given(tmp_path):
    write_pathfinder(tmp_path)
    level = (tmp_path / "pathfinder32" / LEVEL).rename(tmp_path / "mine")
    assert len(read_pathfinder(level).train) == 16


def test_the_one_empty_file_of_the_release_is_left_out(tmp_path):
    write_pathfinder(tmp_path)
    level = (tmp_path / "pathfinder32" / LEVEL).rename(tmp_path / "pathfinder32" / "curv_baseline")
    write(level / "imgs/0/sample_172.png", b"")
    write(level / "metadata/0.npy", "imgs/0 sample_172.png 172 1 1.8 6 2.0 5 1.5 2 1\n")
    assert len(read_pathfinder(level).train) == 16


def test_colours_become_gray(tmp_path):
    images, _ = write_pathfinder(tmp_path)
    path = tmp_path / "pathfinder32" / LEVEL / "imgs/2/sample_0.png"
    Image.fromarray(np.repeat(images[0].reshape(32, 32, 1), 3, axis=2)).save(path)
    u = everything(read_pathfinder(tmp_path).train).u
    assert (abs(u[:, :, 0] - torch.from_numpy(images[0] / 127.5 - 1)).amax(1) < 1e-6).sum() == 1


def deep(array):
    """A 16-bit PNG."""
    file = BytesIO()
    Image.fromarray(array.astype(np.uint16)).save(file, "PNG")
    return file.getvalue()


SQUARE = np.zeros((32, 32), np.uint8)
NOISE = np.random.default_rng(0).integers(0, 256, (32, 32), dtype=np.uint8)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", r"sample_3\.png: the file has 0 bytes"),
        (png(NOISE)[:60], r"sample_3\.png: not a whole PNG picture"),
        (b"GIF89a", r"sample_3\.png: not a whole PNG picture"),
        (png(SQUARE[:, :31]), r"sample_3\.png: expected 32 x 32 pixels, got 31 x 32"),
        (png(np.zeros((128, 128), np.uint8)), "got 128 x 128; the task for .* 128 x 128 is pathx"),
        (deep(SQUARE), r"sample_3\.png: expected 8 bits a value"),
    ],
)
def test_a_bad_picture_is_named(tmp_path, data, message):
    write_pathfinder(tmp_path / "data")
    write(tmp_path / "data/pathfinder32" / LEVEL / "imgs/10/sample_3.png", data)
    with pytest.raises(ValueError, match=message):
        read_pathfinder(tmp_path / "data")
    assert not list((tmp_path / "cache").rglob("*.npy"))


class Boom:
    def __reduce__(self):
        return print, ("executed",)


def npy(array, path):
    np.save(path, array, allow_pickle=True)
    return path.read_bytes()


LINE = "imgs/2 sample_1.png 1 1 1.8 6 2.0 5 1.5 2 1\n"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (lambda _: b"", r"10\.npy: the file is empty"),
        (
            lambda _: LINE + "imgs/2 sample_1.png 1 2 1.8 6 2.0 5 1.5 2 1",
            "line 2: .*the label 0 or 1",
        ),
        (lambda _: LINE + "imgs/2 sample_1.png 1", "line 2: expected 11 fields between blanks"),
        (lambda _: LINE + "\n", "line 2: expected 11 fields between blanks .*got ''"),
        (lambda _: "é", "expected lines of plain text or a NumPy file, got byte 0xc3 at 0"),
        (lambda p: npy(np.array([LINE]), p)[:-9], "not a whole NumPy file: "),
        (lambda p: npy(np.array([LINE]), p)[:40], "not a whole NumPy file: "),
        (lambda p: npy(np.array([Boom()]), p), "refused: it asks for builtins.print"),
        (
            lambda p: npy(np.array([LINE], dtype=object), p)[:-20],
            "not a whole pickle of plain values: ",
        ),
        (lambda p: npy(np.array([LINE]), p).replace(b"}", b"]"), "not a whole NumPy file: "),
        (lambda p: npy(np.array([LINE]), p)[:-4] + b"\xff" * 4, "the letter 0xffffffff, which Uni"),
        (lambda p: npy(np.array([b"\xff"]), p), "not a whole NumPy file of texts: .*byte 0xff"),
        (lambda p: npy(np.zeros((2, 2)), p), "line 1: expected 11 fields"),
        (lambda p: npy(np.zeros((2, 0)), p), "line 1: expected 11 fields"),
    ],
)
def test_bad_metadata_is_named(tmp_path, data, message, capsys):
    write_pathfinder(tmp_path)
    path = tmp_path / "pathfinder32" / LEVEL / "metadata" / "10.npy"
    write(path, data(path))
    with pytest.raises(ValueError, match=message):
        read_pathfinder(tmp_path)
    assert not capsys.readouterr().out


def test_what_is_missing_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=rf"looked for {LEVEL}/imgs, {LEVEL}/metadata"):
        read_pathx(tmp_path)
    write_pathfinder(tmp_path)
    level = tmp_path / "pathfinder32" / LEVEL
    (level / "imgs/10/sample_4.png").unlink()
    with pytest.raises(
        FileNotFoundError, match=r"10\.npy, line 5: names .*sample_4\.png, which is"
    ):
        read_pathfinder(tmp_path)
    (level / "metadata/10.npy").unlink()
    write(
        level / "metadata/2.npy",
        "".join((level / "metadata/2.npy").read_text().splitlines(True)[:9]),
    )
    with pytest.raises(ValueError, match=r"expected at least 10 pictures, .*got 9"):
        read_pathfinder(tmp_path)
    (level / "metadata/2.npy").unlink()
    with pytest.raises(FileNotFoundError, match=r"metadata: there is no file like 0\.npy"):
        read_pathfinder(tmp_path)


def test_a_pickle_may_hold_a_number_but_no_code(tmp_path):
    assert load_plain(BytesIO(pickle.dumps(np.float32(1.5), 2)), tmp_path) == 1.5
    with pytest.raises(ValueError, match="refused: it asks for"):
        load_plain(BytesIO(pickle.dumps(Boom(), 2)), tmp_path)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([np.zeros(2)], "an array that is no value of the outermost dictionary"),
        ({"a": {"b": np.zeros(2)}}, "an array that is no value of"),
        ({"a": (1, [np.zeros(2)])}, "an array that is no value of"),
        (np.array([None, np.zeros(2)], dtype=object), "an array that is no value of"),
        (np.dtype("f8"), "a Type, which is no plain value"),
        (np.ndarray, "a type, which is no plain value"),
        ({1, 2}, "it asks for"),
    ],
)
def test_nothing_else_is_left_in_a_pickle(tmp_path, value, message):
    with pytest.raises(ValueError, match=f"refused: (it holds )?{message}"):
        load_plain(BytesIO(pickle.dumps(value, 2)), tmp_path)


def test_lists_in_a_pickle_may_hold_each_other(tmp_path):
    many = [1.5, None, b"a", {"b": (2, "c")}]
    for _ in range(60):
        many = [many, many]
    many[0] = many
    value = load_plain(BytesIO(pickle.dumps({"a": many}, 2)), tmp_path)["a"]
    assert value[0] is value and value[1][0] is value[1][1]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        # NumPy would write beyond the array, and end the process.
        (b"K\x03K\x02\x86", b"K\x72K\x02\x86", "cannot reshape array of size 6"),
        (b"K\x03K\x02\x86", b"K\x03K\x01\x86", "cannot reshape array of size 6"),
        (b"O8", b"O9", "an array of the type 'O9'"),
        (b"O8", b"V8", "an array of the type 'V8'"),
        # The place of a value in the list of those that come again: 4 GiB for an index alone.
        (b"q\x00", b"r\xff\xff\xff\x7f", None),
    ],
)
def test_a_pickle_of_objects_is_checked_before_it_is_filled(tmp_path, old, new, message):
    table = np.array([["a", "b"], ["c", "d"], ["e", "f"]], dtype=object)
    data = pickle.dumps(table, 2)
    assert data.count(old) == 1
    file = BytesIO(data.replace(old, new))
    if message is None:
        assert load_plain(file, tmp_path).tolist() == table.tolist()
        return
    with pytest.raises(ValueError, match=f"not a whole pickle of .*{message}"):
        load_plain(file, tmp_path)


@pytest.mark.parametrize("protocol", range(5))
@pytest.mark.parametrize(
    "array",
    [np.arange(6, dtype=">i4").reshape(2, 3).T, np.array(["é", "bc"]), np.array([b"a", b"bc"]),
     np.array([[1.5, "a"]], dtype=object), np.array(True)],
)  # fmt: skip
def test_a_pickle_of_an_array_is_the_array(tmp_path, array, protocol):
    read = load_plain(BytesIO(pickle.dumps({"data": array}, protocol)), tmp_path)["data"]
    assert type(read) is np.ndarray and read.dtype == array.dtype
    assert read.flags.writeable and np.array_equal(read, array)
