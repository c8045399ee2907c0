"""Official JAX weights that do not fit, are damaged, or none: what is said, and nothing done."""

import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import eigenstate as es
from eigenstate.interop import weights
from eigenstate.models import EmbeddingEncoder

GOLDEN = Path(__file__).parent / "golden"


def fresh(d_model=3, d_state=6, *, stability="free", **keywords):
    options = es.S5Options(stability=stability, c_init=keywords.pop("c_init", "lecun_normal"))
    return es.S5(d_model, d_state, options=options, **keywords)


def plain(**changes):
    """Arrays for `fresh()`: 3 features and 3 stored modes; None takes one away."""
    layer = weights.export_s5(fresh())
    return {name: x for name, x in (layer | changes).items() if x is not None}


BAD_ARRAYS = {
    "unknown": ({"gain": np.ones(2)}, "gain: unknown"),
    "missing": ({"D": None}, r"D: missing, expected shape \(3,\)"),
    "misshapen": ({"B": np.ones((3, 3))}, r"B: expected shape \(3, 3, 2\), got \(3, 3\)"),
    "nan": ({"C": np.full((3, 3, 2), np.nan)}, r"C: holds nan at index \(0, 0, 0\)"),
    "infinity": ({"D": np.array([1, 2, np.inf])}, r"D: holds inf at index \(2,\)"),
    "complex": ({"D": np.ones(3, complex)}, "D: expected real numbers, got complex128"),
    "text": ({"D": np.array(["a", "b", "c"])}, "D: expected real numbers, got <U1"),
    "nothing": ({"D": np.array(None)}, "D: expected real numbers, got object"),
    "timescale": ({"log_step": np.full((3, 1), 60.0)}, r"log Δ must lie within ±50, got 60"),
}


@pytest.mark.parametrize("bad", BAD_ARRAYS)
def test_bad_arrays(bad):
    changes, message = BAD_ARRAYS[bad]
    layer = fresh()
    before = {name: x.clone() for name, x in layer.state_dict().items()}
    with pytest.raises(weights.WeightsError, match=message) as caught:
        weights.load_s5(layer, plain(**changes))
    assert "nothing was loaded" in str(caught.value)
    assert all(torch.equal(x, before[name]) for name, x in layer.state_dict().items())


def test_all_that_is_wrong_is_told_at_once_and_nothing_is_half_loaded():
    path = GOLDEN / "s5_classifier_half_glu1_batchnorm.npz"
    model = weights.classifier_from(path)
    before = {name: x.clone() for name, x in model.state_dict().items()}
    with np.load(path) as file:
        source = {name: x + 1 for name, x in file.items() if name.startswith(("params", "batch_s"))}
    del source["params/decoder/bias"]
    source["params/encoder/layers_7/norm/scale"] = np.ones(8)
    source["batch_stats/encoder/layers_1/norm/var"][3] = np.nan
    with pytest.raises(weights.WeightsError) as caught:
        weights.load_classifier(model, source)
    for told in (
        "  params/decoder/bias: missing, expected shape (5,)",
        "  params/encoder/layers_7/norm/scale: unknown",
        "  batch_stats/encoder/layers_1/norm/var: holds nan at index (3,)",
    ):
        assert told in str(caught.value)
    assert all(torch.equal(x, before[name]) for name, x in model.state_dict().items())


def test_numbers_too_large_for_single_precision():
    with pytest.raises(weights.WeightsError, match=r"D: too large for torch.float32"):
        weights.load_s5(fresh().float(), plain(D=np.array([0, 1e300, 0])))


def test_a_damped_layer_refuses_a_growing_mode():
    growing = plain(Lambda_re=np.array([-0.5, 0.25, -0.5]))
    message = r"Re λ of mode 1 is 0.25, .* stability='exp' .* build it with stability='free'"
    with pytest.raises(weights.WeightsError, match=message):
        weights.load_s5(fresh(stability="exp"), growing)
    weights.load_s5(fresh(), growing)


