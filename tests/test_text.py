"""Film reviews: characters as published, the vocabulary of the training texts, bad files named."""

import pytest
from true_formats import write, write_reviews

from eigenstate.data.text import TEXT, read_text

pytestmark = pytest.mark.usefixtures("cache")


def test_characters_become_tokens(tmp_path):
    write_reviews(tmp_path / "data")
    train, test, validation = read_text(tmp_path / "data")
    # b 20 + 4,095 times, c 16, a 15: the other characters are seen less than 15 times.
    assert train.vocabulary.tokens == ("<pad>", "<unk>", "<eos>", "b", "c", "a")
    assert train[0][0].tolist() == [5] * 14 + [3] * 20 + [2]
    assert train[1][0].tolist() == [1, 3, *[1] * 5, *[4] * 15, 2]  # <br />é and c
    assert train[2][0].tolist() == [4, 5, 1, 2]
    assert train[3][0].tolist() == [3] * 4095 + [2]
    assert len(train[3][0]) == TEXT.max_length
    assert train.labels.tolist() == [0, 0, 1, 1]
    assert [tokens.tolist() for tokens, _ in test] == [[5, 3, 1, 4, 2], [1, 1, 1, 3, 2]]
    assert test.labels.tolist() == [0, 1]
    assert validation is test


def test_the_counts_are_those_of_the_texts_as_cut(tmp_path):
    late = "a" * 4095 + "z" * 20
    write_reviews(tmp_path, {(p, n): [late] for p in ("train", "test") for n in ("neg", "pos")})
    assert read_text(tmp_path / "aclImdb").train.vocabulary.tokens[3:] == ("a",)


def test_more_characters_than_the_width_are_refused(tmp_path):
    text = "".join(chr(200 + i) * 15 for i in range(133))
    write_reviews(tmp_path, {(p, n): [text] for p in ("train", "test") for n in ("neg", "pos")})
    with pytest.raises(
        ValueError, match="use 136 tokens, more than the task's one-hot width of 135"
    ):
        read_text(tmp_path)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", r"0_7\.txt: the file is empty"),
        (
            "fine\ncafé".encode("latin-1"),
            r"0_7\.txt, line 2: byte 9 of the file, 0xe9, is not UTF-8",
        ),
    ],
)
def test_a_bad_review_is_named(tmp_path, data, message):
    folder = write_reviews(tmp_path)
    write(folder / "test" / "pos" / "0_7.txt", data)
    with pytest.raises(ValueError, match=message):
        read_text(tmp_path)


def test_what_is_missing_is_named(tmp_path):
    with pytest.raises(
        FileNotFoundError, match="looked for train/neg, train/pos, test/neg, test/pos"
    ):
        read_text(tmp_path)
    folder = write_reviews(tmp_path)
    (folder / "train" / "pos" / "0_7.txt").unlink()
    (folder / "train" / "pos" / "1_7.txt").unlink()
    with pytest.raises(FileNotFoundError, match=r"train/pos: there is no \.txt file"):
        read_text(tmp_path)
