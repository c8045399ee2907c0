"""Arrays written by running the published S4 and S4D: responses, outputs and starting values.

That code stores Im λ with the other sign (λ = -exp(A_real) - i A_imag), complex numbers as a last
axis of length 2, and a leading axis of channels, here 1.
"""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
import truths

import eigenstate as es
from eigenstate.systems.diagonal import diagonal_input, diagonal_poles
from eigenstate.systems.low_rank import dplr

GOLDEN = Path(__file__).parent / "golden"
S4D = {"s4d_legs": "legs", "s4d_lin": "lin", "s4d_inv_bilinear": "inv"}
KERNELS = ["powers", "cauchy"]
SINGLE = 1e-6  # starting values were computed in float32 there


def load(name):
    """Settings and arrays."""
    with np.load(GOLDEN / f"{name}.npz") as file:
        arrays = dict(file)
    return json.loads(str(arrays.pop("config"))), arrays


def by_our_names(arrays, part="params/"):
    """B, C, P (1, H, P, 2) -> planes (2, H, P), with D = 0 as that code's kernel has none."""
    published = {
        name.removeprefix(part): value for name, value in arrays.items() if name.startswith(part)
    }
    ours = {
        "spectrum.poles": np.stack([published["A_real"], -published["A_imag"]]),
        "spectrum.log_timescale": published["inv_dt"],
        "B": np.moveaxis(published["B"][0], -1, 0),
        "C": np.moveaxis(published["C"][0], -1, 0),
        "D": np.zeros(len(published["A_real"])),
    }
    if "P" in published:  # (R, H, P, 2) -> (2, R, H, P)
        ours["P"] = np.moveaxis(published["P"], -1, 0)
    return ours


def filled(layer, parameters):
    layer.load_state_dict({name: torch.from_numpy(value) for name, value in parameters.items()})
    return layer


def check(layer, arrays):
    u = torch.from_numpy(arrays["u"])[None]
    K = layer.impulse_response(u.shape[1])
    assert truths.error(K.T, arrays["K"]) < 1e-10
    assert truths.error(layer(u)[0][0], arrays["y"]) < 1e-10


# --- what they answer -----------------------------------------------------------------------------


@pytest.mark.parametrize("evaluation", ["convolution", "scan"])
@pytest.mark.parametrize("name", S4D)
def test_published_s4d(name, evaluation):
    config, arrays = load(name)
    options = es.S4DOptions(init=S4D[name], evaluation=evaluation)
    layer = es.S4D(config["d"], config["N"], discretization=config["disc"], options=options)
    check(filled(layer, by_our_names(arrays)), arrays)


@pytest.mark.parametrize("kernel", KERNELS)
def test_published_s4(kernel):
    config, arrays = load("s4_dplr_legs")
    layer = es.S4(config["d"], config["N"], options=es.S4Options(kernel=kernel))
    check(filled(layer, by_our_names(arrays)), arrays)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_trained_published_s4_is_read_by_undoing_what_it_did_to_c(kernel):
    """After its first call that code holds C (I - Ā^l) in place of C, and l beside it."""
    config, arrays = load("s4_dplr_legs")
    parameters = by_our_names(arrays, "params_after/")
    assert truths.error(parameters["C"], by_our_names(arrays)["C"]) > 0.5  # no small change
    parameters["C"] = recovered(parameters, int(arrays["params_after/l_kernel"]))
    assert truths.error(parameters["C"], by_our_names(arrays)["C"]) < 1e-10
    layer = es.S4(config["d"], config["N"], options=es.S4Options(kernel=kernel))
    check(filled(layer, parameters), arrays)


def recovered(parameters, length):
    """C from C (I - Ā^length), on modes and conjugates together: planes (2, H, P)."""
    rows = []
    for h in range(parameters["C"].shape[1]):
        (re, im), b, c = (parameters[name][:, h] for name in ("spectrum.poles", "B", "C"))
        poles, b, c = (with_conjugates(x) for x in (-np.exp(re) + 1j * im, b, c))
        p = with_conjugates(parameters["P"][:, 0, h])
        A = np.diag(poles) - np.outer(p, p.conj())
        step = np.exp(parameters["spectrum.log_timescale"][h, 0])
        a, _ = truths.dense_bilinear(A, b[:, None], step)
        rest = np.eye(len(a)) - np.linalg.matrix_power(a, length)
        rows.append(np.linalg.solve(rest.T, c)[: len(c) // 2])
    return truths.planes(np.stack(rows), axis=0)


def with_conjugates(half):
    """(P,), or planes (2, P), -> complex (2P,)."""
    half = half if np.iscomplexobj(half) else half[0] + 1j * half[1]
    return np.concatenate([half, half.conj()])


# --- where they start -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", S4D)
def test_published_s4d_starts(name):
    config, arrays = load(name)
    start = by_our_names(arrays)
    shape = (S4D[name], config["N"], config["d"])
    re, im = diagonal_poles(*shape).numpy()
    assert truths.error(re, -np.exp(start["spectrum.poles"][0])) < SINGLE
    # Which of a conjugate pair is stored does not matter; "lin" has 0 where that code stores 1e-4.
    assert truths.error(np.maximum(np.abs(im), 1e-4), -start["spectrum.poles"][1]) < SINGLE
    b = truths.merge(diagonal_input(*shape), axis=0)
    published = truths.merge(start["B"], axis=0)
    assert truths.error(without_phase(b), without_phase(published)) < SINGLE
    same_half = np.sign(im[0, 0]) == np.sign(start["spectrum.poles"][1, 0, 0])
    assert same_half == (S4D[name] == "legs")


def test_published_s4_starts():
    """Eigenvectors are free up to a phase, here a sign: P and B turn together.

    That code also cuts B at ±2, which HiPPO does not: the first of these modes starts at 5.2.
    """
    config, arrays = load("s4_dplr_legs")
    start = by_our_names(arrays)
    modes = config["N"] // 2
    ours = dplr("legs", config["N"])
    poles = -np.exp(start["spectrum.poles"][0]) + 1j * start["spectrum.poles"][1]
    P = truths.merge(start["P"][:, 0], axis=0)
    B = truths.merge(start["B"], axis=0)
    b = np.clip(ours.B.real, -2, 2) + 1j * np.clip(ours.B.imag, -2, 2)
    assert np.abs(ours.B[0]) > 5
    for h in range(config["d"]):
        assert truths.error(ours.poles[:modes], poles[h]) < SINGLE
        assert truths.error(np.abs(ours.P[0, :modes]), np.abs(P[h])) < SINGLE
        assert truths.error((b * ours.P[0].conj())[:modes], B[h] * P[h].conj()) < SINGLE


def without_phase(b):
    """Each mode's own sign and half taken away: real and imaginary parts by size."""
    return np.stack([np.abs(b.real), np.abs(b.imag)])
