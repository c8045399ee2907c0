"""Every kind of bad call: one clear error, before any work, naming the argument, what was expected
and what came."""

import re

import pytest
import torch
from cases import inputs, seeded

import eigenstate as es

NAN, INF = float("nan"), float("inf")


def layer(**settings):
    return seeded(0, lambda: es.S5(3, 8, **settings))


def options(**settings):
    return lambda: es.S5(3, 8, options=es.S5Options(**settings))


def make(*args, **settings):
    return lambda: es.S5(*args, **settings)


def forward(*change, **arguments):
    """layer(u) with u changed by the functions, and the arguments."""

    def call():
        u = torch.zeros(2, 7, 3)
        for function in change:
            u = function(u)
        return layer()(u, **arguments)

    return call


def step(shape=(2, 3), state=None, **arguments):
    return lambda: layer().step(
        torch.zeros(shape), layer().initial_state(2) if state is None else state, **arguments
    )


def spoiled(name, value=float("nan")):
    def call():
        model = layer()
        torch.nn.init.constant_(model.spectrum.get_parameter(name), value)
        model(torch.zeros(2, 7, 3))

    return call


def scan(a, b, state=None, **arguments):
    def call():
        tensors = [torch.zeros(x) if isinstance(x, tuple) else x for x in (a, b, state)]
        return es.linear_scan(*tensors, **arguments)

    return call


def intervals(value, dtype=None):
    return lambda: es.intervals(torch.tensor(value, dtype=dtype))


def at(index, value, shape=(2, 7), dtype=None):
    """Ones with one bad entry."""
    tensor = torch.ones(shape, dtype=dtype)
    tensor[index] = value
    return tensor


def with_lengths(dt):
    return forward(dt=dt, lengths=torch.tensor([7, 3]))


