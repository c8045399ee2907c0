"""es.linear_scan against the loop: every backend, dtype, shape and direction."""

import numpy as np
import pytest
import torch
import truths
from cases import BACKENDS, DOUBLE, DTYPES, LENGTHS, SINGLE, SIXTEEN, normal
from torch.autograd import gradcheck, gradgradcheck

import eigenstate as es

PLAIN = ["reference", "associative"]  # plain torch operations, differentiated by autograd
backends = pytest.mark.parametrize("backend", BACKENDS)
kinds = pytest.mark.parametrize("dtype", DOUBLE, ids=["real", "complex"])
directions = pytest.mark.parametrize("reverse", [False, True], ids=["forward", "reverse"])
TOLERANCES = {
    torch.float32: 2e-7,
    torch.complex64: 2e-7,
    torch.float64: 1e-13,
    torch.complex128: 1e-13,
    torch.bfloat16: 4e-3,
    torch.float16: 5e-4,
}


def wide(dtype):
    """What the state is carried in."""
    return torch.complex128 if dtype.is_complex else torch.float64


def multipliers(*shape, dtype=torch.float64):
    """Damped: |a| between 0.5 and 1, any phase."""
    draw = normal(*shape, dtype=wide(dtype), seed=3)
    size = 0.5 + 0.5 * torch.rand(shape, generator=torch.Generator().manual_seed(4))
    return (draw / draw.abs() * size).to(dtype)


def system(length=7, modes=4, batch=(2,), dtype=torch.float64, varying="(B, L, P)"):
    """a, b, state; a of one of the shapes (P,), (L, P), (B, L, P)."""
    shape = {"(P,)": (modes,), "(L, P)": (length, modes), "(B, L, P)": (*batch, length, modes)}[
        varying
    ]
    b = normal(*batch, length, modes, dtype=wide(dtype)).to(dtype)
    return multipliers(*shape, dtype=dtype), b, normal(*batch, modes, dtype=wide(dtype), seed=7)


def as_arrays(*tensors):
    return [None if t is None else t.to(wide(t.dtype)).detach().numpy() for t in tensors]


