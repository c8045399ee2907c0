"""A user's own .ts and .npz files, and how they are divided: what is meant, what is refused."""

from zipfile import ZipFile

import numpy as np
import pytest
from true_formats import write

from eigenstate.data.japanese_vowels import recordings
from eigenstate.data.own_data import read_own, read_own_parts
from eigenstate.data.series import split_by_group

NAN = np.nan


def classes(path):
    return read_own(path, kind="classification")


def numbers(path):
    return read_own(path, kind="regression")


# --- .ts ------------------------------------------------------------------------------------------

TS = """# a comment
@problemName Steps
@timeStamps false
@missing true
@univariate false
@classLabel true up down
@data
1,2,3:4,?,6:up

-1,1e2:NaN,-.5:down
"""


def test_ts_files_may_be_ragged_and_incomplete(tmp_path):
    series = classes(write(tmp_path / "a.ts", TS))
    np.testing.assert_array_equal(series.values[0], [[1, 4], [2, NAN], [3, 6]])
    np.testing.assert_array_equal(series.values[1], [[-1, NAN], [100, -0.5]])
    assert series.labels == ("up", "down") and series.times is None and series.targets is None
    assert series.names == (f"{tmp_path}/a.ts, line 8", f"{tmp_path}/a.ts, line 10")


def test_ts_targets_are_asked_at_the_end(tmp_path):
    series = numbers(write(tmp_path / "a.ts", "@targetlabel true\n@DATA\n1,2,3:7.5\n4:-1\n"))
    np.testing.assert_array_equal(series.targets[0], [[NAN], [NAN], [7.5]])
    np.testing.assert_array_equal(series.targets[1], [[-1]])
    assert series.labels is None


def test_ts_files_without_labels_are_only_values(tmp_path):
    series = classes(write(tmp_path / "a.ts", "@classLabel false\n@data\n1,2\n3,4,5\n"))
    assert series.labels is None and [len(v) for v in series.values] == [2, 3]


def test_a_ts_file_of_the_archive_is_read_exactly(tmp_path):
    data = recordings()
    frames = np.split(data["values"], np.cumsum(data["lengths"])[:-1])[:20]
    lines = [
        ":".join(",".join(f"{x:.6f}" for x in channel) for channel in frame.T) + f":{label + 1}"
        for frame, label in zip(frames, data["labels"], strict=False)
    ]
    header = "@equalLength false\n@classLabel true 1 2 3 4 5 6 7 8 9\n@data\n"
    series = classes(write(tmp_path / "v.ts", header + "\n".join(lines)))
    for ours, truth in zip(series.values, frames, strict=True):
        assert np.array_equal(ours, truth)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("@classLabel true a\n", "expected an @data line and series below it, got none"),
        ("@data\n", "expected an @data line and series below it"),
        ("1,2:a\n", "line 1: expected a line that starts with @ before @data"),
        ("@timeStamps true\n@data\n(0,1):a", "line 2: @timeStamps true is not supported; write"),
        (TS + "1,2:3,4:5,6:up\n", r"line 11: expected 2 channels between colons.*got 3"),
        (TS + "1,2:3:up\n", r"line 11: expected channels of one length, got \[2, 1\]"),
        (TS + "1,x:3,4:up\n", "line 11: expected numbers between commas: .*'x'"),
        (TS + "1,:3,4:up\n", "line 11: expected numbers between commas"),
        ("@classLabel true a b\n@", "line 2: expected a word after @, such as @data; the file may"),
        (
            "@classLabel true\n@data\n1:?\n",
            "line 3: the label '\\?' is a missing value; fill it in",
        ),
        ("@classLabel true\n@data\n1:\n", "line 3: the label '' is a missing value; fill it in"),
        (TS + "1:3:sideways\n", "line 11: the label 'sideways' is not among the @classLabel"),
        (TS + "up\n", "line 11: expected values, a colon and a label, got 'up'"),
        (
            "@targetLabel true\n@data\n1:2",
            "line 2: the labels of this file are not those of a clas",
        ),
        (TS.encode() + b"1:\xff:up", "line 11: byte 0xff is not UTF-8"),
    ],
)
def test_a_bad_ts_line_is_named(tmp_path, text, message):
    with pytest.raises(ValueError, match=rf"a\.ts.*{message}"):
        classes(write(tmp_path / "a.ts", text))


def test_a_target_that_is_no_number_is_named(tmp_path):
    with pytest.raises(ValueError, match="line 3: expected a number after the last colon, got 'x'"):
        numbers(write(tmp_path / "a.ts", "@targetLabel true\n@data\n1,2:x\n"))


# --- .npz -----------------------------------------------------------------------------------------


def npz(folder, **arrays):
    np.savez(folder / "a.npz", **arrays)
    return folder / "a.npz"


X = np.arange(24.0).reshape(2, 4, 3)