BOOL, LONG = torch.bool, torch.long
V, T = ValueError, TypeError
# name: (call, error, the words that its message has to contain, separated by "&")
CONSTRUCTOR = {
    "d_model 0": (make(0), V, "d_model & at least 1 & 0"),
    "d_model negative": (make(-3), V, "d_model & at least 1 & -3"),
    "d_model float": (make(3.0), T, "d_model & integer & 3.0"),
    "d_model text": (make("3"), T, "d_model & integer & '3'"),
    "d_model bool": (make(True), T, "d_model & integer & True"),
    "d_state 0": (make(3, 0), V, "d_state & at least & 0"),
    "d_state negative": (make(3, -8), V, "d_state & at least & -8"),
    "d_state float": (make(3, 8.0), T, "d_state & integer & 8.0"),
    "d_state odd": (make(3, 7), V, "d_state & 7 & conjugate & 2"),
    "d_state by blocks": (make(3, 8, blocks=3), V, "d_state & divisible by 6 & blocks & 8"),
    "d_state by 2 blocks": (make(3, 12, blocks=4), V, "d_state & blocks & 8 & 12 & conjugate"),
    "d_state full by blocks": (
        make(3, 8, blocks=3, options=es.S5Options(conjugate=False)),
        V,
        "d_state & 8 & 3",
    ),
    "blocks 0": (make(3, 8, blocks=0), V, "blocks & at least 1 & 0"),
    "blocks float": (make(3, 8, blocks=2.0), T, "blocks & integer & 2.0"),
    "discretization": (
        make(3, discretization="zho"),
        V,
        "discretization & 'zho' & 'zoh' & did you mean",
    ),
    "discretization none": (make(3, discretization=None), V, "discretization & None & bilinear"),
    "dt_min above dt_max": (make(3, dt_min=0.2, dt_max=0.1), V, "dt_min & dt_max & 0.2 & 0.1"),
    "dt_min 0": (make(3, dt_min=0.0), V, "dt_min & 0 < dt_min & 0.0"),
    "dt_min negative": (make(3, dt_min=-0.1), V, "dt_min & -0.1"),
    "dt_max nan": (make(3, dt_max=NAN), V, "dt_max & nan"),
    "dt_max infinite": (make(3, dt_max=INF), V, "dt_max & inf"),
    "dt_min text": (make(3, dt_min="0.1"), T, "dt_min & '0.1'"),
    "options a dict": (make(3, options={"conjugate": False}), T, "options & S5Options & dict"),
    "bidirectional text": (
        make(3, bidirectional="yes"),
        T,
        "bidirectional & True or False & 'yes'",
    ),
    "c_init": (
        options(c_init="complex"),
        V,
        "c_init & 'complex' & 'complex_normal' & did you mean",
    ),
    "stability": (options(stability="clipped"), V, "stability & 'clipped' & 'clip' & did you mean"),
    "timescale": (
        options(timescale="per-mode"),
        V,
        "timescale & 'per-mode' & 'per_mode' & did you mean",
    ),
    "conjugate text": (options(conjugate="half"), T, "conjugate & True or False & 'half'"),
    "initial_state negative": (lambda: layer().initial_state(-1), V, "batch_size & -1"),
    "initial_state float": (lambda: layer().initial_state(2.0), T, "batch_size & integer & 2.0"),
    "response negative": (lambda: layer().impulse_response(-1), V, "length & -1"),
}
FORWARD = {
    "u rank 2": (forward(lambda u: u[0]), V, "u & (7, 3) & batch, length"),
    "u rank 4": (forward(lambda u: u[None]), V, "u & (1, 2, 7, 3) & batch, length"),
    "u width": (forward(lambda u: u[..., :2]), V, "u & (2, 7, 2) & 3"),
    "u channels first": (forward(lambda u: u.transpose(1, 2)), V, "u & (2, 3, 7) & transpose"),
    "u a list": (lambda: layer()([[1.0]]), T, "u & Tensor & list"),
    "u an array": (lambda: layer()(torch.zeros(2, 7, 3).numpy()), T, "u & Tensor & ndarray"),
    "u integer": (forward(torch.Tensor.long), T, "u & floating & int64"),
    "u bool": (forward(torch.Tensor.bool), T, "u & floating & bool"),
    "u complex": (forward(lambda u: u + 0j), T, "u & floating & complex128"),
    "u double into single": (
        lambda: layer().float()(torch.zeros(2, 7, 3).double()),
        T,
        "u & float32 & float64",
    ),
    "u single into double": (forward(torch.Tensor.float), T, "u & float64 & float32"),
    "u elsewhere": (forward(lambda u: u.to("meta")), V, "u & device & meta & cpu"),
    "state rows": (forward(state=torch.zeros(3, 2, 4)), V, "state & (2, 2, 4) & (3, 2, 4)"),
    "state planes": (forward(state=torch.zeros(2, 4)), V, "state & (2, 2, 4) & (2, 4)"),
    "state integer": (forward(state=torch.zeros(2, 2, 4).long()), T, "state & floating & int64"),
    "state complex": (forward(state=torch.zeros(2, 2, 4) + 0j), T, "state & complex128"),
    "state a pair": (forward(state=(torch.zeros(2, 2, 4),)), T, "state & Tensor & tuple"),
    "state elsewhere": (
        forward(state=torch.zeros(2, 2, 4, device="meta")),
        V,
        "state & device & meta",
    ),
    "dt negative": (forward(dt=-1.0), V, "dt & -1 & at least 0"),
    "dt nan": (forward(dt=NAN), V, "dt & finite & nan"),
    "dt infinite": (forward(dt=INF), V, "dt & finite & inf"),
    "dt negative entry": (forward(dt=at((1, 4), -0.5)), V, "dt & (1, 4) & -0.5"),
    "dt nan entry": (forward(dt=at((0, 2), NAN)), V, "dt & (0, 2) & nan"),
    "dt infinite in a row": (forward(dt=at(5, INF, 7)), V, "dt & (5,) & inf"),
    "dt bad before its length": (with_lengths(at((1, 2), NAN)), V, "dt & (1, 2) & nan"),
    "dt shape": (forward(dt=torch.ones(6)), V, "dt & (6,) & (7,)"),
    "dt per row": (forward(dt=torch.ones(2)), V, "dt & (2,) & (2, 7)"),
    "dt column": (forward(dt=torch.ones(2, 7, 1)), V, "dt & (2, 7, 1) & (2, 7)"),
    "dt bool": (forward(dt=torch.ones(7, dtype=BOOL)), T, "dt & real & bool"),
    "dt complex": (forward(dt=torch.ones(7) + 0j), T, "dt & real & complex128"),
    "dt text": (forward(dt="1"), T, "dt & str"),
    "dt a list": (forward(dt=[1.0] * 7), T, "dt & list"),
    "dt elsewhere": (forward(dt=torch.ones(7, device="meta")), V, "dt & device & meta"),
    "resets integer": (
        forward(resets=torch.zeros(2, 7, dtype=LONG)),
        T,
        "resets & boolean & int64",
    ),
    "resets float": (forward(resets=torch.zeros(2, 7)), T, "resets & boolean & float64"),
    "resets shape": (forward(resets=torch.zeros(7, dtype=BOOL)), V, "resets & (2, 7) & (7,)"),
    "resets a list": (forward(resets=[False] * 7), T, "resets & tensor & list"),
    "lengths 0": (forward(lengths=torch.tensor([7, 0])), V, "lengths & 1 & 0 & 7"),
    "lengths above": (forward(lengths=torch.tensor([8, 7])), V, "lengths & 8 & 7"),
    "lengths negative": (forward(lengths=torch.tensor([7, -1])), V, "lengths & -1"),
    "lengths float": (forward(lengths=torch.tensor([7.0, 3.0])), T, "lengths & integers & float64"),
    "lengths bool": (forward(lengths=torch.tensor([True, True])), T, "lengths & integers & bool"),
    "lengths shape": (forward(lengths=torch.tensor([7, 7, 7])), V, "lengths & (2,) & (3,)"),
    "lengths scalar": (forward(lengths=torch.tensor(7)), V, "lengths & (2,) & ()"),
    "lengths a list": (forward(lengths=[7, 3]), T, "lengths & tensor & list"),
    "step rank": (step((2, 1, 3)), V, "u & (2, 1, 3) & batch"),
    "step width": (step((2, 4)), V, "u & (2, 4) & 3"),
    "step state": (step(state=torch.zeros(1, 2, 4)), V, "state & (2, 2, 4) & (1, 2, 4)"),
    "step dt shape": (step(dt=torch.ones(3)), V, "dt & (3,) & (2,)"),
    "step dt negative": (step(dt=torch.tensor([1.0, -2.0])), V, "dt & (1,) & -2"),
    "step dt nan": (step(dt=NAN), V, "dt & nan"),
    "step bidirectional": (
        lambda: layer(bidirectional=True).step(torch.zeros(2, 3), torch.zeros(2, 2, 4)),
        V,
        "step & bidirectional & future",
    ),
    "state bidirectional": (
        lambda: layer(bidirectional=True)(torch.zeros(2, 7, 3), torch.zeros(2, 2, 4)),
        V,
        "state & bidirectional & future",
    ),
    "states bidirectional": (
        lambda: layer(bidirectional=True).states(torch.zeros(2, 7, 3)),
        V,
        "states & causal",
    ),
    "parameter nan": (spoiled("poles"), V, "spectrum.poles & NaN"),
    "parameter infinite": (spoiled("log_timescale", INF), V, "spectrum.log_timescale & infinity"),
}
SCAN = {
    "b rank": (scan((4,), (4,)), V, "b & (4,) & length, modes"),
    "a modes": (scan((3,), (7, 4)), V, "a & (3,) & (4,)"),
    "a length": (scan((6, 4), (2, 7, 4)), V, "a & (6, 4) & 7"),
    "a of length 1": (scan((1, 4), (2, 7, 4)), V, "a & (1, 4) & 7"),
    "a rank": (scan((2, 1, 7, 4), (2, 7, 4)), V, "a & (2, 1, 7, 4) & (2, 7, 4)"),
    "a batch": (scan((3, 7, 4), (2, 7, 4)), V, "a & (3, 7, 4) & (2, 7, 4)"),
    "a number": (scan(0.5, (7, 4)), T, "a & Tensor & float"),
    "a integer": (scan(torch.ones(4).long(), (7, 4)), T, "a & floating & int64"),
    "b integer": (scan((4,), torch.ones(7, 4).long()), T, "b & floating & int64"),
    "scan state": (scan((4,), (2, 7, 4), (4,)), V, "state & (2, 4) & (4,)"),
    "scan elsewhere": (scan(torch.ones(4, device="meta"), (7, 4)), V, "a & device & meta"),
    "backend": (
        scan((4,), (7, 4), backend="refrence"),
        V,
        "backend & 'refrence' & 'reference' & did you mean",
    ),
    "use_backend": (lambda: es.use_backend("gpus").__enter__(), V, "backend & 'gpus' & cpu"),
}
TIMES = {
    "timestamps backward": (intervals([0.0, 2.0, 1.0]), V, "timestamps & (2,)"),
    "timestamps backward in a row": (intervals([[0.0, 1.0], [2.0, 1.0]]), V, "timestamps & (1, 1)"),
    "timestamps nan": (intervals([0.0, NAN, 1.0]), V, "timestamps & (1,) & nan"),
    "timestamps infinite": (intervals([0.0, INF]), V, "timestamps & inf"),
    "timestamps rank": (intervals([[[0.0]]]), V, "timestamps & (1, 1, 1)"),
    "timestamps scalar": (intervals(1.0), V, "timestamps & ()"),
    "timestamps bool": (intervals([True], BOOL), T, "timestamps & bool"),
    "timestamps a list": (lambda: es.intervals([0.0, 1.0]), T, "timestamps & tensor & list"),
}
TABLE = CONSTRUCTOR | FORWARD | SCAN | TIMES


