"""Pairs of papers: float labels, bytes literals, no header, no quoting; decoded or as published."""

import pytest
import torch
from true_formats import PAIRS, write, write_pairs

from eigenstate.data.retrieval import RETRIEVAL, read_retrieval

pytestmark = pytest.mark.usefixtures("cache")


def text(part, tokens):
    assert tokens[-1] == 2  # <eos>
    return "".join(part.vocabulary.tokens[token] for token in tokens[:-1])


def test_texts_are_decoded(tmp_path):
    write_pairs(tmp_path / "lra_release" / "tsv_data")
    for part in read_retrieval(tmp_path):
        assert part.labels.tolist() == [0, 1]
        for sample, row in zip(part, PAIRS, strict=True):
            assert (text(part, sample[0]), text(part, sample[1])) == (row[3][:3999], row[4])
    assert len(part[1][0]) == RETRIEVAL.max_length == 4000


def test_published_texts_are_the_literals(tmp_path):
    write_pairs(tmp_path)
    train = read_retrieval(tmp_path, published_literals=True).train
    assert text(train, train[0][0]) == r"""b'it\'s "quoted"\ttab\n'"""
    assert text(train, train[0][1]) == r"b'\xc3\xa9 and plain'"
    assert text(train, train[1][0]) == "b'" + "x" * 3997
    assert text(train, train[1][1]) == "b''"


def test_only_the_most_frequent_characters_are_numbered(tmp_path):
    many = "".join(chr(0x4E00 + i) * (i + 1) for i in range(60)) + "".join(map(chr, range(33, 127)))
    write_pairs(tmp_path, [("0", "", "", many, many), ("1", "", "", "a", "b")])
    train = read_retrieval(tmp_path).train
    assert len(train.vocabulary) == RETRIEVAL.d_input == 98
    assert train.vocabulary.tokens[3] == chr(0x4E00 + 59)
    first, second, _ = train[0]
    assert torch.equal(first, second) and (first == 1).any()


def test_a_batch_stacks_firsts_then_seconds(tmp_path):
    write_pairs(tmp_path)
    train = read_retrieval(tmp_path).train
    u, lengths, labels, dt = train.collate([train[0], train[1]])
    assert u.shape == (4, 4000) and u.dtype == torch.int64 and dt is None
    assert lengths.tolist() == [len(PAIRS[0][3]) + 1, 4000, len(PAIRS[0][4]) + 1, 1]
    assert labels.tolist() == [0, 1]
    assert torch.equal(u[2, : lengths[2]], train[0][1]) and not u[2, lengths[2] :].any()


ROW = "0.0\ta\tb\tb'x'\tb'y'\n"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", r"eval\.tsv: the file is empty"),
        (
            "label\tid1\tid2\ttext1\ttext2\n" + ROW,
            "line 1: expected a label 0.0 or 1.0 .*got 'label'",
        ),
        (ROW + "a\tb\tb'x'\tb'y'\t0.0\n", "line 2: expected a label .*of the fields label, id1"),
        (ROW + "2.0\ta\tb\tb'x'\tb'y'\n", "line 2: expected a label 0.0 or 1.0 .*got '2.0'"),
        (ROW + "1.0\ta\tb\tb'x", "line 2: expected 5 fields .*got 4; the file may be cut short"),
        (
            ROW + "1.0\ta\tb\tb'x'\tb'y\n",
            r"line 2: expected the texts as bytes literals .*SyntaxErr",
        ),
        (ROW + "1.0\ta\tb\tb'x'\tplain\n", "line 2: .*got 'plain' .*published_literals=True"),
        (ROW + "1.0\ta\tb\tb'x'\t\n", "line 2: expected the texts as bytes literals .*got ''"),
        (ROW + "1.0\ta\tb\tb'x'\t'y'\n", "line 2: .*it is a str"),
        (ROW + "1.0\ta\tb\tb'x'\tb'z\\xff'\n", "line 2: .*byte 2 of it is not UTF-8"),
        (ROW.encode() + b"\xfe", "line 2: byte 1 of the line, 0xfe, is not UTF-8"),
    ],
)
def test_a_bad_row_is_named(tmp_path, data, message):
    write_pairs(tmp_path)
    write(tmp_path / "new_aan_pairs.eval.tsv", data)
    with pytest.raises(ValueError, match=message):
        read_retrieval(tmp_path)


def test_a_missing_file_is_named(tmp_path):
    write_pairs(tmp_path)
    (tmp_path / "new_aan_pairs.eval.tsv").unlink()
    with pytest.raises(FileNotFoundError, match=r"which lacks new_aan_pairs\.eval\.tsv"):
        read_retrieval(tmp_path)
