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


def test_the_document_is_written_from_folders_of_the_runner(tool, tmp_path) -> None:
    folder = tmp_path / "small"
    folder.mkdir()
    (folder / "results.md").write_text("# Results: small\n\n## Runs\n\nnone\n")
    (folder / "results.json").write_text("{}\n")
    assert tool.main([str(folder)]) == 0
    text = (tmp_path / "docs" / "results.md").read_text()
    assert text.endswith("\n## Results: small\n\n### Runs\n\nnone\n")
    assert (tmp_path / "docs" / "results" / "small.json").read_text() == "{}\n"


def test_a_folder_without_results_changes_nothing(tool, tmp_path) -> None:
    with pytest.raises(SystemExit):
        tool.main([str(tmp_path)])
    assert not (tmp_path / "docs" / "results.md").exists()
