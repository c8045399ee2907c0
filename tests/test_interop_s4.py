"""Weights of the published S4 and S4D: their answers, trained kernels, there and back, refusals."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
import truths

import eigenstate as es
from eigenstate.interop import weights

GOLDEN = Path(__file__).parent / "golden"
S4D = ["s4d_legs", "s4d_lin", "s4d_inv_bilinear"]
FULL_GLU = {"activation": "full_glu"}


def read(name, part="params/"):
    """Settings, all arrays, and the kernel's state dict."""
    with np.load(GOLDEN / f"{name}.npz") as file:
        arrays = dict(file)
    state = {
        key.removeprefix(part): torch.from_numpy(value)
        for key, value in arrays.items()
        if key.startswith(part)
    }
    return json.loads(str(arrays.pop("config"))), arrays, state


def s4(features=3, d_state=8, **options):
    return es.S4(features, d_state, options=es.S4Options(**options))


def s4d(features=3, d_state=8, *, discretization="zoh", bidirectional=False, **options):
    return es.S4D(
        features,
        d_state,
        discretization=discretization,
        bidirectional=bidirectional,
        options=es.S4DOptions(**options),
    )


def check(layer, arrays):
    """A kernel alone has no feedthrough."""
    u = torch.from_numpy(arrays["u"])[None]
    assert truths.error(layer.impulse_response(u.shape[1]).T, arrays["K"]) < 1e-10
    assert truths.error(layer(u)[0][0], arrays["y"]) < 1e-10


# --- their answers --------------------------------------------------------------------------------


@pytest.mark.parametrize("stability", ["exp", "free", "clip"])
@pytest.mark.parametrize("name", S4D)
def test_published_s4d(name, stability):
    config, arrays, state = read(name)
    layer = s4d(discretization=config["disc"], stability=stability)
    weights.load_s4d(layer, state)
    assert (layer.spectrum.rates()[1] >= 0).all()
    check(layer, arrays)


@pytest.mark.parametrize("stability", ["exp", "free", "clip"])
@pytest.mark.parametrize("part", ["params/", "params_after/"])
def test_published_s4_new_and_trained(part, stability):
    """After its first call that code holds C (I - Ā^l) in place of C, and l beside it."""
    _, arrays, state = read("s4_dplr_legs", part)
    assert bool(state["l_kernel"]) == (part == "params_after/")
    layer = s4(stability=stability)
    weights.load_s4(layer, state)
    check(layer, arrays)


def test_a_recovered_c_is_the_one_before():
    _, _, before = read("s4_dplr_legs")
    _, _, after = read("s4_dplr_legs", "params_after/")
    assert truths.error(after["C"], before["C"]) > 0.5
    layer = s4()
    weights.load_s4(layer, after)
    back = weights.export_s4(layer)
    assert truths.error(back["kernel.C"], before["C"]) < 1e-10
    assert back["kernel.l_kernel"].item() == 0


def test_systems_that_features_share():
    """n_ssm copies are taken in turn: feature h has copy h modulo their number."""
    _, _, state = read("s4d_lin")
    two = {name: x[:2] if name.startswith("A_") else x for name, x in state.items()}
    two = two | {"B": state["B"][:, :2], "C": state["C"][:, [0, 1, 2, 0, 1, 2]]}
    two["inv_dt"] = state["inv_dt"][[0, 1, 2, 0, 1, 2]]
    layer = s4d(6)
    weights.load_s4d(layer, two)
    assert torch.equal(layer.spectrum.poles[0, :, 0], two["A_real"][[0, 1, 0, 1, 0, 1], 0])
    whole = {name: x[[0, 1, 0, 1, 0, 1]] for name, x in two.items() if name.startswith("A_")}
    whole |= {"B": two["B"][:, [0, 1, 0, 1, 0, 1]], "C": two["C"], "inv_dt": two["inv_dt"]}
    other = s4d(6)
    weights.load_s4d(other, whole)
    assert all(torch.equal(x, layer.state_dict()[n]) for n, x in other.state_dict().items())