def test_npz_files_are_stacked_or_one_after_another(tmp_path):
    stacked = classes(npz(tmp_path, X=X, lengths=[4, 2], y=["b", "a"], groups=[1, 1]))
    assert [v.tolist() for v in stacked.values] == [X[0].tolist(), X[1, :2].tolist()]
    assert stacked.labels == ("b", "a") and stacked.groups == ("1", "1")
    ragged = classes(npz(tmp_path, X=np.concatenate(stacked.values), lengths=[4, 2]))
    assert [v.tolist() for v in ragged.values] == [v.tolist() for v in stacked.values]
    assert ragged.labels is None
    single = classes(npz(tmp_path, X=X[..., 0].astype(np.int8), y=[7, 8]))
    assert single.values[1].tolist() == X[1, :, :1].tolist() and single.labels == ("7", "8")


@pytest.mark.parametrize(
    ("dtype", "times"),
    [
        (np.int8, [-100, 100]),
        (np.uint8, [3, 200]),
        (np.int64, [2**60, 2**60 + 1]),
        (np.uint64, [2**60, 2**60 + 1]),
        (np.uint64, [2**64 - 2, 2**64 - 1]),
        (np.int64, [-(2**62), 2**62 - 1]),
        (bool, [0, 1]),
        (np.float32, [-1.5, 2.5]),
    ],
)
def test_npz_times_keep_their_gaps(tmp_path, dtype, times):
    series = classes(npz(tmp_path, X=X[:, :2], times=np.array([times] * 2, dtype)))
    assert [np.diff(t).tolist() for t in series.times] == [[times[1] - times[0]]] * 2


def test_npz_classes_may_be_bytes(tmp_path):
    series = classes(npz(tmp_path, X=X, y=[b"up", "früh".encode()], groups=[1.5, 2]))
    assert series.labels == ("up", "früh") and series.groups == ("1.5", "2.0")


def test_npz_times_follow_their_series(tmp_path):
    times = np.array([[0, 1, 2, 4], [0, 3, -1, -1]])
    series = classes(npz(tmp_path, X=X, lengths=[4, 2], times=times))
    assert [t.tolist() for t in series.times] == [[0, 1, 2, 4], [0, 3]]


@pytest.mark.parametrize("outputs", [(), (2,)])
def test_npz_targets_for_each_series_are_asked_at_its_end(tmp_path, outputs):
    y = np.arange(2.0 * max(1, len(outputs) * 2)).reshape(2, *outputs)
    series = numbers(npz(tmp_path, X=X, lengths=[4, 2], y=y))
    for target, answer, length in zip(series.targets, y, (4, 2), strict=True):
        assert target.shape == (length, y[0].size) and np.isnan(target[:-1]).all()
        assert target[-1].tolist() == np.atleast_1d(answer).tolist()


def test_npz_targets_for_each_sample_are_asked_there(tmp_path):
    series = numbers(npz(tmp_path, X=X, lengths=[4, 2], y=X[..., :1] * 2))
    assert series.targets[1].tolist() == (X[1, :2, :1] * 2).tolist()


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"y": [1]}, r"expected the arrays X and perhaps lengths.*got \['y'\]"),
        ({"X": X, "Y": [1, 2]}, r"expected the arrays X .*got \['X', 'Y'\]"),
        ({"X": X * 1j}, "expected real numbers in X, got complex128"),
        ({"X": X, "y": np.array(["a", None])}, r"y is an array of objects; .* y\.astype\(str\)"),
        ({"X": X, "y": [1, NAN]}, "series 1: y holds 'nan', a missing value; fill it in"),
        ({"X": X, "y": ["", "a"]}, "series 0: y is empty; fill it in"),
        ({"X": X, "y": [1j, 2]}, "expected numbers or texts in y, got complex128"),
        ({"X": X, "y": [b"a", b"\xff"]}, "not a whole array y: .*byte 0xff"),
        ({"X": X, "groups": [1, NAN]}, "series 1: groups holds 'nan', a missing value"),
        (
            {"X": np.array([[1], [2, 3]], dtype=object)},
            "X is an array of objects; save series of uneq",
        ),
        ({"X": X.astype(str)}, "expected real numbers in X, got <U"),
        ({"X": X[0, 0]}, r"expected X of shape \(series, length, channels\), or .*got \(3,\)"),
        ({"X": X[:0]}, r"expected X of shape .*got \(0, 4, 3\)"),
        ({"X": X, "lengths": [4, 5]}, "expected 2 lengths of at most 4"),
        ({"X": X, "lengths": [4, 0]}, "expected lengths of at least 1"),
        ({"X": X[0], "lengths": [4, 2]}, "expected lengths with the sum 4, got 6$"),
        ({"X": X[0], "lengths": [3, 2, 1, 1]}, r"sum 4, got 7; padded .* as X\[:, :, None\]"),
        ({"X": X, "y": [1, 2, 3]}, r"expected y of shape \(2,\), got \(3,\)"),
        ({"X": X, "groups": [1]}, r"expected groups of shape \(2,\), got \(1,\)"),
        (
            {"X": X, "times": [[0, 1, 2], [0, 1, 2]]},
            r"expected times of shape \(2, 4\), got \(2, 3",
        ),
        (
            {"X": X[:, :2], "times": np.array([[0, 1], [2, 1]], np.uint8)},
            "series 1, sample 1: the time 1 is not later than the one before it, 2",
        ),
        (
            {"X": X[:, :2], "times": [[0, 1], [1.7e9 + 0.5, 1.7e9 + 0.25]]},
            r"the time 1700000000\.25 is not later than the one before it, 1700000000\.5;",
        ),
        (
            {"X": X[:, :2], "times": [[0, np.inf], [0, 1]]},
            "series 0, sample 1: expected a finite time, got inf; correct or drop it",
        ),
        (
            {"X": X[:, :2], "times": np.array([[0, 2**63]] * 2, np.uint64)},
            "series 0: times from 0 to 9223372036854775808 are too large to be subtracted",
        ),
        ({"X": X[:, :2], "times": [[0, NAN], [0, 1]]}, "sample 1: expected a finite time, got nan"),
        ({"X": X[:, :2], "times": [[0, 1j]] * 2}, "expected real numbers in times, got complex128"),
        ({"X": X[:, :2], "times": [["0", "1"]] * 2}, "expected real numbers in times, got <U1"),
        (
            {"X": X[:, :2], "times": np.array([[0, 1]] * 2, "M8[s]")},
            r"expected real numbers in times, got datetime64\[s\]; save seconds",
        ),
        ({"X": X[0], "lengths": np.array([2**63, 2**63, 4], np.uint64)}, "with the sum 4, got 18"),
        (
            {"X": X, "times": [[0, 1, 2, 3], [0, 1, 1, 2]]},
            "series 1, sample 2: the time 1 is not later than the one before it, 1; sort",
        ),
    ],
)
def test_a_bad_npz_file_is_named(tmp_path, arrays, message):
    with pytest.raises(ValueError, match=rf"a\.npz.*{message}"):
        classes(npz(tmp_path, **arrays))


