"""Models in folders: the same model back, or one clear error, and never half of either."""

import json
import os
import random
import signal
import subprocess
import sys

import pytest
import torch
from safetensors.torch import load_file, save_file

import eigenstate as es
from eigenstate.models.pretrained import _digest

LAYERS = [("s5", {"d_state": 4, "bidirectional": True}), ("s4d", {"d_state": 4}), ("s4", {})]


def backbone(layer="s5", own=None, **more):
    own = {"d_state": 4} if own is None else own
    return es.Backbone(6, 2, layer=layer, layer_options=own, **more)


MODELS = {
    "backbone": lambda: backbone(dropout=0.1, prenorm=False),
    "classifier": lambda: es.Classifier(3, 4, backbone=backbone(), pooling="last"),
    "labeller": lambda: es.Labeller(es.OneHotEncoder(7, 6), 4, backbone=backbone()),
    "regressor": lambda: es.Regressor(
        es.ImageEncoder(6, append_dt=True), 2, backbone=backbone(), hidden=5
    ),
    "retrieval": lambda: es.Retrieval(es.EmbeddingEncoder(7, 6), 2, backbone=backbone()),
    "autoregressive": lambda: es.Autoregressive(9, backbone=backbone()),
}


def assert_same(model, other):
    assert type(model) is type(other) and model.config == other.config
    mine, others = model.state_dict(), other.state_dict()
    assert list(mine) == list(others)
    for name, value in mine.items():
        assert value.dtype == others[name].dtype and torch.equal(value, others[name]), name


@pytest.mark.parametrize("name", MODELS)
def test_a_model_comes_back_as_it_was(tmp_path, name):
    model = MODELS[name]()
    assert model.config["model"] == name and json.dumps(model.config)
    model.save_pretrained(tmp_path)
    loaded = type(model).from_pretrained(tmp_path)
    assert_same(model, loaded)
    assert not loaded.training
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.json", "model.safetensors"]
    again = type(model).from_config(model.config)
    assert again.config == model.config


@pytest.mark.parametrize(("layer", "options"), LAYERS)
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_every_layer_and_type_comes_back(tmp_path, layer, options, dtype):
    options_of_block = es.BlockOptions(norm="batch", gelu="tanh", padding="published")
    model = backbone(layer, options, options=options_of_block).to(dtype)
    model.save_pretrained(tmp_path)
    assert_same(model, es.Backbone.from_pretrained(tmp_path))


def test_a_tied_parameter_comes_back_tied_or_not_but_with_its_value(tmp_path):
    model = es.Labeller(es.EmbeddingEncoder(4, 6), 4, backbone=backbone())
    model.decoder.weight = model.encoder.weight
    model.save_pretrained(tmp_path)
    assert_same(model, es.Labeller.from_pretrained(tmp_path))


def test_saving_replaces_what_was_there(tmp_path):
    first, second = MODELS["classifier"](), MODELS["classifier"]()
    first.save_pretrained(tmp_path / "a" / "b")
    second.save_pretrained(tmp_path / "a" / "b")
    assert_same(second, es.Classifier.from_pretrained(tmp_path / "a" / "b"))


def test_a_model_saved_before_blocks_could_lack_a_skip_has_one(tmp_path, monkeypatch):
    model = MODELS["classifier"]()
    config = {name: value for name, value in model.config.items() if name != "skip"}
    with monkeypatch.context() as patch:
        patch.setattr(es.Classifier, "config", property(lambda _: config))
        model.save_pretrained(tmp_path)
    assert_same(model, es.Classifier.from_pretrained(tmp_path))


# --- what cannot be loaded ------------------------------------------------------------------------


@pytest.fixture
def saved(tmp_path):
    MODELS["classifier"]().save_pretrained(tmp_path)
    return tmp_path


def refused(folder, message, kind=es.Classifier):
    with pytest.raises(es.CheckpointError, match=message) as caught:
        kind.from_pretrained(folder)
    assert str(folder) in str(caught.value)


def test_another_class(saved):
    refused(saved, "holds a model of class 'classifier', not 'labeller'", es.Labeller)


def test_missing_files_and_folders(saved, tmp_path):
    refused(tmp_path / "nowhere", "nowhere: no such folder")
    (saved / "config.json").unlink()
    refused(saved, r"config\.json: no such file")
    (saved / "model.safetensors").unlink()
    refused(saved, r"model\.safetensors: no such file")


def test_a_config_that_was_changed(saved):
    config = json.loads((saved / "config.json").read_text())
    (saved / "config.json").write_text(json.dumps(config | {"dropout": 0.5}))
    refused(saved, r"config\.json: differs from the config inside")
    (saved / "config.json").write_text("{")
    refused(saved, r"config\.json: damaged or not JSON")


