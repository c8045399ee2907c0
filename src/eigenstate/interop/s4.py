"""Names and shapes of the published S4 and S4D in PyTorch.

A kernel holds A_real = log(-Re λ) and A_imag (S, N/2) of S systems, taken in turn by the H
features; inv_dt = log Δ (H, 1); B (1, S, N/2, 2), P (R, S, N/2, 2), C (1, H, N/2, 2). It keeps the
half λ = -exp(A_real) - i A_imag; here the other half is stored, with B, P and C conjugated: the same
function. The minimal S4D has no B, keeps +i A_imag, and calls its arrays log_A_real and
log_dt. Around a kernel there is D, and around that layer a matrix with a gate, `output_linear`.

A trained S4 holds C (I - Ā^l) in place of C, and l beside it as `l_kernel`; l = 0 says that C is
still C. Source: Gu et al. 2022 (S4, S4D) and their code.
"""

import numpy as np
import torch

from eigenstate.interop.links import Array, Arrays, Link, WeightsError, same
from eigenstate.interop.poles import check_log_timescale, from_log_rate, log_rate, log_timescales
from eigenstate.layers.s4 import S4
from eigenstate.layers.s4d import S4D
from eigenstate.models.activation import Activation
from eigenstate.ops.dplr import dplr_dense


def s4d_links(layer: S4D, arrays: Arrays, activation: Activation | None = None) -> list[Link]:
    """Links of an S4D layer to the full form, or to the minimal one where the names are its."""
    _check(layer, S4D)
    if layer.options.init == "real":
        raise WeightsError(
            "this S4D is real (init='real') and the published one complex: build it with another "
            "init"
        )
    where = _kernel(arrays)
    if f"{where}log_A_real" in arrays:
        return [*minimal_links(layer, where), *_gate(arrays, where, activation)]
    links = [*_feedthrough(layer, arrays, where), *_gate(arrays, where, activation)]
    modes = layer.spectrum.modes[1]
    copies = _copies(layer, arrays, where)
    name, shape = _timescale(layer, arrays, where)
    poles = Link(
        {f"{where}{part}": (copies, modes) for part in ("A_real", "A_imag")},
        (layer.spectrum.poles,),
        lambda re, im: [_our_poles(layer, re, im)],
        lambda x: _their_poles(layer, x),
    )
    timescale = Link(
        {name: shape},
        (log_timescales(layer.spectrum),),
        lambda x: [check_log_timescale(x).reshape(-1, 1)],
        lambda x: [x],
    )
    C = Link(
        {f"{where}C": (1, layer.d_model, modes, 2)},
        (layer.C,),
        lambda x: [_our_rows(x, layer.d_model)[:, 0]],
        lambda x: [_their_rows(x[:, None])],
    )
    return [poles, timescale, _input(layer, where, copies), C, *links]