def minimal(features=3, modes=4):
    """The state dict of the minimal S4D, random."""
    return {
        "D": torch.randn(features),
        "kernel.C": torch.randn(features, modes, 2),
        "kernel.log_dt": torch.rand(features) - 3,
        "kernel.log_A_real": torch.randn(features, modes) / 2,
        "kernel.A_imag": torch.rand(features, modes) * 9,
    }


def test_minimal_s4d():
    state = minimal()
    layer = s4d(trainable_b=False)
    weights.load_s4d(layer, state)
    dt = state["kernel.log_dt"].exp()[:, None]
    A = -state["kernel.log_A_real"].exp() + 1j * state["kernel.A_imag"]
    C = torch.view_as_complex(state["kernel.C"]) * ((A * dt).exp() - 1) / A
    powers = (A * dt)[..., None] * torch.arange(11)
    K = 2 * (C[..., None] * powers.exp()).sum(1).real  # (H, L)
    K[:, 0] += state["D"]
    assert truths.error(layer.impulse_response(11).T, K) < 1e-12


# --- what lies around a kernel --------------------------------------------------------------------


def published_block(tail):
    """A block's state dict: kernel, D, and the matrix with a gate."""
    _, _, kernel = read("s4d_legs")
    state = {f"layer.kernel.{name}": value for name, value in kernel.items()}
    weight = torch.randn(6, 3, *tail)
    return state | {
        "layer.D": torch.randn(1, 3),
        "output_linear.0.weight": weight,
        "output_linear.0.bias": torch.randn(6),
    }


@pytest.mark.parametrize("tail", [(), (1,)], ids=["dense", "convolution of width 1"])
def test_a_block_is_loaded_into_layer_and_activation(tail):
    state = published_block(tail)
    block = es.Block(s4d(), **FULL_GLU)
    weights.load_s4d(block.layer, state, activation=block.activation)
    u = torch.randn(2, 9, 3)
    y, _ = block.layer(u)
    weight, bias = state["output_linear.0.weight"].reshape(6, 3), state["output_linear.0.bias"]
    both = torch.nn.functional.gelu(y) @ weight.T + bias
    assert truths.error(block.activation(y), torch.nn.functional.glu(both).detach()) < 1e-14
    assert torch.equal(block.layer.D, state["layer.D"][0])


def test_a_prefix_picks_one_layer_out_of_a_model():
    state = {f"model.layers.0.{name}": value for name, value in published_block(()).items()}
    state["model.encoder.weight"] = torch.ones(2)
    block = es.Block(s4d(), **FULL_GLU)
    weights.load_s4d(block.layer, state, prefix="model.layers.0.", activation=block.activation)
    assert torch.equal(block.layer.D, state["model.layers.0.layer.D"][0])


# --- there and back -------------------------------------------------------------------------------


def named(state):
    """As a whole layer has its names, with a D."""
    return {f"kernel.{name}": value for name, value in state.items()} | {"D": torch.randn(1, 3)}


@pytest.mark.parametrize("name", [*S4D, "s4_dplr_legs"])
def test_there_and_back(name):
    state = named(read(name)[2])
    single = name.startswith("s4d")
    layer = s4d() if single else s4()
    (weights.load_s4d if single else weights.load_s4)(layer, state)
    back = (weights.export_s4d if single else weights.export_s4)(layer)
    assert back.keys() == state.keys()
    assert all(torch.equal(back[name], value) for name, value in state.items())


def test_our_own_layers_go_there_whichever_half_they_store():
    for layer, other, export, load in (
        (s4d(init="legs"), s4d(), weights.export_s4d, weights.load_s4d),
        (s4d(init="inv", stability="free"), s4d(), weights.export_s4d, weights.load_s4d),
        (s4(measure="legt"), s4(measure="legt"), weights.export_s4, weights.load_s4),
    ):
        load(other, export(layer))
        expected = layer.impulse_response(17).detach()
        assert truths.error(other.impulse_response(17), expected) < 1e-12