def rewritten(folder, config=None, tensors=None):
    """The same folder as a writer of that config and those tensors would have left it."""
    from eigenstate.models import pretrained

    text, old = pretrained._read(folder / "model.safetensors")
    config = json.loads(text) | (config or {})
    tensors = old if tensors is None else tensors(old)
    text = json.dumps(config, sort_keys=True)
    metadata = {"config": text, "sha256": pretrained._digest(text, tensors)}
    data = pretrained._safetensors().torch.save(tensors, metadata)
    (folder / "model.safetensors").write_bytes(data)
    (folder / "config.json").write_text(json.dumps(config))


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"format_version": 2}, "format version 1 expected, got 2; it needs another version"),
        ({"colour": "red"}, "unknown 'colour'"),
        ({"d_model": 8}, "does not fit its config: backbone"),
        ({"n_layers": 0}, "n_layers must be"),
        ({"layer": "s6"}, "layer must be"),
        ({"encoder": "nose"}, "encoder must be"),
    ],
)
def test_a_config_of_something_else(saved, config, message):
    rewritten(saved, config)
    refused(saved, message)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: {**t, "decoder.bias": torch.full((4,), torch.nan)}, "not finite: decoder.bias"),
        (lambda t: {**t, "extra": torch.ones(1)}, r"extra: expected nothing, got real \(1,\)"),
        (
            lambda t: {k: v for k, v in t.items() if k != "decoder.bias"},
            r"decoder\.bias: expected real \(4,\), got nothing",
        ),
        (
            lambda t: {**t, "decoder.bias": torch.ones(4, dtype=torch.int64)},
            r"decoder\.bias: expected real \(4,\), got torch\.int64 \(4,\)",
        ),
    ],
)
def test_tensors_of_something_else(saved, change, message):
    rewritten(saved, tensors=change)
    refused(saved, message)


def test_a_file_of_another_writer(saved):
    import safetensors.torch

    safetensors.torch.save_file({"a": torch.ones(2)}, saved / "model.safetensors")
    refused(saved, "lacks config and sha256 in its metadata: it was not written by")


def test_weights_that_are_not_finite_are_never_saved(saved):
    model = MODELS["classifier"]()
    before = (saved / "model.safetensors").read_bytes()
    with torch.no_grad():
        model.decoder.bias[1] = torch.inf
    with pytest.raises(es.CheckpointError, match=r"not finite: decoder\.bias"):
        model.save_pretrained(saved)
    assert (saved / "model.safetensors").read_bytes() == before


def test_an_encoder_of_ones_own_cannot_be_described(tmp_path):
    class Mine(es.LinearEncoder):
        pass

    model = es.Classifier(Mine(3, 6), 4, backbone=backbone())
    with pytest.raises(TypeError, match="class Mine cannot be described in a config"):
        model.save_pretrained(tmp_path / "m")
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "[]", "null", "not json"])
def test_a_config_that_is_none(saved, text):
    (saved / "config.json").write_text(text)
    refused(saved, "config.json")
    path = saved / "model.safetensors"
    tensors = load_file(path)
    save_file(tensors, path, {"config": text, "sha256": _digest(text, tensors)})
    refused(saved, "model.safetensors")


def test_a_config_of_another_class(saved):
    config = es.Labeller(3, 4, backbone=backbone()).config
    with pytest.raises(ValueError, match="config is of model 'labeller', and this class is 'retri"):
        es.Retrieval.from_config(config)


@pytest.mark.parametrize("file", ["model.safetensors", "config.json"])
def test_every_flipped_bit_and_every_cut_is_found(saved, file):
    path = saved / file
    whole = path.read_bytes()
    draw = random.Random(0)
    head = 8 + int.from_bytes(whole[:8], "little") if file == "model.safetensors" else len(whole)
    places = [draw.randrange(head) for _ in range(150)] + [
        draw.randrange(len(whole)) for _ in range(150)
    ]
    for place in places:
        damaged = bytearray(whole)
        damaged[place] ^= 1 << draw.randrange(8)
        path.write_bytes(damaged)
        try:
            loaded = es.Classifier.from_pretrained(saved)
        except es.CheckpointError:
            continue
        # What JSON does not distinguish, such as two kinds of space, is no damage.
        path.write_bytes(whole)
        assert_same(loaded, es.Classifier.from_pretrained(saved))
        assert whole[place : place + 1].isspace()
    for cut in [0, 1, 7, 8, 9, *(draw.randrange(len(whole)) for _ in range(60))]:
        path.write_bytes(whole[:cut])
        refused(saved, str(file))


WRITER = """
import sys, torch, eigenstate as es
torch.manual_seed(0)
model = es.Classifier(3, 4, backbone=es.Backbone(64, 2))
while True:
    with torch.no_grad():
        model.decoder.bias += 1
        model.encoder.bias.copy_(model.decoder.bias[0].expand(64))
    model.save_pretrained(sys.argv[1])
    print(float(model.decoder.bias[0]), flush=True)
"""


def test_a_writer_killed_at_any_moment_leaves_a_whole_model(tmp_path):
    draw = random.Random(0)
    for _ in range(3):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE, text=True
        )
        assert writer.stdout is not None
        for _ in range(draw.randrange(2, 30)):
            writer.stdout.readline()
        os.kill(writer.pid, signal.SIGKILL)
        writer.communicate()
        model = es.Classifier.from_pretrained(tmp_path)
        assert (model.encoder.bias == model.decoder.bias[0]).all()
