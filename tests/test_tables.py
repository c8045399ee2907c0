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
            "id,time,x\na,12:00,1\n",
            "row 2: expected a number in the column 'time', got datetime.tim",
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
            "row 5: the time 10 of 'a' is not later than .*before it, 10",
        ),
        (CSV.replace("8,down", "8,up"), "row 5: expected 'down' in the column 'label', .*got 'up'"),
        (CSV.replace("8,down", "8,"), "row 5: the column 'label' is empty"),
        (CSV.encode().replace(b"label", b"lab\xe9l"), r"line 1 .* save the file as UTF-8"),
        (CSV.encode() + b"b,1,\xff,2,up\n", r"line 6 \(byte 5 of the line, 0xff, is not UTF-8"),
    ],
)
def test_a_bad_row_is_named(tmp_path, text, message):
    with pytest.raises(ValueError, match=rf"a\.csv.*{message}"):
        classes(write(tmp_path / "a.csv", text))


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
