"""Generated ListOps: every label computed again by another evaluator, and the published bounds."""

import random
import statistics
from collections import Counter

import pytest

from eigenstate.data import listops_generator as generator
from eigenstate.data.listops import read_listops
from eigenstate.data.listops_generator import write_listops
from eigenstate.data.workers import in_order


def parsed(words):
    """The nested pairs of one sequence: `( a b )` is (a, b)."""
    word = next(words)
    if word != "(":
        return word
    pair = parsed(words), parsed(words)
    assert next(words) == ")"
    return pair


def unrolled(tree):
    """`(((op, a), b), ])` as the operator and its arguments."""
    left, end = tree
    assert end == "]"
    arguments = []
    while isinstance(left, tuple):
        left, argument = left
        arguments.insert(0, argument)
    return left, arguments


def evaluated(tree, depth=1):
    """Value, deepest operator, and the numbers of arguments met."""
    if isinstance(tree, str):
        return int(tree), 0, []
    operator, arguments = unrolled(tree)
    parts = [evaluated(argument, depth + 1) for argument in arguments]
    values = [value for value, _, _ in parts]
    result = {
        "[MIN": lambda: min(values),
        "[MAX": lambda: max(values),
        "[MED": lambda: int(statistics.median(values)),
        "[SM": lambda: sum(values) % 10,
    }[operator]()
    deepest = max([depth, *(deep for _, deep, _ in parts)])
    return result, deepest, [len(arguments), *(n for _, _, more in parts for n in more)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("listops")
    write_listops(folder, seed=3, counts=(300, 20, 30))
    return folder


def rows(folder):
    lines = [(folder / name).read_text().splitlines() for name in generator.FILES]
    assert all(part[0] == "Source\tTarget" for part in lines)
    return [[line.split("\t") for line in part[1:]] for part in lines]


def everything(folder):
    return [row for part in rows(folder) for row in part]


def test_every_label_is_what_another_evaluator_finds(folder):
    depths, arguments = Counter(), Counter()
    for source, target in everything(folder):
        words = iter(source.split(" "))
        value, depth, counts = evaluated(parsed(words))
        assert next(words, None) is None
        assert value == int(target)
        depths[depth] += 1
        arguments.update(counts)
    assert max(depths) <= 9, "an operator at depth 10 would hold arguments at depth 11"
    assert max(depths) == 9
    assert set(arguments) == set(range(2, 11))
    assert max(arguments.values()) < 1.5 * min(arguments.values())


def test_lengths_stay_between_the_published_bounds(folder):
    lengths = [
        sum(word not in "()" for word in source.split(" ")) for source, _ in everything(folder)
    ]
    assert min(lengths) > 500 and max(lengths) < 2000
    assert 950 < statistics.mean(lengths) < 1200


def test_operators_and_digits_are_even_and_no_answer_dominates(folder):
    words, answers = Counter(), Counter()
    for source, target in everything(folder):
        words.update(source.split(" "))
        answers[target] += 1
    for kind in (["[MIN", "[MAX", "[MED", "[SM"], list("0123456789")):
        counts = [words[word] for word in kind]
        assert max(counts) < 1.1 * min(counts)
    assert max(answers.values()) < 0.25 * answers.total()


def test_no_sequence_occurs_twice(folder, monkeypatch):
    sources = [source for source, _ in everything(folder)]
    assert len(set(sources)) == len(sources) == 350
    # Were each chunk the same, its sequences would be written once, and the next be looked at.
    chunks = iter([[("a", 1), ("b", 2), ("a", 1)], [("b", 2), ("c", 3)]])
    monkeypatch.setattr(generator, "_chunk", lambda seed, number: next(chunks))
    distinct = generator._distinct(0, 1)
    assert [next(distinct) for _ in range(3)] == [("a", 1), ("b", 2), ("c", 3)]


def test_the_seed_decides_and_the_workers_do_not(folder, tmp_path):
    for seed, workers in ((3, 2), (4, 1)):
        other = tmp_path / f"{seed}"
        other.mkdir()
        write_listops(other, seed=seed, counts=(110, 2, 3), workers=workers)
        same = rows(other)[0] == rows(folder)[0][:110]
        assert same == (seed == 3)


def test_the_reader_of_the_published_files_reads_them(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    train, test, validation = read_listops(folder)
    assert [len(part) for part in (train, validation, test)] == [300, 20, 30]
    assert [label for _, label in (train[i] for i in range(300))] == [
        int(target) for _, target in rows(folder)[0]
    ]


@pytest.mark.parametrize(
    ("values", "median"), [([3], 3), ([2, 9], 5), ([9, 0, 1], 1), ([1, 2, 3, 9], 2), ([0, 0, 9, 9], 4)]
)  # fmt: skip
def test_the_median_is_rounded_down(values, median):
    assert generator._median(values) == median


def test_a_tree_is_given_up_as_soon_as_it_is_too_long():
    """Giving up early draws the same sequences as drawing to the end: the bound is on the whole."""
    for room in (1, 2, 4, 40):
        rng = random.Random(1)
        for _ in range(200):
            words = []
            try:
                _, length = generator._element(rng, words, 1, room)
            except generator._TooLong:
                continue
            assert length == sum(word not in "()" for word in words) <= room


# --- workers --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("workers", "count"), [(1, 0), (1, 7), (2, 7)])
def test_results_come_in_the_order_of_the_items(workers, count):
    assert list(in_order(abs, range(-count, 0), workers=workers)) == list(range(count, 0, -1))


def test_an_error_in_a_worker_reaches_the_caller():
    results = in_order(int, ["1", "two", "3"], workers=2)
    with pytest.raises(ValueError, match="invalid literal"):
        list(results)
