"""Everything that exists, listed once; the laws run over these lists.

A new layer, option, backend or dtype is one line here. Letters: B batch, L length, H features,
P modes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import pytest
import torch
import truths
import truths_siso

import eigenstate as es

BACKENDS = ["reference", "associative", "cpu"]
SINGLE = [torch.float32, torch.complex64]
DOUBLE = [torch.float64, torch.complex128]
SIXTEEN = [torch.bfloat16, torch.float16]
DTYPES = [*SINGLE, *DOUBLE, *SIXTEEN]
LENGTHS = [0, 1, 2, 3, 5, 63, 64, 65, 127, 257]


@dataclass(frozen=True)
class Case:
    """One layer to try: how to make it, and its independent answer."""

    name: str
    make: Callable[[], torch.nn.Module]  # small, and the same numbers every time
    answer: Callable  # (parameters, u, state, dt, resets, lengths) -> y, final, states
    bidirectional: bool = False
    zoh: bool = True
    stable: bool = True
    plane_axis: int = -2  # where states keep real and imaginary parts
    exact: bool = True  # earlier outputs are the same bits whatever comes later: not so by FFT

    def __str__(self):
        return self.name

    def numbers(self, layer):
        """The layer's parameters as arrays, for `answer`."""
        return {name: truths.array(value) for name, value in layer.named_parameters()}


def seeded(seed, build):
    """build() with its own random numbers, leaving everybody else's alone."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return build()


def s5(name, d_model=3, d_state=8, *, adjust=None, **settings):
    """A case of S5. `adjust` moves parameters of the fresh layer to a place worth testing."""
    option_names = ("conjugate", "c_init", "stability", "timescale")
    options = es.S5Options(**{key: settings.pop(key) for key in option_names if key in settings})
    settings = {"dt_min": 0.02, "dt_max": 0.5} | settings

    def make():
        layer = seeded(0, lambda: es.S5(d_model, d_state, options=options, **settings))
        if adjust is not None:
            with torch.no_grad():
                adjust(layer.spectrum)
        return layer

    discretization = settings.get("discretization", "zoh")
    meaning = {
        "discretization": discretization,
        "stability": options.stability,
        "conjugate": options.conjugate,
    }

    def answer(parameters, u, **arguments):
        return truths.s5(parameters, meaning, u, **arguments)

    return Case(
        name,
        make,
        answer,
        bidirectional=settings.get("bidirectional", False),
        zoh=discretization == "zoh",
        stable=options.stability != "free",
    )


def siso(name, kind, answer, options, d_model=2, d_state=6, **settings):
    """A case of S4D or S4: one system per feature."""
    settings = {"dt_min": 0.02, "dt_max": 0.5} | settings
    meaning = {
        "discretization": settings.get("discretization", "zoh"),
        "stability": options.stability,
        "conjugate": getattr(options, "init", None) != "real",
    }
    return Case(
        name,
        lambda: seeded(0, lambda: kind(d_model, d_state, options=options, **settings)),
        lambda parameters, u, **arguments: answer(parameters, meaning, u, **arguments),
        bidirectional=settings.get("bidirectional", False),
        zoh=kind is es.S4D and meaning["discretization"] == "zoh",
        stable=options.stability != "free",
        plane_axis=-3,
        exact=getattr(options, "evaluation", "auto") == "scan",
    )


def s4d(name, *, init="legs", stability="exp", evaluation="auto", **settings):
    """A case of S4D."""
    options = es.S4DOptions(init=init, stability=stability, evaluation=evaluation)
    return siso(name, es.S4D, truths_siso.s4d, options, **settings)


def s4(name, *, measure="legs", kernel="powers", stability="exp", **settings):
    """A case of S4."""
    options = es.S4Options(measure=measure, kernel=kernel, stability=stability)
    return siso(name, es.S4, truths_siso.s4, options, **settings)


def unstable_before_clipping(spectrum):
    """Half of the growth rates are positive, so that clipping does something."""
    spectrum.poles[0, ::2] = 0.3


def undamped(spectrum):
    """Pure oscillators, and one pure integrator: λ = 0 exactly."""
    spectrum.poles[0] = 0.0
    spectrum.poles[1, -1] = 0.0


LAYERS = [
    s5("s5"),
    s5("s5-blocks", blocks=2, d_model=2),
    s5("s5-one-mode-blocks", blocks=4),
    s5("s5-bilinear", discretization="bilinear"),
    s5("s5-full", d_state=6, conjugate=False, blocks=2),
    s5("s5-full-bilinear", d_state=5, conjugate=False, discretization="bilinear"),
    s5("s5-lecun-normal", c_init="lecun_normal", d_model=5),
    s5("s5-complex-normal", c_init="complex_normal"),
    s5("s5-clip", stability="clip", adjust=unstable_before_clipping),
    s5("s5-free", stability="free"),
    s5("s5-undamped", stability="free", adjust=undamped),
    s5("s5-scalar-timescale", timescale="scalar", d_model=1, d_state=2),
    s5("s5-bidirectional", bidirectional=True),
    s5("s5-bidirectional-bilinear", bidirectional=True, discretization="bilinear", blocks=2),
    s5("s5-bidirectional-full", d_state=4, bidirectional=True, conjugate=False),
    s5(
        "s5-bidirectional-clip-scalar",
        bidirectional=True,
        c_init="complex_normal",
        stability="clip",
        timescale="scalar",
        adjust=unstable_before_clipping,
    ),
    s4d("s4d"),
    s4d("s4d-lin-bilinear", init="lin", discretization="bilinear", stability="clip"),
    s4d("s4d-inv-scan", init="inv", evaluation="scan"),
    s4d("s4d-real", init="real", d_state=3, stability="free"),
    s4d("s4d-random-bidirectional", init="random", bidirectional=True),
    s4("s4", stability="clip"),
    s4("s4-legt-cauchy", measure="legt", kernel="cauchy"),
    s4("s4-fout-bidirectional", measure="fout", bidirectional=True),
]
CAUSAL = [case for case in LAYERS if not case.bidirectional]
BIDIRECTIONAL = [case for case in LAYERS if case.bidirectional]
ZOH = [case for case in LAYERS if case.zoh]
STABLE = [case for case in LAYERS if case.stable]

every = partial(pytest.mark.parametrize, "case", ids=str)

ARGUMENTS = [
    (),
    ("state",),
    ("dt",),
    ("resets",),
    ("lengths",),
    ("dt", "resets", "lengths"),
    ("state", "dt", "resets", "lengths"),
]


def combinations(cases=LAYERS):
    """Every case with every set of optional arguments that it takes."""
    return [
        pytest.param(case, names, id=f"{case}-{'+'.join(names) or 'plain'}")
        for case in cases
        for names in ARGUMENTS
        if not (case.bidirectional and "state" in names)
    ]


def optional(case):
    """Names of the optional arguments that the case takes."""
    return ("dt", "resets", "lengths", *(() if case.bidirectional else ("state",)))


def normal(*shape, seed=1, **kwargs):
    """Reproducible normal numbers."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), **kwargs)