@backends
@directions
@pytest.mark.parametrize("varying", ["(P,)", "(L, P)", "(B, L, P)"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_equals_the_loop(backend, reverse, varying, dtype):
    a, b, state = system(dtype=dtype, varying=varying)
    for start in (None, state):
        states, final = es.linear_scan(a, b, start, reverse=reverse, backend=backend)
        assert states.dtype == dtype and final.dtype == wide(dtype)
        expected, last = truths.recurrence(*as_arrays(a, b, start), reverse=reverse)
        assert truths.error(states.to(wide(dtype)), expected) <= TOLERANCES[dtype]
        # 16-bit data is computed in float32, anything else from float64 states.
        assert truths.error(final, last) <= (2e-7 if dtype in SIXTEEN else 1e-13)


@backends
@kinds
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize(
    ("batch", "modes"), [((), 1), ((3,), 2), ((2, 1, 3), 5), ((0,), 3), ((2,), 0)], ids=str
)
def test_every_size(backend, dtype, length, batch, modes):
    a, b, state = system(length, modes, batch, dtype)
    states, final = es.linear_scan(a, b, state, backend=backend)
    expected, last = truths.recurrence(*as_arrays(a, b, state))
    assert states.shape == b.shape and final.shape == state.shape
    assert truths.error(states, expected) < 1e-12
    assert truths.error(final, last) < 1e-12


@backends
@kinds
@directions
@pytest.mark.parametrize("varying", ["(P,)", "(L, P)", "(B, L, P)"])
def test_gradients(backend, dtype, reverse, varying):
    a, b, state = (value.requires_grad_() for value in system(3, 2, (2,), dtype, varying))

    def both(a, b, state):
        return es.linear_scan(a, b, state, reverse=reverse, backend=backend)

    assert gradcheck(both, (a, b, state))
    assert gradcheck(lambda a, b: both(a, b, None)[0], (a, b))
    assert gradcheck(lambda a, b: both(a, b, None)[1], (a, b))
    assert gradcheck(lambda b: both(a.detach(), b, None), (b,))


@backends
@kinds
@directions
@pytest.mark.parametrize("length", LENGTHS)
def test_gradients_equal_those_of_the_loop(backend, dtype, reverse, length):
    leaves = [value.requires_grad_() for value in system(length, 3, (2,), dtype)]

    def gradients(name, **how):
        value = weighed(*es.linear_scan(*leaves, reverse=reverse, backend=name))
        return torch.autograd.grad(value, leaves, materialize_grads=True, **how)

    expected = gradients("reference")
    # A gradient that will be differentiated again may be computed by another formula.
    for got in (gradients(backend), gradients(backend, create_graph=True)):
        for one, other in zip(got, expected, strict=True):
            assert truths.error(one, other) < 1e-12


@backends
@pytest.mark.parametrize("shape", [(1,), (7, 1), (1, 7, 4), (2, 7, 1)], ids=str)
def test_multipliers_are_broadcast(backend, shape):
    a, b = multipliers(*shape).requires_grad_(), normal(2, 7, 4)
    states, final = es.linear_scan(a, b, backend=backend)
    full = a.detach().expand(2, 7, 4).requires_grad_()
    expected, last = es.linear_scan(full, b, backend="reference")
    assert truths.error(states, expected) < 1e-14
    (slope,) = torch.autograd.grad(weighed(states, final), a)
    (expected_slope,) = torch.autograd.grad(weighed(expected, last), full)
    assert truths.error(slope, expected_slope.sum_to_size(shape)) < 1e-13


@backends
@pytest.mark.parametrize("dtype", [*SINGLE, *SIXTEEN], ids=str)
def test_gradients_in_narrow_types(backend, dtype):
    leaves = [value.requires_grad_() for value in system(50, 3, (2,), dtype)]
    twins = [value.detach().to(wide(dtype)).requires_grad_() for value in leaves]
    got, expected = (
        torch.autograd.grad(weighed(*es.linear_scan(*values, backend=backend)), values)
        for values in (leaves, twins)
    )
    for one, other, leaf in zip(got, expected, leaves, strict=True):
        assert one.dtype == leaf.dtype
        assert truths.error(one.to(wide(dtype)), other) <= 5 * TOLERANCES[dtype]


@backends
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_without_gradients_the_same_bits_and_untouched_arguments(backend, dtype, mode):
    arguments = system(dtype=dtype)
    copies = [value.clone() for value in arguments]
    a, b, state = arguments
    expected = es.linear_scan(a, b.clone().requires_grad_(), state, backend=backend)
    with mode():
        got = es.linear_scan(a, b, state, backend=backend)
    pairs = [*zip(got, expected, strict=True), *zip(arguments, copies, strict=True)]
    assert all(torch.equal(one, other) for one, other in pairs)


def weighed(*values):
    """A real number that depends on every part of every value."""
    parts = [
        part
        for value in values
        for part in (torch.view_as_real(value) if value.is_complex() else value,)
    ]
    return sum((normal(*part.shape, seed=9) * part).sum() for part in parts)


@backends
@kinds
def test_second_derivatives_are_right_or_refused(backend, dtype):
    leaves = [value.requires_grad_() for value in system(4, 2, (), dtype)]
    try:
        assert gradgradcheck(lambda *x: es.linear_scan(*x, backend=backend), leaves)
    except (RuntimeError, NotImplementedError) as refusal:
        assert backend not in PLAIN, refusal
        assert "Jacobian mismatch" not in str(refusal)


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")  # torch.func.jvp's own
@backends
def test_forward_mode_is_right_or_refused(backend):
    a, b, state = system(6, 3, ())
    tangent = normal(*b.shape, seed=4)
    try:
        _, (slope, _) = torch.func.jvp(
            lambda b: es.linear_scan(a, b, state, backend=backend), (b,), (tangent,)
        )
    except (RuntimeError, NotImplementedError):
        assert backend not in PLAIN
    else:
        assert truths.error(slope, es.linear_scan(a, tangent, backend="reference")[0]) < 1e-12


@backends
@kinds
@directions
@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_a_zero_multiplier_forgets_everything(backend, dtype, reverse, bad):
    a, b, state = system(9, 3, (2,), dtype)
    a[:, 4] = 0.0
    spoiled, spoiled_state = b.clone(), state.clone()
    before, after = (slice(5, None), slice(None, 5)) if reverse else (slice(0, 4), slice(4, None))
    spoiled[:, before], spoiled_state[:] = bad, bad
    leaves = [value.requires_grad_() for value in (a, spoiled, spoiled_state)]
    states, final = es.linear_scan(*leaves, reverse=reverse, backend=backend)
    expected, last = es.linear_scan(a, b, state, reverse=reverse, backend="reference")
    assert truths.error(states[:, after], expected[:, after]) < 1e-14
    assert truths.error(final, last) < 1e-14
    assert not torch.isfinite(states[:, before]).any()
    slopes = torch.autograd.grad(weighed(states[:, after]), leaves[1])[0]
    assert slopes[:, after].isfinite().all()
    assert slopes[:, before].count_nonzero() == 0


@backends
@pytest.mark.parametrize("length", [64, 500])
def test_products_of_multipliers_may_underflow(backend, length):
    a = torch.full((length, 2), -50.0, requires_grad=True)
    b = normal(3, length, 2).requires_grad_()
    states, final = es.linear_scan(a.exp(), b, backend=backend)
    weighed(states, final).backward()
    expected, _ = truths.recurrence(*as_arrays(a.exp(), b))
    assert truths.error(states, expected) < 1e-15
    assert a.grad.isfinite().all() and b.grad.isfinite().all()


@pytest.mark.parametrize("kind", ["noise", "constant"])
def test_float32_data_keeps_its_precision_over_a_hundred_thousand_samples(kind):
    length = 100_000
    poles = np.array([-1e-7, -1e-3, -1e-2, -1.0]) + 1j * np.array([0.1, 0.0, 3e-3, 2.0])
    poles[0] = 1j * 0.1  # undamped
    a = torch.from_numpy(np.exp(poles))
    noise = normal(length, 4, dtype=torch.complex64)
    b = noise if kind == "noise" else torch.ones(length, 4, dtype=torch.complex64)
    states, final = es.linear_scan(a, b, backend="cpu")
    assert states.dtype == torch.complex64
    expected, last = truths.recurrence(*as_arrays(a, b))
    for mode in range(4):
        assert truths.error(states[:, mode].to(torch.complex128), expected[:, mode]) < 3e-7
    assert truths.error(final, last) < 1e-11
    state, pieces = None, []
    for piece in b.split(777):
        values, state = es.linear_scan(a, piece, state, backend="cpu")
        pieces.append(values)
    assert torch.equal(torch.cat(pieces), states)
    assert torch.equal(state, final)


@backends
def test_any_memory_layout(backend):
    a, b, state = system(6, 4, (3,))
    expected = es.linear_scan(a, b, state, backend=backend)
    views = [
        lambda x: x.transpose(0, -1).contiguous().transpose(0, -1),
        lambda x: torch.stack([x, x], -1)[..., 0],
        lambda x: x.flip(-1).flip(-1),
    ]
    for view in views:
        got = es.linear_scan(view(a), view(b), view(state), backend=backend)
        assert all(torch.equal(one, other) for one, other in zip(got, expected, strict=True))
    wide_b = b[:1].expand(3, -1, -1)
    got = es.linear_scan(a, wide_b, backend=backend)[0]
    assert torch.equal(got, es.linear_scan(a, wide_b.contiguous(), backend=backend)[0])


@backends
def test_conjugate_and_negative_views(backend):
    a, b, state = system(6, 4, (3,), torch.complex128)
    views = a.conj(), b.conj(), state.conj().imag  # the last is a negative view
    assert views[0].is_conj() and views[2].is_neg()
    expected = es.linear_scan(*(x.resolve_conj().resolve_neg() for x in views), backend=backend)
    got = es.linear_scan(*views, backend=backend)
    assert all(torch.equal(one, other) for one, other in zip(got, expected, strict=True))


@backends
def test_real_and_complex_may_be_mixed(backend):
    a, b, state = system(6, 4, (3,), torch.complex128)
    for pair in ((a, b.real), (a.real, b), (a.real, b.real)):
        states, final = es.linear_scan(*pair, state, backend=backend)
        expected, last = truths.recurrence(*as_arrays(*pair, state))
        assert truths.error(states, expected) < 1e-13
        assert truths.error(final, last) < 1e-13
