"""A user's own tables, csv and parquet: one row a sample; what is meant, what is refused."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from true_formats import write

from eigenstate.data.own_data import read_own
from eigenstate.data.tables import Columns

NAN = np.nan


def classes(path, **options):
    return read_own(path, kind="classification", **options)


def numbers(path):
    return read_own(path, kind="regression")


CSV = """id,time,x,"y, left",label
b,0,1,2.5,up
a,10,,4,down
b,0.5,3,?,up
a,11,7,8,down
"""


def test_rows_of_one_id_are_one_series(tmp_path):
    series = classes(write(tmp_path / "a.csv", CSV))
    assert series.channels == ("x", "y, left") and series.labels == ("up", "down")
    np.testing.assert_array_equal(series.values[0], [[1, 2.5], [3, NAN]])
    np.testing.assert_array_equal(series.values[1], [[NAN, 4], [7, 8]])
    assert [t.tolist() for t in series.times] == [[0, 0.5], [10, 11]]
    assert series.names[0] == f"{tmp_path}/a.csv, id 'b'"


def test_columns_may_have_other_names(tmp_path):
    text = CSV.replace("id,time", "walk,person").replace("label", "way").replace("0.5", "0")
    text = text.replace("a,11", "a,10")
    columns = Columns(id="walk", label="way", group="person", channels=["x"])
    series = classes(write(tmp_path / "a.csv", text), columns=columns)
    assert series.channels == ("x",) and series.groups == ("0", "10") and series.times is None
    assert series.labels == ("up", "down")


def test_regression_labels_are_asked_where_they_stand(tmp_path):
    text = CSV.replace("up", "1.5", 1).replace("up", "").replace("down", "-2")
    series = numbers(write(tmp_path / "a.csv", text))
    np.testing.assert_array_equal(series.targets[0], [[1.5], [NAN]])
    np.testing.assert_array_equal(series.targets[1], [[-2], [-2]])


def test_numbers_that_look_like_text_stay_text(tmp_path):
    series = classes(write(tmp_path / "a.csv", "id,x,label\n01,1,007\n1,2,7\n"))
    assert series.labels == ("007", "7") and len(series) == 2


@pytest.mark.parametrize("kind", ["s", "ms", "ns", "text", "zone"])
def test_dates_are_seconds(tmp_path, kind):
    stamps = ["2024-02-28 23:59:59", "2024-02-29 00:00:01"]
    if kind in ("text", "zone"):
        stamps = [stamp + "Z" * (kind == "zone") for stamp in stamps]
        path = write(tmp_path / "a.csv", f"id,time,x\na,{stamps[0]},1\na,{stamps[1]},2\n")
    else:
        column = pa.array(np.array(stamps, dtype=f"datetime64[{kind}]"))
        path = tmp_path / "a.parquet"
        table = pa.table({"id": ["a", "a"], "time": column, "x": [1.0, 2.0]})
        pyarrow.parquet.write_table(table, path)
    (times,) = classes(path).times
    assert np.diff(times).tolist() == [2]


def test_parquet_is_the_same_table(tmp_path):
    columns = {
        "id": [2, 1, 2],
        "x": pa.array([1, 2, None], pa.int8()),
        "on": [True, False, None],
        "label": ["u", "v", "u"],
    }
    pyarrow.parquet.write_table(pa.table(columns), tmp_path / "a.parquet")
    series = classes(tmp_path / "a.parquet")
    np.testing.assert_array_equal(series.values[0], [[1, 1], [NAN, NAN]])
    assert series.labels == ("u", "v") and series.channels == ("x", "on")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("id,x\n", "expected at least one row below the column names"),
        (
            "id,time,x\na,12h,1\n",
            "row 2: expected a number in the column 'time', got '12h'",
        ),
        (
            "id,time,x\na,12:00:01,1\na,12:00:00,1\n",
            "row 3, id 'a': the time 12:00:00 is not later than the one before it, 12:00:01; sort",
        ),
        ("id;x\na;1\n", r"a column 'id' .*\['id;x'\]; columns have commas between them"),
        ("id\tx\na\t1\n", r"a column 'id' .*; columns have commas between them"),
        (f'id,x\na,"1{"," * 2**21}\n', "not a table: a quote never ends, or a row is longer"),
        (
            f"id,time,x\na,{2**64},1\na,{2**64 + 1},1\n",
            "row 3, .* times this large cannot be told apart: subtract the first from all",
        ),
        ("id,time,x\na,2024-02-30,1\n", "row 2: expected a number in the column 'time', got '2024"),
        ("id,time,x\na,,1\na,2024-02-03,1\n", "row 2: the column 'time' holds no time"),
        ("name,x\na,1\n", r"expected a column 'id' .*got the columns \['name', 'x'\]"),
        ("id,time,label\na,1,u\n", "expected a column for each channel beside"),
        ("id,x,x\na,1,2\n", r"the columns \['x'\] come more than once"),
        (CSV + "b,1,2\n", "not a table: .*Row #6: Expected 5 columns, got 3"),
        (CSV.replace("3,?", "three,?"), "row 4: expected a number in the column 'x', got 'three'"),
        (CSV.replace("a,10", ",10"), "row 3: the column 'id' is empty"),
        (CSV.replace("a,11", "a,"), "row 5: the column 'time' holds no time"),
        (
            CSV.replace("a,11", "a,10"),
            "row 5, id 'a': the time 10 is not later than .*before it, 10; sort",
        ),
        (CSV.replace("8,down", "8,up"), "row 5: expected 'down' in the column 'label', .*got 'up'"),
        (
            CSV.replace("8,down", "8,nan"),
            "row 5: the column 'label' holds 'nan', a missing value; fi",
        ),
        (CSV.replace("b,0.5", "?,0.5"), r"row 4: the column 'id' holds '\?', a missing value"),
        (
            CSV.replace("a,11", "a,inf"),
            "row 5, id 'a': expected a finite time, got inf; correct or",
        ),
        (
            "id,time,x\na,1700000000.5,1\na,1700000000.25,1\n",
            r"the time 1700000000\.25 is not later than the one before it, 1700000000\.5;",
        ),
        (
            "id,time,x\na,2024-02-02,1\na,2024-02-01,1\n",
            "the time 2024-02-01 is not later than the one before it, 2024-02-02;",
        ),
        (CSV.encode("utf-16"), "line 1: byte 1 of the line, 0xff, is not UTF-8; save the file as "),
        (CSV.encode("utf-16-be"), "line 1: a byte is zero, as in UTF-16 or in a damaged file; sav"),
        (CSV.encode("utf-16-le"), "line 1: a byte is zero, as in UTF-16 or in a damaged file; sav"),
        (CSV.replace("8,down", "8,"), "row 5: the column 'label' is empty"),
        (
            CSV.encode().replace(b"label", b"lab\xe9l"),
            "line 1: byte 24 of the line, 0xe9, is not UTF-8; save the file as UTF-8$",
        ),
        (CSV.encode() + b"b,1,\xff,2,up\n", "line 6: byte 5 of the line, 0xff, is not UTF-8"),
    ],
)
def test_a_bad_row_is_named(tmp_path, text, message):
    with pytest.raises(ValueError, match=rf"a\.csv.*{message}"):
        classes(write(tmp_path / "a.csv", text))


def parquet(folder, **columns):
    columns = {"id": ["a", "a"], "x": [1.0, 2.0], **columns}
    pyarrow.parquet.write_table(pa.table(columns), folder / "a.parquet")
    return folder / "a.parquet"


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"label": [NAN, NAN]}, "row 0: the column 'label' holds nan, a missing value; fill it in"),
        ({"id": [1.0, NAN]}, "row 1: the column 'id' holds nan, a missing value; fill it in"),
        ({"id": ["a", None]}, "row 1: the column 'id' is empty; fill it in"),
        ({"label": [b"\xff", b"a"]}, "the column 'label' is no text: 'utf-8' codec .* 0xff"),
        (
            {"time": pa.array([-(2**62), 2**62 + 5], pa.timestamp("ns"))},
            "the times in the column 'time' are too far apart to be counted in ns; save them in a",
        ),
        (
            {"time": pa.array([0, 2**63], pa.uint64())},
            "column 'time': times from 0 to 9223372036854775808 are too large to be subtracted",
        ),
        (
            {"time": pa.array([5, 3], pa.uint8())},
            "row 1, id 'a': the time 3 is not later than the one before it, 5",
        ),
        ({"time": [0, np.inf]}, "row 1, id 'a': expected a finite time, got inf"),
        ({"time": [0, NAN]}, "row 1: the column 'time' holds no time"),
        ({"time": ["1", "2"]}, "row 0: expected a number in the column 'time', got '1'"),
        (
            {"time": pa.array([10**18 + 1, 10**18], pa.timestamp("ns"))},
            r"the time 2001-09-09 01:46:40\.000000000 is not later .*it, 2001.*40\.000000001;",
        ),
        (
            {"x": pa.array([0, 1], pa.timestamp("ns"))},
            "row 0: expected a number in the column 'x', got '1970-01-01 00:00:00.000000000'",
        ),
    ],
)
def test_a_bad_row_of_a_parquet_file_is_named(tmp_path, columns, message):
    with pytest.raises(ValueError, match=rf"a\.parquet.*{message}"):
        classes(parquet(tmp_path, **columns))


def test_large_whole_times_keep_their_gaps(tmp_path):
    for kind, bits in ((pa.int64(), 60), (pa.uint64(), 60), (pa.int64(), 62), (pa.uint64(), 63)):
        times = pa.array([2**bits + 1, 2**bits + 4], kind)
        assert np.diff(classes(parquet(tmp_path, time=times)).times[0]).tolist() == [3]
    path = write(tmp_path / "a.csv", f"id,time,x\na,{2**60 + 1},{2**60 + 1}\na,{2**60 + 4},0\n")
    assert classes(path).times[0].tolist() == [2**60 + 1, 2**60 + 4]
    assert classes(path).values[0].tolist() == [[2.0**60], [0.0]]


def test_durations_are_times_and_bytes_are_texts(tmp_path):
    time = pa.array([1500, 4000], pa.duration("ms"))
    series = classes(parquet(tmp_path, time=time, label=[b"up", b"up"]))
    assert series.times[0].tolist() == [0, 2.5] and series.labels == ("up",)


@pytest.mark.parametrize(
    "kind",
    [pa.large_binary(), pa.binary_view(), pa.binary(2), pa.dictionary(pa.int8(), pa.binary())],
    ids=str,
)
def test_bytes_of_any_kind_are_texts(tmp_path, kind):
    up = pa.array([b"up", b"up"], kind)
    series = classes(parquet(tmp_path, id=up, label=up))
    assert series.ids == series.labels == ("up",)


@pytest.mark.parametrize(
    ("kind", "ticks"),
    [(pa.time32("s"), 1), (pa.time32("ms"), 10**3), (pa.time64("us"), 10**6), (pa.time64("ns"), 10**9)],
    ids=str,
)  # fmt: skip
def test_times_of_the_day_are_seconds(tmp_path, kind, ticks):
    series = classes(parquet(tmp_path, time=pa.array([60 * ticks, 86399 * ticks], kind)))
    assert series.times[0].tolist() == [60, 86399]
    path = write(tmp_path / "a.csv", "id,time,x\na,00:00:01,1\na,07:30:00,2\n")
    assert classes(path).times[0].tolist() == [1, 27000]
    with pytest.raises(ValueError, match="row 1: the column 'time' holds no time"):
        classes(parquet(tmp_path, time=pa.array([ticks, None], kind)))


def test_quoted_fields_may_hold_line_ends(tmp_path):
    rows = 'a,1,"one\ntwo"\n' * 100_000  # beyond what pyarrow reads at once
    path = write(tmp_path / "a.csv", "id,x,note\n" + rows + "a,two,-\n")
    columns = Columns(channels=["x"])
    with pytest.raises(
        ValueError, match="row 100002: expected a number in the column 'x', got 'tw"
    ):
        classes(path, columns=columns)
    write(path, "id,x,note\n" + rows)
    assert len(classes(path, columns=columns).values[0]) == 100_000


def test_an_index_without_a_name_is_a_column_like_others(tmp_path):
    """As pandas writes it, whether it is looked at or not."""
    write(tmp_path / "a.csv", ",id,x,label\n0,a,1.5,u\n1,a,2.5,\n")
    columns = Columns(channels=["x"])
    for kind in ("classification", "regression"):
        series = read_own(tmp_path / "a.csv", kind=kind, columns=columns, labelled=False)
        assert series.values[0].tolist() == [[1.5], [2.5]]
        assert series.labels is None and series.targets is None
    series = read_own(tmp_path / "a.csv", kind="classification", labelled=False)
    assert series.channels == ("", "x")
    with pytest.raises(ValueError, match="row 3: the column 'label' is empty; fill it in"):
        classes(tmp_path / "a.csv", columns=columns)


@pytest.mark.parametrize("role", ["id", "time", "label"])
def test_a_channel_is_nothing_else(tmp_path, role):
    path = write(tmp_path / "a.csv", CSV)
    with pytest.raises(ValueError, match=f"column '{role}' cannot be a channel and the {role}; "):
        classes(path, columns=Columns(channels=["x", role]))


def test_a_truncated_parquet_file_is_named(tmp_path):
    pyarrow.parquet.write_table(pa.table({"id": [1], "x": [1]}), tmp_path / "a.parquet")
    data = (tmp_path / "a.parquet").read_bytes()
    with pytest.raises(ValueError, match=r"a\.parquet: not a whole parquet file"):
        classes(write(tmp_path / "a.parquet", data[:-9]))


def test_columns_that_are_not_there_are_named(tmp_path):
    path = write(tmp_path / "a.csv", CSV)
    with pytest.raises(ValueError, match=r"the channels \['z'\] are not among its columns"):
        classes(path, columns=Columns(channels=["x", "z"]))
    with pytest.raises(ValueError, match="expected a column 'person'"):
        classes(path, columns=Columns(group="person"))


def test_days_are_dates_too(tmp_path):
    (times,) = classes(
        write(tmp_path / "a.csv", "id,time,x\na,2024-02-28,1\na,2024-03-01,2\n")
    ).times
    assert np.diff(times).tolist() == [2 * 24 * 3600]
