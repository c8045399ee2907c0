"""docs/results.md holds what the runner wrote, and nothing else."""

import importlib.util
import json
from pathlib import Path

import pytest

from eigenstate.training.results_page import page

ROOT = Path(__file__).parent.parent
TABLES = sorted((ROOT / "docs" / "results").glob("*.json"))


@pytest.fixture
def tool(tmp_path, monkeypatch):
    spec = importlib.util.spec_from_file_location("results_tool", ROOT / "tools" / "results.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "DOCS", tmp_path / "docs")
    (tmp_path / "docs").mkdir()
    return module


@pytest.mark.parametrize("table", TABLES, ids=lambda path: path.stem)
def test_a_section_is_the_page_of_its_table(table, tool) -> None:
    results = json.loads(table.read_text())
    assert tool.section(page(results)) in (ROOT / "docs" / "results.md").read_text()


SMALL = {"suite": "small", "about": "Few.", "command": "none", "rows": [], "date": None}


def folder_with(place, results):
    place.mkdir(parents=True)
    (place / "results.json").write_text(results)
    return str(place)


def test_the_document_is_written_from_folders_of_the_runner(tool, tmp_path) -> None:
    text = json.dumps(SMALL)
    assert tool.main([folder_with(tmp_path / "small", text)]) == 0
    document = (tmp_path / "docs" / "results.md").read_text()
    assert "\n## Results: small\n\nFew.\n" in document and "\n### Runs\n" in document
    assert (tmp_path / "docs" / "results" / "small.json").read_text() == text


@pytest.mark.parametrize("damaged", ["", "{", "{}", "[1]", '{"rows": [{}]}'])
def test_a_folder_without_results_changes_nothing(tool, tmp_path, capsys, damaged) -> None:
    good = folder_with(tmp_path / "small", json.dumps(SMALL))
    bad = folder_with(tmp_path / "bad", damaged)
    (tmp_path / "empty").mkdir()
    for folders in ([good, bad], [good, str(tmp_path / "empty")]):
        with pytest.raises(SystemExit):
            tool.main(folders)
        assert f"{folders[1]}/results.json: " in capsys.readouterr().err
    assert not (tmp_path / "docs" / "results.md").exists()


def test_two_suites_of_one_name_are_refused(tool, tmp_path, capsys) -> None:
    folders = [folder_with(tmp_path / at / "small", json.dumps(SMALL)) for at in "ab"]
    with pytest.raises(SystemExit):
        tool.main(folders)
    assert "different names, got small, small" in capsys.readouterr().err