def test_the_minimal_form_there_and_back():
    state, layer = minimal(), s4d()
    weights.load_s4d(layer, state)
    back = weights.export_s4d(layer, minimal=True)
    assert back.keys() == state.keys()
    assert all(torch.equal(back[name], value) for name, value in state.items())
    kernel = {name.removeprefix("kernel."): x for name, x in state.items() if name != "D"}
    weights.load_s4d(layer, kernel)
    assert not layer.D.any()


# --- what is refused ------------------------------------------------------------------------------


def changed(**changes):
    state = named(read("s4_dplr_legs", "params_after/")[2])
    state |= {name.replace("__", "."): x for name, x in changes.items()}
    return {name: x for name, x in state.items() if x is not None}


BAD = {
    "unknown": ({"kernel__w": torch.ones(2)}, r"kernel.w: unknown"),
    "missing": ({"kernel__l_kernel": None}, r"kernel.l_kernel: missing, expected shape \(\)"),
    "no D": ({"D": None}, r"  D: missing, expected shape \(1, 3\)"),
    "rank": ({"kernel__P": torch.ones(2, 3, 4, 2)}, r"kernel.P: expected shape \(1, 3, 4, 2\)"),
    "channels": ({"kernel__C": torch.ones(2, 3, 4, 2)}, r"kernel.C: expected shape \(1, 3, 4, 2\)"),
    "untied": ({"kernel__inv_dt": torch.ones(3, 4)}, r"inv_dt: expected shape \(3, 1\)"),
    "nan": ({"kernel__B": torch.full((1, 3, 4, 2), torch.nan)}, r"kernel.B: holds nan"),
    "length": ({"kernel__l_kernel": torch.tensor(-1)}, "l_kernel must be a whole number from 0 up"),
    "half a length": ({"kernel__l_kernel": torch.tensor(7.5)}, "whole number from 0 up, got 7.5"),
    "around": ({"output_linear__0__bias": torch.ones(6)}, "pass activation=block.activation"),
}


@pytest.mark.parametrize("bad", BAD)
def test_bad_state_dicts(bad):
    changes, message = BAD[bad]
    layer = s4()
    before = {name: x.clone() for name, x in layer.state_dict().items()}
    with pytest.raises(weights.WeightsError, match=message):
        weights.load_s4(layer, changed(**changes))
    assert all(torch.equal(x, before[name]) for name, x in layer.state_dict().items())


def test_other_layers_are_refused():
    state = read("s4d_legs")[2]
    with pytest.raises(weights.WeightsError, match="against time begins one sample later"):
        weights.load_s4d(s4d(bidirectional=True), state)
    with pytest.raises(weights.WeightsError, match="build it with another init"):
        weights.load_s4d(s4d(init="real"), state)
    with pytest.raises(weights.WeightsError, match="the minimal S4D is discretised by ZOH"):
        weights.load_s4d(s4d(discretization="bilinear"), minimal())
    with pytest.raises(weights.WeightsError, match="B is not 1"):
        weights.export_s4d(s4d(init="legs"), minimal=True)
    with pytest.raises(TypeError, match="expected an S4 layer, got S4D"):
        weights.load_s4(s4d(), state)
    with pytest.raises(weights.WeightsError, match=r"of kind 'full_glu'.* got 'gelu'"):
        weights.load_s4d(s4d(), state, activation=es.Block(s4d(), activation="gelu").activation)


def test_poles_that_the_published_form_or_the_layer_cannot_hold():
    layer = s4d(stability="free")
    with torch.no_grad():
        layer.spectrum.poles[0, 1, 2] = 0.5
    with pytest.raises(weights.WeightsError, match=r"Re λ reaches 0.5, .* holds log\(-Re λ\)"):
        weights.export_s4d(layer)
    slow = minimal()
    slow["kernel.log_A_real"][0, 0] = -12.0
    with pytest.raises(weights.WeightsError, match=r"holds it at -0.0001 or below"):
        weights.load_s4d(s4d(stability="clip"), slow)