def test_other_layers_and_models_are_refused():
    backbone = es.Backbone(3, 1, layer="s4d", layer_options={"d_state": 4})
    classifier = es.Classifier(2, 2, backbone=backbone)
    scalar = es.S5(3, 6, options=es.S5Options(timescale="scalar"))
    with pytest.raises(weights.WeightsError, match="timescale='per_mode'"):
        weights.export_s5(scalar)
    with pytest.raises(weights.WeightsError, match="build it with discretization='zoh'"):
        weights.export_s5(fresh(discretization="none"))
    with pytest.raises(TypeError, match="expected an S5 layer, got S4D"):
        weights.load_s5(es.S4D(3, 4), plain())
    with pytest.raises(TypeError, match="the official blocks hold an S5 layer, got S4D"):
        weights.load_classifier(classifier, {})
    with pytest.raises(TypeError, match="expected a Classifier or a Retrieval, got Backbone"):
        weights.load_classifier(backbone, {})
    table = es.Classifier(EmbeddingEncoder(5, 3), 2, backbone=es.Backbone(3, 1))
    with pytest.raises(TypeError, match=r"begin with a dense matrix.* got EmbeddingEncoder"):
        weights.load_classifier(table, {})


def test_sizes_that_arrays_do_not_tell():
    with pytest.raises(weights.WeightsError, match=r"read from B, of 3 axes; there is only D"):
        weights.s5_from({"D": np.ones(3)})
    with pytest.raises(weights.WeightsError, match=r"of 2 axes; its shape is \(3,\)"):
        weights.classifier_from({"encoder/encoder/kernel": np.ones(3)})
    with pytest.raises(ValueError, match="activation must be one of"):
        weights.S5Settings(activation="glu")
    with pytest.raises(TypeError, match="clip must be True or False"):
        weights.S5Settings(clip=1)


def test_ambiguous_names():
    with pytest.raises(weights.WeightsError, match="seq/D: there twice"):
        weights.load_s5(fresh(), {"seq/D": np.ones(3), "seq": {"D": np.ones(3)}})


def test_what_is_no_array_is_named():
    entries = {"seq": {"D": [[1.0], [1.0, 2.0]]}, "B": torch.zeros(2).to_sparse()}
    with pytest.raises(weights.WeightsError) as caught:
        weights.load_s5(fresh(), entries)
    assert "seq/D: not an array" in str(caught.value) and "B: not an array" in str(caught.value)
    with pytest.raises(TypeError, match="weights must be a dict, Variables or the path of a file"):
        weights.load_s5(fresh(), None)


@pytest.mark.parametrize("suffix", [".npz", ".msgpack"])
def test_damaged_files(suffix, tmp_path):
    whole, file = tmp_path / f"whole{suffix}", tmp_path / f"weights{suffix}"
    weights.write_weights(whole, plain())
    data = whole.read_bytes()
    for damaged in (b"", data[: len(data) // 2], b"\x00" * 100, b"text, no weights"):
        file.write_bytes(damaged)
        with pytest.raises(weights.WeightsError, match=r"weights\.(npz|msgpack)"):
            weights.read_weights(file)
    with pytest.raises(weights.WeightsError, match="no such file"):
        weights.read_weights(tmp_path / f"other{suffix}")


def test_without_msgpack_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "msgpack", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'eigenstate\[weights\]'"):
        weights.write_weights(tmp_path / "weights.msgpack", plain())
    assert not list(tmp_path.iterdir())


def test_other_files(tmp_path):
    with pytest.raises(weights.WeightsError, match=r"must end in \.npz or \.msgpack"):
        weights.read_weights(tmp_path / "weights.pt")
    with pytest.raises(weights.WeightsError, match=r"must end in \.npz or \.msgpack"):
        weights.write_weights(tmp_path / "weights.pt", plain())
    with pytest.raises(weights.WeightsError, match="params/D: expected numbers, got object"):
        weights.write_weights(tmp_path / "weights.npz", {"D": None})
    assert not list(tmp_path.iterdir())
    np.savez(tmp_path / "pickled.npz", D=np.array([{}], dtype=object))
    with pytest.raises(weights.WeightsError, match="Object arrays cannot be loaded"):
        weights.read_weights(tmp_path / "pickled.npz")
