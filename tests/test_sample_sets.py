"""tools/sample_sets.py: what it writes is read as the true files are, and is the same every time."""

import importlib.util
import pickletools
from collections import Counter
from pathlib import Path

import pytest
import torch

from eigenstate.data.cifar import read_image
from eigenstate.data.retrieval import read_retrieval
from eigenstate.data.text import read_text

TOOL = Path(__file__).parents[1] / "tools" / "sample_sets.py"


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("sample_sets", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def sets(tool, tmp_path_factory):
    folder = tmp_path_factory.mktemp("made") / "sets"
    assert tool.main([str(folder)]) == 0
    return folder


def files(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_the_seed_decides_every_byte(tool, sets, tmp_path):
    tool.main([str(tmp_path / "again")])
    tool.main([str(tmp_path / "other"), "--seed", "1"])
    assert files(tmp_path / "again") == files(sets) != files(tmp_path / "other")


def test_reviews_are_read(sets):
    train, test, _ = read_text(sets)
    assert (len(train), len(test)) == (400, 40)
    assert Counter(train.labels.tolist()) == {0: 200, 1: 200}
    lengths = [len(tokens) for tokens, _ in train]
    assert 200 < min(lengths) < 400 and 1900 < max(lengths) < 2300
    assert {"é", "<", ">", "/"} <= set(train.vocabulary.tokens)  # often enough to have a number
    assert not any((tokens == 1).any() for tokens, _ in train)  # and so has everything


def test_pairs_are_read(sets):
    for part in read_retrieval(sets):
        labels = part.labels.tolist()
        assert 0.3 < sum(labels) / len(labels) < 0.7
        first, second, _ = zip(*part, strict=True)
        lengths = [len(tokens) for tokens in first + second]
        assert min(lengths) > 1500 and max(lengths) == 4000  # some are cut
        assert not any((tokens == 1).any() for tokens in first + second)


def test_a_pair_is_a_float_two_names_and_two_bytes_literals(sets):
    lines = (sets / "tsv_data" / "new_aan_pairs.train.tsv").read_bytes().split(b"\n")
    assert lines.pop() == b"" and len(lines) == 240
    label, first, second, *texts = lines[0].split(b"\t")
    assert label in (b"0.0", b"1.0") and first != second
    assert [text[:2] + text[-1:] for text in texts] == [b"b''", b"b''"]
    assert b"\\xc3" in lines[0] + lines[1] + lines[2]


def test_pictures_are_read(sets):
    parts = read_image(sets)
    assert [len(part) for part in parts] == [360, 80, 40]
    batch = parts.train.collate([parts.train[i] for i in range(360)])
    assert len(batch.labels.unique()) == 10
    assert abs(batch.u.mean()) < 0.5 and 0.5 < batch.u.std() < 2


def test_stripes_have_the_width_of_their_class(sets):
    train = read_image(sets).train
    batch = train.collate([train[i] for i in range(360)])
    pictures = batch.u.reshape(-1, 32, 32).to(torch.float64)
    across = pictures.std(dim=2).mean(dim=1) < pictures.std(dim=1).mean(dim=1)
    assert torch.equal(across, batch.labels < 5)


def test_pickles_are_of_protocol_2(sets):
    for path in (sets / "cifar-10-batches-py").iterdir():
        operations = list(pickletools.genops(path.read_bytes()))
        assert operations[0][:2][1] == 2 and max(op.proto for op, _, _ in operations) <= 2


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([], "the following arguments are required: folder"),
        (["FOLDER", "--seed", "-1"], "--seed: expected a number from 0 up, got -1"),
        (["FOLDER", "--seed", "x"], "argument --seed: invalid int value: 'x'"),
        (["FULL"], "FULL: already there and not an empty folder; choose another name"),
        (
            ["FULL/file/sets"],
            "FULL/file is a file, not a folder; choose another name. Nothing was kept",
        ),
    ],
)
def test_bad_input_is_said_and_leaves_nothing(tool, tmp_path, monkeypatch, capsys, argv, message):
    monkeypatch.chdir(tmp_path)
    Path("FULL").mkdir()
    Path("FULL/file").touch()
    with pytest.raises(SystemExit) as stop:
        tool.main(argv)
    assert stop.value.code == 2
    assert message in capsys.readouterr().err
    assert sorted(map(str, Path().rglob("*"))) == ["FULL", "FULL/file"]


def test_help_says_what_is_written(tool, capsys):
    with pytest.raises(SystemExit) as stop:
        tool.main(["--help"])
    out = capsys.readouterr().out
    assert stop.value.code == 0
    for words in ("aclImdb", "tsv_data", "cifar-10-batches-py", "--seed", "eigenstate train"):
        assert words in out