def test_bad_npz_targets_are_named(tmp_path):
    with pytest.raises(
        ValueError, match=r"expected y of shape \(2,\), \(2, outputs\), or \(2, 4, out"
    ):
        numbers(npz(tmp_path, X=X, y=np.zeros((3, 1))))


def test_other_files_named_npz_are_named(tmp_path):
    data = npz(tmp_path, X=X).read_bytes()
    with pytest.raises(
        ValueError, match=r"a\.npz: not a whole npz file: .*; save it again with numpy.savez"
    ):
        classes(write(tmp_path / "a.npz", data[:-30]))
    np.save(tmp_path / "a.npy", X)
    for data, got in [
        ((tmp_path / "a.npy").read_bytes(), "one array, saved by numpy.save"),
        ("a text", "another kind of file"),
        ("", "another kind of file"),
    ]:
        with pytest.raises(ValueError, match=rf"a\.npz: expected arrays saved by .*, got {got}"):
            classes(write(tmp_path / "a.npz", data))
    with ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("X", "a text")
    with pytest.raises(ValueError, match=r"a\.npz: expected an array X, got bytes"):
        classes(tmp_path / "a.npz")


# --- files and parts ------------------------------------------------------------------------------


def test_other_files_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"data: expected a file ending in \.ts, \.npz, .*a\.txt"):
        classes(tmp_path / "a.txt")
    with pytest.raises(FileNotFoundError, match=r"data: no such file: .*a\.csv"):
        classes(tmp_path / "a.csv")
    with pytest.raises(FileNotFoundError, match=r"found no \*_TRAIN\.ts, .*\*_TRAIN\.parquet in"):
        read_own_parts(tmp_path, kind="classification", seed=0)
    write(tmp_path / "a_TRAIN.ts", TS)
    write(tmp_path / "b_TRAIN.ts", TS)
    with pytest.raises(ValueError, match=r"expected one file like .*, got 2"):
        read_own_parts(tmp_path, kind="classification", seed=0)


def test_a_folder_brings_its_own_parts(tmp_path):
    write(tmp_path / "a_TRAIN.ts", TS)
    write(tmp_path / "a_TEST.ts", TS + "0:0:up\n")
    train, test = read_own_parts(tmp_path, kind="classification", seed=0)
    assert (len(train), len(test)) == (2, 3)


def test_one_file_is_divided_by_groups(tmp_path):
    groups = np.repeat(np.arange(20), 3)
    path = npz(tmp_path, X=np.zeros((60, 1, 1)), y=groups % 2, groups=groups)
    train, test = read_own_parts(path, kind="classification", seed=5)
    assert not set(train.groups) & set(test.groups) and len(train) + len(test) == 60
    assert sorted(set(test.labels)) == ["0", "1"] and len(set(test.groups)) == 4
    again = read_own_parts(path, kind="classification", seed=5)[1]
    other = read_own_parts(path, kind="classification", seed=6)[1]
    assert again.groups == test.groups != other.groups
    with pytest.raises(ValueError, match=r"held_out: 0\.2 of each class.*largest has 2"):
        split_by_group(train.select([0, 10]), held_out=0.2, seed=0)
    with pytest.raises(ValueError, match="held_out: expected a share between 0 and 1, got 1"):
        split_by_group(train, held_out=1, seed=0)