def s4_links(layer: S4, arrays: Arrays, activation: Activation | None = None) -> list[Link]:
    """Links of an S4 layer; a C that holds C (I - Ā^l) is turned back into C."""
    _check(layer, S4)
    where = _kernel(arrays)
    modes = layer.spectrum.modes[1]
    copies = _copies(layer, arrays, where)
    name, shape = _timescale(layer, arrays, where)

    def load(re: Array, im: Array, log_step: Array, p: Array, c: Array, length: Array):
        poles = _our_poles(layer, re, im)
        log_step = check_log_timescale(log_step).reshape(-1, 1)
        p, c = _our_rows(p, layer.d_model), _our_rows(c, layer.d_model)[:, 0]
        rates = np.stack((-np.exp(np.tile(re, (layer.d_model // copies, 1))), poles[1]))
        return [poles, log_step, p, _recovered(c, np.exp(log_step[:, 0]), rates, p, length)]

    def export(poles: Array, log_step: Array, p: Array, c: Array):
        rows = _their_rows(p), _their_rows(c[:, None])
        return [*_their_poles(layer, poles), log_step, *rows, np.array(0)]

    published = {
        f"{where}A_real": (copies, modes),
        f"{where}A_imag": (copies, modes),
        name: shape,
        f"{where}P": (layer.P.shape[1], copies, modes, 2),
        f"{where}C": (1, layer.d_model, modes, 2),
        f"{where}l_kernel": (),
    }
    ours = (layer.spectrum.poles, log_timescales(layer.spectrum), layer.P, layer.C)
    links = [Link(published, ours, load, export), _input(layer, where, copies)]
    return [*links, *_feedthrough(layer, arrays, where), *_gate(arrays, where, activation)]


def minimal_links(layer: S4D, where: str = "kernel.") -> list[Link]:
    """Links of an S4D layer to the minimal form: B = 1, ZOH, and the half that is stored here."""
    if layer.spectrum.discretization != "zoh":
        raise WeightsError(
            "the minimal S4D is discretised by ZOH, and this layer by "
            f"{layer.spectrum.discretization!r}: build it with discretization='zoh'"
        )
    features, modes = layer.spectrum.modes
    poles = Link(
        {f"{where}{part}": (features, modes) for part in ("log_A_real", "A_imag")},
        (layer.spectrum.poles,),
        lambda re, im: [np.stack((from_log_rate(layer.spectrum, re), im))],
        lambda x: [log_rate(layer.spectrum, x[0]), x[1]],
    )
    timescale = Link(
        {f"{where}log_dt": (features,)},
        (log_timescales(layer.spectrum),),
        lambda x: [check_log_timescale(x)[:, None]],
        lambda x: [x[:, 0]],
    )
    one = np.stack((np.ones((features, modes)), np.zeros((features, modes))))

    def nothing(B: Array) -> list[Array]:
        if not np.array_equal(B, one):
            raise ValueError("B is not 1, as the minimal form has it; export the full one")
        return []

    B = Link({}, (layer.B,), lambda: [one], nothing)
    C = Link(
        {f"{where}C": (features, modes, 2)},
        (layer.C,),
        lambda x: [np.moveaxis(x, -1, 0)],
        lambda x: [np.moveaxis(x, 0, -1)],
    )
    if not where:
        return [poles, timescale, B, C, _no_feedthrough(layer)]
    return [poles, timescale, B, C, same(where.removesuffix("kernel.") + "D", layer.D)]


def _input(layer: S4 | S4D, where: str, copies: int) -> Link:
    return Link(
        {f"{where}B": (1, copies, layer.spectrum.modes[1], 2)},
        (layer.B,),
        lambda x: [_our_rows(x, layer.d_model)[:, 0]],
        lambda x: [_their_rows(x[:, None])],
    )


def _feedthrough(layer: S4 | S4D, arrays: Arrays, where: str) -> list[Link]:
    """D (1, H). A kernel by itself has none: D is then 0."""
    if arrays and not where:
        return [_no_feedthrough(layer)]
    name, shape = where.removesuffix("kernel.") + "D", (1, layer.d_model)
    return [Link({name: shape}, (layer.D,), lambda x: [x[0]], lambda x: [x[None]])]


def _no_feedthrough(layer: S4 | S4D) -> Link:
    return Link({}, (layer.D,), lambda: [np.zeros(layer.d_model)], lambda _: [])


def _gate(arrays: Arrays, where: str, activation: Activation | None) -> list[Link]:
    """The block's matrix (2H, H), values above gates, as the two of `full_glu`."""
    place = where.removesuffix("kernel.").removesuffix("layer.") + "output_linear.0."
    names = [f"{place}weight", f"{place}bias"]
    if activation is None:
        return [_left_over(name, arrays[name]) for name in names if name in arrays]
    value, gate = activation.value, activation.gate
    if value is None or gate is None:
        raise WeightsError(
            f"activation must be of kind 'full_glu' to hold {names[0]}, got {activation.kind!r}"
        )
    features = value.in_features
    weight = arrays.get(names[0], np.empty(0))
    tail = (features, 1) if weight.ndim == 3 else (features,)
    return [
        Link(
            {name: (2 * features, *(tail if name == names[0] else ()))},
            pair,
            lambda x: np.split(x.reshape(x.shape[:2]), 2),
            lambda *x: [np.concatenate(x)],
        )
        for name, pair in zip(
            names, ((value.weight, gate.weight), (value.bias, gate.bias)), strict=True
        )
    ]


def _left_over(name: str, array: Array) -> Link:
    def refuse(_: Array):
        raise ValueError(
            "belongs to the block around the layer; pass activation=block.activation (of kind "
            "'full_glu') to load it too"
        )

    return Link({name: array.shape}, (), refuse, refuse)


def _recovered(c: Array, step: Array, rates: Array, p: Array, length: Array) -> Array:
    """C (2, H, P) from C (I - Ā^length), on real vectors (Re x, Im x)."""
    if length == 0:
        return c
    if length < 0 or length != int(length):
        raise ValueError(f"l_kernel must be a whole number from 0 up, got {float(length):g}")
    tensors = [torch.from_numpy(np.array(x)) for x in (step, rates, p, np.zeros_like(c))]
    A, _ = dplr_dense(*tensors)  # (H, N, N)
    rest = torch.eye(A.shape[-1], dtype=A.dtype) - torch.linalg.matrix_power(A, int(length))
    row = torch.from_numpy(np.concatenate((c[0], -c[1]), -1))  # Re(c x) = row (Re x, Im x)
    try:
        row = torch.linalg.solve(rest.transpose(1, 2), row)
    except RuntimeError:
        raise ValueError(
            f"C (I - Ā^{int(length)}) is stored, and I - Ā^{int(length)} is singular"
        ) from None
    re, im = np.split(row.numpy(), 2, -1)
    return np.stack((re, -im))


def _our_poles(layer: S4 | S4D, re: Array, im: Array) -> Array:
    """(S, P) twice -> (2, H, P)."""
    planes = np.stack((from_log_rate(layer.spectrum, re), im))
    return np.tile(planes, (1, layer.d_model // planes.shape[1], 1))


def _their_poles(layer: S4 | S4D, planes: Array) -> list[Array]:
    return [log_rate(layer.spectrum, planes[0]), planes[1]]


def _our_rows(x: Array, features: int) -> Array:
    """(R, S, P, 2) -> its conjugate (2, R, H, P)."""
    planes = np.stack((x[..., 0], -x[..., 1]))
    return np.tile(planes, (1, 1, features // planes.shape[2], 1))


def _their_rows(planes: Array) -> Array:
    """(2, R, H, P) -> its conjugate (R, H, P, 2)."""
    return np.stack((planes[0], -planes[1]), -1)


def _check(layer: S4 | S4D, kind: type[S4] | type[S4D]) -> None:
    if not isinstance(layer, kind):
        raise TypeError(f"expected an {kind.__name__} layer, got {type(layer).__name__}")
    if layer.bidirectional:
        raise WeightsError(
            "a bidirectional layer here is another operator than the published one, which against "
            "time begins one sample later; build it with bidirectional=False"
        )


def _kernel(arrays: Arrays) -> str:
    """Where the kernel's names begin; for export, where a whole layer has them."""
    for name in arrays:
        for part in ("log_A_real", "A_real"):
            if name == part or name.endswith(f".{part}"):
                return name.removesuffix(part)
    return "" if "C" in arrays else "kernel."


def _copies(layer: S4 | S4D, arrays: Arrays, where: str) -> int:
    """S, from the array where it divides H."""
    shape = arrays.get(f"{where}A_real", np.empty(0)).shape
    fits = len(shape) == 2 and shape[0] > 0 and layer.d_model % shape[0] == 0
    return shape[0] if fits else layer.d_model


def _timescale(layer: S4 | S4D, arrays: Arrays, where: str) -> tuple[str, tuple[int, ...]]:
    """The name and the shape of log Δ: older files say log_dt, of shape (H,)."""
    name = f"{where}log_dt" if f"{where}log_dt" in arrays else f"{where}inv_dt"
    flat = name in arrays and arrays[name].ndim == 1
    return name, (layer.d_model,) if flat else (layer.d_model, 1)
