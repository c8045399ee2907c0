"""The layers inside other people's tools: torch.func, compile, export, optimisers, threads."""

import copy
import multiprocessing
import threading
import warnings

import pytest
import torch
import truths
from cases import (
    BACKENDS,
    CAUSAL,
    LAYERS,
    arguments,
    assert_same,
    every,
    inputs,
    loss,
    normal,
    outcome,
)
from torch.func import functional_call, grad, jacrev, jvp, vmap
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader

import eigenstate as es

backends = pytest.mark.parametrize("backend", BACKENDS)
torchs_own_warnings = pytest.mark.filterwarnings(
    "ignore:.*autograd.function.Function.*should not be instantiated:DeprecationWarning",
    "ignore:.torch.jit.script:DeprecationWarning",
)
NAMED = {str(case): case for case in LAYERS}


def some(*names):
    return every([NAMED[name] for name in names])


def objective(layer):
    weights = normal(1, 7, layer.d_model, seed=8)

    def value(parameters, u):
        return (functional_call(layer, parameters, (u,))[0] * weights).sum()

    return value


@some("s5", "s5-full-bilinear", "s5-bidirectional")
@backends
def test_functional_gradients(case, backend):
    layer = case.make()
    parameters, u = dict(layer.named_parameters()), inputs(layer)
    with es.use_backend(backend):
        got = grad(objective(layer))(parameters, u)
        expected = torch.autograd.grad(objective(layer)(parameters, u), list(parameters.values()))
        for name, value in zip(parameters, expected, strict=True):
            assert truths.error(got[name], value) < 1e-13
        each = vmap(grad(objective(layer)), (None, 0))(parameters, u[:, None])
        for row in range(len(u)):
            alone = grad(objective(layer))(parameters, u[row : row + 1])
            assert all(truths.error(each[name][row], alone[name]) < 1e-12 for name in parameters)
        assert jacrev(lambda u: layer(u)[0].sum((0, 1)))(u).shape == (layer.d_model, *u.shape)


@some("s5", "s5-bidirectional")
@backends
def test_vmap_over_parameters_and_options(case, backend):
    """An ensemble: the same input through three layers, with intervals and lengths."""
    layer = case.make()
    stacked = {
        name: torch.stack([value, value * 0.9, value * 1.1])
        for name, value in layer.state_dict().items()
    }
    u, extra = inputs(layer), arguments(layer, ("dt", "resets", "lengths"))
    with es.use_backend(backend):
        got = vmap(lambda p: functional_call(layer, p, (u,), extra)[0])(stacked)
        for k in range(3):
            one = {name: value[k] for name, value in stacked.items()}
            assert truths.error(got[k], functional_call(layer, one, (u,), extra)[0]) < 1e-13


@torchs_own_warnings
@some("s5", "s5-bidirectional")
@backends
def test_forward_mode_is_right_or_refused(case, backend):
    layer = case.make()
    u, tangent = inputs(layer), inputs(layer, seed=6)
    with es.use_backend(backend):
        try:
            _, slope = jvp(lambda u: layer(u)[0], (u,), (tangent,))
        except (RuntimeError, NotImplementedError):
            assert backend == "cpu"
        else:
            assert truths.error(slope, layer(tangent)[0]) < 1e-12


@torchs_own_warnings
@some("s5", "s5-full-bilinear", "s5-bidirectional", "s5-clip")
def test_traced_in_one_graph(case):
    """Values and gradients through dynamo and autograd's tracer, without code generation."""
    layer = case.make()
    names = ("dt", "resets", "lengths", *(() if case.bidirectional else ("state",)))
    leaves = {"u": inputs(layer), **arguments(layer, names)}
    compiled = torch.compile(layer, backend="aot_eager", fullgraph=True)
    assert_same(outcome(layer, compiled, **leaves), outcome(layer, layer, **leaves))


@torchs_own_warnings
@pytest.mark.parametrize("name", ["dt", "resets", "lengths", "state"])
def test_traced_again_for_other_shapes(name):
    """Sizes become symbols at the second call; an argument that comes later meets them."""
    torch.compiler.reset()
    layer = NAMED["s5"].make()
    compiled = torch.compile(layer, backend="aot_eager", fullgraph=True)
    for batch, length, names in [(2, 7, ()), (3, 9, ()), (2, 7, (name,)), (4, 5, (name,))]:
        u, extra = inputs(layer, batch, length), arguments(layer, names, batch, length)
        assert truths.error(compiled(u, **extra)[0], layer(u, **extra)[0]) < 1e-12


