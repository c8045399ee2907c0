"""Token sequences: compact, padded with zeros, and refused where the pieces do not fit."""

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

from eigenstate.data.tokens import Ragged, TokenPairs, TokenSequences
from eigenstate.data.vocabulary import CharacterCounts, Vocabulary

WORDS = Vocabulary(("<pad>", "<unk>", "<eos>", "a", "b", "é"))
ROWS = [[3, 4, 2], [2], [4, 4, 3, 5, 2]]


def ragged(rows=ROWS, dtype=np.uint8):
    return Ragged(np.concatenate([np.array(row, dtype) for row in rows]), [len(r) for r in rows])


def sequences(labels=(0, 1, 0)):
    return TokenSequences(ragged(), labels, vocabulary=WORDS, class_names=("x", "y"))


def pairs(first=ROWS, second=ROWS[::-1], labels=(0, 1, 0)):
    return TokenPairs(
        ragged(first), ragged(second), labels=labels, vocabulary=WORDS, class_names=("x", "y")
    )


# --- sets -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.uint32])
def test_rows_come_back(dtype):
    rows = ragged(dtype=dtype)
    assert rows.values.dtype == dtype
    assert [rows[i].tolist() for i in range(3)] == ROWS
    assert rows[-1].tolist() == ROWS[-1] and rows[0].dtype == torch.int64
    with pytest.raises(IndexError):
        rows[3]


def test_a_batch_is_padded_with_zeros():
    data = sequences()
    (batch,) = DataLoader(data, batch_size=3, collate_fn=data.collate)
    assert batch.u.tolist() == [[3, 4, 2, 0, 0], [2, 0, 0, 0, 0], [4, 4, 3, 5, 2]]
    assert batch.u.dtype == batch.lengths.dtype == batch.labels.dtype == torch.int64
    assert batch.lengths.tolist() == data.lengths.tolist() == [3, 1, 5]
    assert batch.labels.tolist() == [0, 1, 0] and batch.dt is None
    assert data.collate([data[1]], pad_to=7).u.shape == (1, 7)
    with pytest.raises(ValueError, match="pad_to: expected at least the longest sequence, 5"):
        data.collate([data[2]], pad_to=4)
    with pytest.raises(ValueError, match="samples: expected at least one"):
        data.collate([])


def test_pairs_stack_firsts_then_seconds():
    data = pairs()
    u, lengths, labels, _ = data.collate([data[0], data[1]])
    assert u.tolist() == [[3, 4, 2, 0, 0], [2, 0, 0, 0, 0], [4, 4, 3, 5, 2], [2, 0, 0, 0, 0]]
    assert lengths.tolist() == [3, 1, 5, 1] and labels.tolist() == [0, 1] and len(data) == 3
    assert data.collate([data[1]], pad_to=3).u.tolist() == [[2, 0, 0], [2, 0, 0]]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Ragged(np.ones(2), [2]), r"values: expected whole numbers .* got float64"),
        (lambda: Ragged(np.ones((2, 1), int), [2]), r"values: .*of shape \(2, 1\)"),
        (lambda: Ragged(np.ones(2, int), [2, 0]), "lengths: expected whole numbers of at least 1"),
        (lambda: Ragged(np.ones(2, int), [[2]]), "lengths: expected whole numbers"),
        (lambda: Ragged(np.ones(2, int), [1.0, 1.0]), "lengths: expected whole numbers"),
        (lambda: Ragged(np.ones(2, int), [1]), "lengths: expected a sum of 2, got 1"),
        (lambda: sequences([0, 1]), r"labels: expected 3 whole numbers.*got shape \(2,\)"),
        (lambda: sequences([0, 1, 2]), r"labels\[2\]: expected 0 to 1.*got 2"),
        (lambda: pairs(labels=[0, -1, 0]), r"labels\[1\]: expected 0 to 1.*got -1"),
        (lambda: pairs(second=ROWS[:2]), "second: expected 3 rows, as in first, got 2"),
    ],
)
def test_pieces_that_do_not_fit_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


# --- vocabulary -----------------------------------------------------------------------------------


def test_numbers_follow_counts_then_spelling():
    counts = {"b": 2, "a": 2, "c": 5, "rare": 1}
    assert Vocabulary.from_counts(counts).tokens[3:] == ("c", "a", "b", "rare")
    assert Vocabulary.from_counts(counts, least=2).tokens[3:] == ("c", "a", "b")
    assert Vocabulary.from_counts(counts, most=4).tokens == ("<pad>", "<unk>", "<eos>", "c")


def test_unlisted_tokens_are_unknown():
    assert WORDS.encode(["a", "what", "b"]).tolist() == [3, 1, 4, 2]
    assert WORDS.encode([]).tolist() == [2]


@pytest.mark.parametrize("text", ["", "a", "abé", "ab\x00z", "é日本🎉b", "\uffff"])
def test_characters_are_tokens_of_one_letter(text):
    assert WORDS.encode_characters(text).tolist() == WORDS.encode(list(text)).tolist()


def test_characters_are_counted():
    counts = CharacterCounts()
    for text in ("aab", "", "é🎉a", "b"):
        counts.add(text)
    assert counts.items() == {"a": 3, "b": 2, "é": 1, "🎉": 1}


def test_a_vocabulary_starts_with_the_special_tokens():
    with pytest.raises(ValueError, match="tokens: expected <pad>, <unk>, <eos> and then"):
        Vocabulary(("a", "b"))
    with pytest.raises(ValueError, match="tokens that all differ"):
        Vocabulary(("<pad>", "<unk>", "<eos>", "a", "a"))
    WORDS.check_width(6)
    with pytest.raises(ValueError, match="6 tokens, more than the task's one-hot width of 5"):
        WORDS.check_width(5)