def says(message, word):
    """Whether the message contains the word, standing alone if it is a name."""
    pattern = re.escape(word)
    return re.search(rf"(?<!\w){pattern}(?!\w)" if word.isidentifier() else pattern, message)


def test_the_table_is_long():
    assert len(TABLE) == sum(map(len, (CONSTRUCTOR, FORWARD, SCAN, TIMES))) >= 60


@pytest.mark.parametrize("name", TABLE)
def test_a_clear_error(name):
    call, kind, words = TABLE[name]
    with pytest.raises(Exception) as caught:
        call()
    message = str(caught.value)
    assert caught.type is kind, f"{caught.type.__name__}: {message}"
    missing = [word for word in words.split(" & ") if not says(message, word)]
    assert not missing, f"{missing} not in: {message}"
    assert len(message) < 300 and "\n" not in message


@pytest.mark.parametrize("value", [-1.0, NAN, INF])
def test_dt_of_pads_is_ignored(value):
    model, lengths = layer(), torch.tensor([7, 3])
    u = inputs(model, 2)
    y, _ = model(u, dt=at((1, 5), value), lengths=lengths)
    assert torch.equal(y, model(u, dt=torch.ones(2, 7), lengths=lengths)[0])


def test_nothing_is_computed_before_the_checks(monkeypatch):
    model = layer()
    monkeypatch.setattr(model, "_forward", lambda *_, **__: pytest.fail("computed"))
    with pytest.raises(ValueError):
        model(torch.zeros(2, 7, 3), dt=at((1, 6), NAN))
