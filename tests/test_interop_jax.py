"""Weights of the official S5 in JAX: their answers, there and back, files, and what is refused."""

import base64
import json
from pathlib import Path

import numpy as np
import pytest
import torch
import truths

import eigenstate as es
from eigenstate.interop import weights

GOLDEN = Path(__file__).parent / "golden"
LAYERS = sorted(GOLDEN.glob("s5_layer_*.npz"))
MODELS = sorted([*GOLDEN.glob("s5_classifier_*.npz"), GOLDEN / "s5_retrieval.npz"])
names = pytest.mark.parametrize("path", LAYERS, ids=lambda path: path.stem)
models = pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)


def read(path):
    with np.load(path) as file:
        arrays = dict(file)
    return json.loads(str(arrays.pop("config"))), arrays


def part(arrays, prefix):
    return {name.removeprefix(prefix): x for name, x in arrays.items() if name.startswith(prefix)}


def settings(config):
    return weights.S5Settings(
        conjugate=config.get("conj", True),
        clip=config.get("clip", False),
        discretization=config.get("disc", "zoh"),
    )


def fresh(d_model=3, d_state=6, *, stability="free", **keywords):
    options = es.S5Options(stability=stability, c_init=keywords.pop("c_init", "lecun_normal"))
    return es.S5(d_model, d_state, options=options, **keywords)


def model_from(path, source):
    """A model of the golden file's kind."""
    build = weights.retrieval_from if "retrieval" in path.stem else weights.classifier_from
    return build(source)


def exporter(path):
    return weights.export_retrieval if "retrieval" in path.stem else weights.export_classifier


# --- their answers --------------------------------------------------------------------------------


@names
def test_published_layer(path):
    """Value and every gradient."""
    config, arrays = read(path)
    layer = weights.s5_from(path, settings=settings(config))
    assert layer.spectrum.stability == ("clip" if config.get("clip") else "free")
    dt = np.full(len(arrays["u"]), config.get("step_rescale", 1.0))
    if "intervals" in arrays:
        dt = np.append(1.0, arrays["intervals"])
    u = torch.from_numpy(arrays["u"])[None].requires_grad_()
    y, _ = layer(u, dt=torch.from_numpy(dt))
    (torch.from_numpy(arrays["w"]) * y[0]).sum().backward()
    assert truths.error(y[0], arrays["y"]) < 1e-10
    assert truths.error(u.grad[0], arrays["grad_u"]) < 1e-10
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.copy_(parameter.grad)
    for name, gradient in part(arrays, "grads/").items():
        assert truths.error(weights.export_s5(layer)[name], gradient) < 1e-10, name


@names
def test_there_and_back(path):
    config, arrays = read(path)
    params = part(arrays, "params/")
    back = weights.export_s5(weights.s5_from(params, settings=settings(config)))
    assert back.keys() == params.keys()
    for name, value in params.items():
        assert np.array_equal(back[name], value) and back[name].dtype == value.dtype, name


@models
def test_models_there_and_back(path):
    _, arrays = read(path)
    model = model_from(path, path)
    back = exporter(path)(model)
    assert (back.batch_stats is None) == (not part(arrays, "batch_stats/"))
    for prefix, tree in back._asdict().items():
        flat = weights.flatten(tree or {})
        expected = part(arrays, f"{prefix}/")
        assert flat.keys() == expected.keys()
        assert all(np.array_equal(flat[name], expected[name]) for name in flat)


def test_a_damped_layer_keeps_the_function_and_stays_damped():
    params = part(read(GOLDEN / "s5_layer_plain.npz")[1], "params/")
    params["Lambda_re"] = -np.abs(params["Lambda_re"]) - 1e-3
    ours, damped = weights.s5_from(params), fresh(6, 16, stability="exp")
    weights.load_s5(damped, params)
    u = torch.randn(2, 19, 6)
    assert truths.error(damped(u)[0], ours(u)[0].detach()) < 1e-14
    back = weights.export_s5(damped)
    assert all(truths.error(back[name], value) < 1e-15 for name, value in params.items())


def test_a_layer_in_single_precision_stays_so():
    params = part(read(GOLDEN / "s5_layer_plain.npz")[1], "params/")
    layer = fresh(6, 16).float()
    weights.load_s5(layer, params)
    assert layer.B.dtype == torch.float32
    back = weights.export_s5(layer)
    assert all(back[name].dtype == np.float32 for name in params)
    assert all(np.array_equal(back[name], x.astype(np.float32)) for name, x in params.items())


# --- how they come --------------------------------------------------------------------------------


