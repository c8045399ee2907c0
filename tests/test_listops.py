"""ListOps files: found, read as published, and refused where they are not what they should be."""

import pytest
from true_formats import LISTOPS, write, write_listops

from eigenstate.data.listops import LISTOPS as TASK
from eigenstate.data.listops import read_listops

BRACKETS = {"[MIN": 3, "[MAX": 4, "[MED": 5, "[SM": 6, "]": 7}


pytestmark = pytest.mark.usefixtures("cache")


def expected(source):
    words = source.replace("(", " ").replace(")", " ").split()
    return [BRACKETS[w] if w in BRACKETS else 8 + int(w) for w in words] + [2]


@pytest.mark.parametrize("nesting", [".", "listops-1000", "lra_release/lra_release/listops-1000"])
def test_sources_become_tokens(tmp_path, nesting):
    write_listops(tmp_path / "data" / nesting)
    splits = read_listops(tmp_path / "data")
    for part in (splits.train, splits.test, splits.validation):
        assert [tokens.tolist() for tokens, _ in part] == [expected(s) for s, _ in LISTOPS]
        assert [label for _, label in part] == [target for _, target in LISTOPS]
    assert splits.train.vocabulary.tokens[:4] == ("<pad>", "<unk>", "<eos>", "[MIN")
    assert len(splits.train.vocabulary) == 18 <= TASK.d_input == 20


def test_published_numbers_follow_the_counts(tmp_path):
    write_listops(tmp_path)
    # X four times; every other token once, so by spelling: digits before brackets.
    tokens = read_listops(tmp_path, published_order=True).train.vocabulary.tokens
    assert tokens[3:] == ("X", "1", "2", "3", "4", "7", "8", "9", "[MAX", "[MED", "[MIN", "[SM")


def test_a_long_source_is_cut_and_ended(tmp_path):
    write_listops(tmp_path, [("[SM " + "1 " * 3000 + "]", 0)])
    (tokens, _) = read_listops(tmp_path).train[0]
    assert len(tokens) == TASK.max_length == 2048
    assert tokens[-2:].tolist() == [9, 2]


def test_windows_line_ends_do_no_harm(tmp_path):
    write_listops(tmp_path)
    for path in tmp_path.glob("*.tsv"):
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert [label for _, label in read_listops(tmp_path).test] == [9, 6, 3]


GOOD = "( [MAX 2 ) ]\t2\n"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", r"basic_val\.tsv: the file is empty; unpack"),
        ("Source\tTarget\n", r"basic_val\.tsv: there is no row below the header"),
        (GOOD, r"line 1: expected the column names \['Source', 'Target'\], got \['\( \[MAX"),
        (f"Target\tSource\n{GOOD}", r"line 1: .*got \['Target', 'Source'\]; put the columns"),
        (f"Source\tTarget\n{GOOD}[MAX 2", r"line 3: expected 2 fields .*got 1; .*cut short"),
        (f"Source\tTarget\n{GOOD}\n", "line 3: expected 2 fields between tabs .*got 1"),
        ("Source\tTarget\n( MAX 2 ) ]\t2\n", r"line 2: expected tokens among \[MIN .*got 'MAX'"),
        ("Source\tTarget\n( )\t2\n", "line 2: expected tokens .*got nothing"),
        ("Source\tTarget\n[MAX 2 ]\t10\n", "line 2: expected a target 0 to 9, got '10'"),
        ("Source\tTarget\n[MAX 2 ]\t\n", "line 2: expected a target 0 to 9, got ''"),
        (b"Source\tTarget\n[MAX \xff ]\t2\n", "line 2: byte 6 of the line, 0xff, is not UTF-8"),
    ],
)
def test_a_bad_file_is_named(tmp_path, data, message):
    write_listops(tmp_path / "data")
    write(tmp_path / "data" / "basic_val.tsv", data)
    with pytest.raises(ValueError, match=message):
        read_listops(tmp_path / "data")
    assert not list((tmp_path / "cache").rglob("*.npy"))


def test_a_missing_file_is_named(tmp_path):
    folder = write_listops(tmp_path / "data" / "listops-1000")
    (folder / "basic_val.tsv").unlink()
    with pytest.raises(FileNotFoundError) as caught:
        read_listops(tmp_path / "data")
    text = str(caught.value)
    assert "found no ListOps in" in text
    assert "looked for basic_train.tsv, basic_val.tsv, basic_test.tsv, together" in text
    assert f"closest is {folder}, which lacks basic_val.tsv" in text
