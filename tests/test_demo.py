"""The demo, on a model that is too small to be good."""

import importlib.util
import re
from pathlib import Path

import pytest

from eigenstate.training.config import merged
from eigenstate.training.presets import read_preset

SMALL = {
    "model": {"d_model": 6, "n_layers": 1, "layer_options": {"d_state": 4}},
    "training": {"epochs": 2, "batch_size": 90, "threads": 1},
}


@pytest.fixture
def demo(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = Path(__file__).parents[1] / "examples" / "demo.py"
    spec = importlib.util.spec_from_file_location("demo", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "read_preset", lambda name: merged(read_preset(name), SMALL))
    return module


@pytest.mark.parametrize("layer", ["s5", "s4d", "s4"])
def test_the_demo_trains_streams_and_leaves_a_run(demo, capsys, tmp_path, layer):
    assert demo.main(["--layer", layer]) == 0
    assert f"layer: {layer}\n" in (tmp_path / "runs/japanese-vowels-001/config.yaml").read_text()
    out = capsys.readouterr().out
    assert re.match(r"test accuracy \d+\.\d+% at the last epoch\n", out)
    frames = re.findall(r"^ +(\d+)  speaker \d  [█·]{30}  +\d+\.\d%$", out, re.MULTILINE)
    assert [int(frame) for frame in frames] == list(range(1, len(frames) + 1)) and len(frames) >= 7
    difference = re.search(r"differ by (\S+) at most", out)
    assert difference and float(difference[1]) < 1e-5
    assert "The run is in runs/japanese-vowels-001: checkpoint.pt, config.yaml" in out
    assert (tmp_path / "runs/japanese-vowels-001/learning_curve.png").exists()