@torchs_own_warnings
def test_compiled_by_inductor():
    torch.compiler.reset()
    layer = NAMED["s5"].make()
    leaves = {"u": inputs(layer), **arguments(layer, ("state", "dt"))}
    compiled = torch.compile(layer, fullgraph=True)
    assert_same(outcome(layer, compiled, **leaves), outcome(layer, layer, **leaves))


@some("s5", "s5-bidirectional")
def test_exported(case):
    layer = case.make().eval()
    u = inputs(layer)
    length = torch.export.Dim("length", min=2, max=1000)
    program = torch.export.export(layer, (u,), dynamic_shapes={"u": {1: length}})
    longer = inputs(layer, 3, 50)
    assert truths.error(program.module()(longer)[0], layer(longer)[0]) < 1e-12


def test_recomputed_activations():
    layer = NAMED["s5"].make()
    leaves = {"u": inputs(layer), **arguments(layer, ("state", "dt"))}

    def again(u, state, dt):
        return checkpoint(lambda *x: layer(x[0], x[1], dt=x[2]), u, state, dt, use_reentrant=False)

    assert_same(outcome(layer, again, **leaves), outcome(layer, layer, **leaves), 0.0)


@pytest.mark.parametrize(
    "settings", [{"foreach": True}, {"foreach": False}, {"fused": True}], ids=str
)
@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_optimisers_scalers_and_clipping(settings, decay):
    layer = NAMED["s5"].make().float()
    optimizer = torch.optim.AdamW(layer.parameters(), 1e-2, weight_decay=decay, **settings)
    scaler = torch.amp.GradScaler("cpu")
    average = torch.optim.swa_utils.AveragedModel(layer)
    u, target = inputs(layer, 8, 20).float(), normal(8, 20, 3).float()
    losses = []
    for _ in range(20):
        optimizer.zero_grad()
        error = (layer(u)[0] - target).square().mean()
        scaler.scale(error).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(layer.parameters(), 1.0, error_if_nonfinite=True)
        scaler.step(optimizer)
        scaler.update()
        average.update_parameters(layer)
        losses.append(error.item())
    assert losses[-1] < losses[0]
    assert average(u)[0].isfinite().all()


def test_mixed_precision_training_stays_near_full_precision():
    layer = es.S5(8, 16).float()
    twin = copy.deepcopy(layer)
    u = normal(4, 50, 8).float()
    loss(layer(u)[0]).backward()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss(twin(u)[0].float()).backward()
    for one, other in zip(layer.parameters(), twin.parameters(), strict=True):
        assert truths.error(other.grad, one.grad) < 0.03


@every(CAUSAL[:3])
def test_threads_do_not_disturb_each_other(case):
    layer = case.make()
    u = normal(8, 600, layer.d_model)  # large enough to be shared out over the pool
    expected, wrong = layer(u)[0], []

    def work():
        wrong.extend(k for k in range(20) if not torch.equal(layer(u)[0], expected))

    torch.set_num_threads(2)
    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong and not any(thread.is_alive() for thread in threads)


class Filtered(torch.utils.data.Dataset):
    """Samples that run the layer, as a worker process of a loader would."""

    def __init__(self, layer, u):
        self.layer, self.u = layer, u

    def __len__(self):
        return len(self.u)

    def __getitem__(self, index):
        with torch.no_grad():
            return self.layer(self.u[index : index + 1])[0][0]


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_worker_processes(context):
    layer = NAMED["s5"].make()
    torch.set_num_threads(2)
    u = normal(6, 6000, 3)  # the parent's pool is at work before the fork
    expected = layer(u)[0].detach()
    loader = DataLoader(
        Filtered(layer, u),
        2,
        num_workers=2,
        timeout=60,
        multiprocessing_context=multiprocessing.get_context(context),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # fork from a process with threads
        got = torch.cat(list(loader))
    assert truths.error(got, expected) < 1e-14
