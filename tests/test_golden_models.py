"""Whole models against the published ones: the official S5's classifiers and retrieval model in
evaluation and training, and s5-pytorch's blocks."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
import truths

from eigenstate.interop import s5_pytorch, weights

GOLDEN = Path(__file__).parent / "golden"
CLASSIFIERS = sorted(GOLDEN.glob("s5_classifier_*.npz"))
BLOCKS = sorted(GOLDEN.glob("s5pytorch_block*.npz"))
EXACT, SINGLE = 1e-10, 2e-6  # of float64 and float32 files
# The files' BatchNorm has its statistics and weights in float32, and so in evaluation it formed
# weight / sqrt(variance + eps) in float32 as well: a part in 1e7 of each feature's scale.
ROUNDED = 1e-8
# There the reciprocal root was rounded to nearest but for these (block, feature, direction).
ELSEWHERE = {
    "s5_classifier_half_glu1_batchnorm": [(0, 6, -1), (0, 7, 1), (1, 5, -1)],
    "s5_classifier_half_glu2_padded": [],
    "s5_retrieval": [(0, 3, -1), (1, 3, -1), (1, 4, 1)],  # of several that would do
}


def read(path):
    """Settings and arrays."""
    with np.load(path) as file:
        arrays = dict(file)
    return json.loads(str(arrays.pop("config"))), arrays


def part(arrays, prefix):
    return {
        name.removeprefix(prefix): value
        for name, value in arrays.items()
        if name.startswith(prefix)
    }


def settings(config):
    """What the file says of its model, in our words."""
    gate = config["activation"] if config["activation"].startswith("half") else "half_glu1"
    return weights.S5Settings(
        activation=gate,
        prenorm=config["prenorm"],
        pooling={"pool": "mean", "last": "last"}[config["mode"]],
        norm_momentum=1 - config["bn_momentum"],
        dropout=config["dropout"],
    )


def log_probs(model, arrays):
    lengths = torch.from_numpy(arrays["lengths"]) if "lengths" in arrays else None
    logits, _ = model(torch.from_numpy(arrays["x"]), lengths=lengths)
    return logits.log_softmax(-1)


@torch.no_grad()
def round_scales(model, name):
    """Let the running variances give the file's own rounding of weight / sqrt(variance + eps)."""
    for number, block in enumerate(model.backbone.blocks):
        norm = block.norm
        variance = norm.running_var.numpy().astype(np.float32) + np.float32(norm.eps)
        root = (1 / np.sqrt(variance.astype(np.float64))).astype(np.float32)
        for _, feature, direction in (x for x in ELSEWHERE[name] if x[0] == number):
            root[feature] = np.nextafter(root[feature], np.float32(np.inf * direction))
        weight = norm.weight.numpy().astype(np.float32)
        scale = (root * weight).astype(np.float64) / weight
        norm.running_var.copy_(torch.from_numpy(scale**-2 - norm.eps))


def test_all_golden_files_are_here():
    assert len(CLASSIFIERS) == 4 and len(BLOCKS) == 2


@pytest.mark.parametrize("path", CLASSIFIERS, ids=lambda path: path.stem)
def test_published_classifier(path):
    config, arrays = read(path)
    model = weights.classifier_from(path, settings=settings(config)).eval()
    assert model.n_classes == config["d_output"]
    assert len(model.backbone.blocks) == config["n_layers"]
    assert model.backbone.blocks[0].activation.kind == config["activation"]
    if config["batchnorm"]:
        assert truths.error(log_probs(model, arrays), arrays["log_probs"]) < ROUNDED
        round_scales(model, path.stem)
    assert truths.error(log_probs(model, arrays), arrays["log_probs"]) < EXACT


@pytest.mark.parametrize("path", CLASSIFIERS, ids=lambda path: path.stem)
def test_published_classifier_in_training(path):
    """BatchNorm takes this batch's statistics then, in double precision."""
    config, arrays = read(path)
    model = weights.classifier_from(path, settings=settings(config)).train()
    expected = arrays.get("log_probs_train", arrays["log_probs"])
    assert truths.error(log_probs(model, arrays), expected) < EXACT


@pytest.mark.parametrize("path", [p for p in CLASSIFIERS if "glu1" in p.stem or "glu2" in p.stem])
def test_published_batch_statistics(path):
    """What training adds to the running ones; the rest of the old ones is rounded in the file."""
    config, arrays = read(path)
    model = weights.classifier_from(path, settings=settings(config)).train()
    before = weights.flatten(weights.export_classifier(model).batch_stats)
    log_probs(model, arrays)
    after = weights.flatten(weights.export_classifier(model).batch_stats)
    assert after.keys() == part(arrays, "batch_stats_after/").keys()
    keep = np.float32(config["bn_momentum"])
    for name, value in part(arrays, "batch_stats_after/").items():
        assert truths.error(after[name], value) < SINGLE
        kept = before[name].astype(np.float32) * keep
        added = after[name] - config["bn_momentum"] * before[name]
        assert truths.error(added, value - kept) < EXACT, name


def test_pads_reach_norms_and_backward_scans_as_published_and_only_so():
    """The default keeps them out, and so has other numbers."""
    path = GOLDEN / "s5_classifier_half_glu2_padded.npz"
    config, arrays = read(path)
    ours = weights.S5Settings(activation=config["activation"], padding="invariant")
    model = weights.classifier_from(path, settings=ours).eval()
    assert truths.error(log_probs(model, arrays), arrays["log_probs"]) > 1e-3


def test_published_retrieval():
    path = GOLDEN / "s5_retrieval.npz"
    _, arrays = read(path)
    model = weights.retrieval_from(path).eval()
    assert truths.error(log_probs(model, arrays), arrays["log_probs"]) < ROUNDED
    round_scales(model, path.stem)
    assert truths.error(log_probs(model, arrays), arrays["log_probs"]) < EXACT


# --- s5-pytorch -----------------------------------------------------------------------------------


def block(path):
    config, arrays = read(path)
    module = s5_pytorch.S5Block(
        config["dim"],
        config["state_dim"],
        bidir=config["bidir"],
        block_count=config["block_count"],
    ).eval()
    weights.load_s5_pytorch(module, part(arrays, "params/"))
    return module, arrays, torch.from_numpy(arrays["u"]).double()


@pytest.mark.parametrize("precision", [torch.float32, torch.float64])
@pytest.mark.parametrize("path", BLOCKS, ids=lambda path: path.stem)
def test_published_block(path, precision):
    module, arrays, u = block(path)
    module, u = module.to(precision), u.to(precision)
    assert truths.error(module(u), arrays["y_block"]) < SINGLE
    assert truths.error(module.s5(u), arrays["y_layer"]) < SINGLE


def test_published_block_at_irregular_times():
    module, arrays, u = block(GOLDEN / "s5pytorch_block.npz")
    step_scale = torch.from_numpy(arrays["step_scale"]).double()
    assert truths.error(module.s5(u, step_scale), arrays["y_layer_irregular"]) < SINGLE