def inputs(layer, batch=3, length=7, seed=1):
    """u (B, L, H)."""
    return normal(batch, length, layer.d_model, seed=seed)


def arguments(layer, names, batch=3, length=7, seed=2):
    """The optional arguments of those names: awkward (dt = 0, a reset at 0, length 1)."""
    generator = torch.Generator().manual_seed(seed)
    dt = 2 * torch.rand(batch, length, generator=generator)
    resets = torch.rand(batch, length, generator=generator) < 0.3
    lengths = torch.randint(1, max(length, 1) + 1, (batch,), generator=generator)
    if batch and length > 1:
        dt[0, 1], resets[0, 0], resets[0, 1], lengths[0], lengths[-1] = 0.0, True, False, length, 1
    everything = {"dt": dt, "resets": resets, "lengths": lengths}
    if "state" in names:
        shape = layer.initial_state(batch).shape
        everything["state"] = normal(*shape, seed=seed, dtype=torch.float64)
    return {name: everything[name] for name in names}


def outcome(layer, compute, **leaves):
    """Everything that must agree between two ways of computing: values and all gradients.

    compute(**leaves) -> (y, state); leaves are tensors or None.
    """
    leaves = {name: value.detach().clone() for name, value in leaves.items() if value is not None}
    for value in leaves.values():
        value.requires_grad_(value.is_floating_point())
    y, state = compute(**leaves)
    wanted = dict(layer.named_parameters())
    wanted |= {name: value for name, value in leaves.items() if value.requires_grad}
    slopes = torch.autograd.grad(
        loss(y, state), list(wanted.values()), materialize_grads=True, allow_unused=True
    )
    named = {f"gradient of {name}": slope for name, slope in zip(wanted, slopes, strict=True)}
    return {"y": y, **({} if state is None else {"state": state}), **named}


def loss(y, state=None):
    """One number that depends on every output, unevenly."""
    total = (y * normal(*y.shape, seed=8)).sum()
    return total if state is None else total + (state * normal(*state.shape, seed=9)).sum()


def assert_same(got, expected, tolerance=1e-10):
    """Two outcomes agree, each quantity in units of its own largest value."""
    assert got.keys() == expected.keys()
    errors = {name: truths.error(got[name], expected[name]) for name in got}
    wrong = {name: value for name, value in errors.items() if not value <= tolerance}
    assert not wrong, wrong
