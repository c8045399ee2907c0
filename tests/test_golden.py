"""Arrays written by running the published S5: value and every gradient, to 1e-10."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
import truths

import eigenstate as es

FILES = sorted((Path(__file__).parent / "golden").glob("s5_layer_*.npz"))
NAMES = {"spectrum.poles", "spectrum.log_timescale", "B", "C", "C_reverse", "D"}


def by_our_names(published):
    """Published arrays under the layer's names and shapes.

    Λ (P,) in two parts -> poles (2, P); log_step (P, 1) -> (P,); B (P, H, 2) -> (2, P, H);
    C (H, P, 2) -> (H, 2, P). A bidirectional C is C1 and C2, or one array with forward modes first.
    """
    outputs = [published[name] for name in ("C", "C1", "C2") if name in published]
    modes = len(published["Lambda_re"])
    if outputs[0].shape[1] == 2 * modes:
        outputs = [outputs[0][:, :modes], outputs[0][:, modes:]]
    ours = {
        "spectrum.poles": np.stack([published["Lambda_re"], published["Lambda_im"]]),
        "spectrum.log_timescale": published["log_step"][:, 0],
        "B": np.moveaxis(published["B"], -1, 0),
        "C": np.moveaxis(outputs[0], -1, 1),
        "D": published["D"],
    }
    if len(outputs) == 2:
        ours["C_reverse"] = np.moveaxis(outputs[1], -1, 1)
    return ours


def load(path):
    """Settings, arrays, our parameters, their gradients, and dt (L,)."""
    with np.load(path) as file:
        arrays = dict(file)
    config = json.loads(str(arrays["config"]))
    parameters, gradients = (
        by_our_names(
            {
                name.removeprefix(part): value
                for name, value in arrays.items()
                if name.startswith(part)
            }
        )
        for part in ("params/", "grads/")
    )
    dt = np.full(len(arrays["u"]), config.get("step_rescale", 1.0))
    if "intervals" in arrays:
        dt = np.append(1.0, arrays["intervals"])
    return config, arrays, parameters, gradients, dt


def build(config, parameters):
    options = es.S5Options(
        conjugate=config.get("conj", True),
        c_init=config.get("C_init", "trunc_standard_normal"),
        stability="clip" if config.get("clip") else "free",
    )
    layer = es.S5(
        config["H"],
        config["P"],
        blocks=config["J"],
        bidirectional=config.get("bid", False),
        discretization=config.get("disc", "zoh"),
        options=options,
    ).double()
    state = {name: torch.from_numpy(value) for name, value in parameters.items()}
    layer.load_state_dict(state)
    return layer


def test_all_golden_files_are_here():
    assert len(FILES) == 8


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
@pytest.mark.parametrize("backend", ["reference", "associative", "cpu"])
def test_published_layer(path, backend):
    config, arrays, parameters, gradients, dt = load(path)
    layer = build(config, parameters)
    u = torch.from_numpy(arrays["u"])[None].requires_grad_()
    with es.use_backend(backend):
        y, _ = layer(u, dt=torch.from_numpy(dt))
        (torch.from_numpy(arrays["w"]) * y[0]).sum().backward()
    assert truths.error(y[0], arrays["y"]) < 1e-10
    assert truths.error(u.grad[0], arrays["grad_u"]) < 1e-10
    assert gradients.keys() == dict(layer.named_parameters()).keys() <= NAMES
    for name, parameter in layer.named_parameters():
        assert truths.error(parameter.grad, gradients[name]) < 1e-10, name


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_truth_agrees_too(path):
    config, arrays, parameters, _, dt = load(path)
    settings = {
        "stability": "clip" if config.get("clip") else "free",
        "conjugate": config.get("conj", True),
        "discretization": config.get("disc", "zoh"),
    }
    y, _, _ = truths.s5(parameters, settings, arrays["u"][None], dt=dt)
    assert truths.error(y[0], arrays["y"]) < 1e-14