def forms(params):
    """The same weights, nested, flat, dotted, by tuples, as tensors, as a training state."""
    nested = {}
    for name, value in params.items():
        branch = nested
        *above, last = name.split("/")
        for key in above:
            branch = branch.setdefault(key, {})
        branch[last] = value
    return {
        "nested": nested,
        "flat": params,
        "dotted": {name.replace("/", "."): value for name, value in params.items()},
        "tuples": {tuple(name.split("/")): value for name, value in params.items()},
        "tensors": {name: torch.from_numpy(value) for name, value in params.items()},
        "state": {"params": nested, "step": 7, "opt_state": {"0": {"mu": nested}}},
    }


@pytest.mark.parametrize("form", ["nested", "flat", "dotted", "tuples", "tensors", "state"])
def test_every_form_of_a_dict(form):
    path = GOLDEN / "s5_classifier_gelu.npz"
    params = part(read(path)[1], "params/")
    model = weights.classifier_from(forms(params)[form])
    flat = weights.flatten(weights.export_classifier(model).params)
    assert all(np.array_equal(flat[name], params[name]) for name in params)


@models
def test_what_was_exported_loads(path):
    model, export = model_from(path, path), exporter(path)
    again = model_from(path, export(model))
    assert all(torch.equal(again.state_dict()[n], x) for n, x in model.state_dict().items())


@models
@pytest.mark.parametrize("suffix", [".npz", ".msgpack"])
def test_files(path, suffix, tmp_path):
    _, arrays = read(path)
    params, statistics = part(arrays, "params/"), part(arrays, "batch_stats/")
    file = tmp_path / f"weights{suffix}"
    weights.write_weights(file, params, statistics)
    read_back = weights.read_weights(str(file))
    assert read_back.params.keys() == params.keys()
    assert (read_back.batch_stats or {}).keys() == statistics.keys()
    for name, value in params.items():
        assert np.array_equal(read_back.params[name], value)
        assert read_back.params[name].dtype == value.dtype
    ours, theirs = (model_from(path, source).state_dict() for source in (file, path))
    assert all(torch.equal(ours[name], value) for name, value in theirs.items())
    assert [file] == list(tmp_path.iterdir())


# What flax 0.12.8 wrote: a bfloat16 (2, 2) of 1.5 beside [0, 1, 2], and ten numbers (2, 5) in five
# pieces, its MAX_CHUNK_SIZE being 16.
HALVES = (
    "gaZwYXJhbXOCoWjHFwGTkgICqGJmbG9hdDE2xAjAP8A/wD/AP6FrxxkBk5EDp2Zsb2F0MzLEDAAAAAAAAIA/AAAAQA=="
)
PIECES = (
    "gaZwYXJhbXOBoWuDuV9fbXNncGFja19jaHVua2VkX2FycmF5X1/DpXNoYXBlgqEwAqExBaZjaHVua3OFoTDHHQGTkQ"
    "KnZmxvYXQ2NMQQAAAAAAAAAAAAAAAAAADwP6Exxx0Bk5ECp2Zsb2F0NjTEEAAAAAAAAABAAAAAAAAACEChMscdAZOR"
    "AqdmbG9hdDY0xBAAAAAAAAAQQAAAAAAAABRAoTPHHQGTkQKnZmxvYXQ2NMQQAAAAAAAAGEAAAAAAAAAcQKE0xx0Bk5"
    "ECp2Zsb2F0NjTEEAAAAAAAACBAAAAAAAAAIkA="
)


def test_a_file_that_flax_wrote(tmp_path):
    file = tmp_path / "weights.msgpack"
    file.write_bytes(base64.b64decode(HALVES))
    params = weights.read_weights(file).params
    assert np.array_equal(params["h"], np.full((2, 2), 1.5))
    assert np.array_equal(params["k"], [0, 1, 2])
    file.write_bytes(base64.b64decode(PIECES))
    assert np.array_equal(weights.read_weights(file).params["k"], np.arange(10.0).reshape(2, 5))


def test_batch_statistics_may_come_apart():
    path = GOLDEN / "s5_classifier_half_glu1_batchnorm.npz"
    _, arrays = read(path)
    apart = weights.classifier_from(part(arrays, "params/"), part(arrays, "batch_stats/"))
    together = weights.classifier_from(path)
    for name, value in together.state_dict().items():
        assert torch.equal(apart.state_dict()[name], value)
    weights.load_classifier(apart, part(arrays, "params/"), part(arrays, "batch_stats/"))
    with pytest.raises(weights.WeightsError, match="there twice"):
        weights.load_classifier(apart, path, part(arrays, "batch_stats/"))


def test_token_models_begin_with_a_one_hot_encoder():
    path = GOLDEN / "s5_classifier_gelu.npz"
    linear = weights.classifier_from(path)
    tokens = weights.classifier_from(path, settings=weights.S5Settings(tokens=True))
    ids = torch.tensor([[0, 3, 1], [2, 2, 0]])
    one_hot = torch.nn.functional.one_hot(ids, 4).double()
    assert truths.error(tokens(ids)[0], linear(one_hot)[0].detach()) < 1e-15
