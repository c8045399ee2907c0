"""What the documents say is run: every Python block, every `make` target, every link."""

import re
from pathlib import Path

import pytest
import torch
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")]
DOCUMENTS += sorted((ROOT / "docs").glob("*.md"))


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_python_blocks_run(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    torch.set_default_dtype(torch.float32)  # as in a reader's own session
    for block in Sybil([PythonCodeBlockParser()]).parse(path).examples():
        block.evaluate()


def test_the_readme_shows_python():
    assert "```python" in (ROOT / "README.md").read_text()


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_and_commands_exist(path):
    text = path.read_text()
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"`make ([a-z-]+)", text)) <= targets
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", text)
    scripts = re.findall(r"\b(?:examples|benchmarks|tests|tools)/\w+\.\w+", text)
    assert not [name for name in links if not (path.parent / name).exists()]
    assert not [name for name in scripts if not (ROOT / name).exists()]
