"""The drop-in for s5-pytorch at work: a script that changes one import, and what is refused."""

import numpy as np
import pytest
import s5 as theirs
import torch
import truths

from eigenstate.interop import s5_pytorch as ours
from eigenstate.interop import weights


@pytest.fixture(autouse=True)
def single_precision():
    torch.set_default_dtype(torch.float32)


# --- a script -------------------------------------------------------------------------------------


def recaller(S5Block):
    """A small network that is to name, at the end, the token a sequence began with.

    The textbook's use of the package (code 13.1.2 there): blocks in a Sequential, and a head.
    """
    torch.manual_seed(0)
    network = torch.nn.Sequential(
        torch.nn.Embedding(8, 16),
        S5Block(dim=16, state_dim=16, bidir=False),
        S5Block(dim=16, state_dim=16, bidir=False),
    )
    return network, torch.nn.Linear(16, 8)


def losses(network, head, steps):
    """One Adam for all parameters; the gap is 40 samples long."""
    torch.manual_seed(1)
    optimizer = torch.optim.Adam([*network.parameters(), *head.parameters()], lr=1e-2)
    values = []
    for _ in range(steps):
        first = torch.randint(1, 8, (32,))
        sequence = torch.nn.functional.pad(first[:, None], (0, 40))  # (32, 41)
        loss = torch.nn.functional.cross_entropy(head(network(sequence)[:, -1]), first)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        values.append(loss.item())
    return values


def test_a_script_runs_by_changing_the_import_alone():
    our = losses(*recaller(ours.S5Block), 120)
    assert our[0] > 1.5 and max(our[-5:]) < 0.2


def test_training_takes_the_same_course():
    """Real pairs go where complex parameters go: Adam sees the same numbers."""
    peer, block = recaller(theirs.S5Block), recaller(ours.S5Block)
    for module, other in zip(block, peer, strict=True):
        module.load_state_dict(other.state_dict())
    assert truths.error(np.array(losses(*block, 20)), np.array(losses(*peer, 20))) < 1e-3


# --- what is refused ------------------------------------------------------------------------------

NOT_HERE = {
    "liquid=True: its multipliers depend on the input": {"liquid": True},
    "degree=2: it takes powers": {"degree": 2},
    "factorized B and C: s5-pytorch itself cannot build": {"factor_rank": 3},
    "no factorized B and C": {"bcInit": "factorized"},
    "bcInit='dense_columns': choose 'dense'": {"bcInit": "dense_columns"},
}


@pytest.mark.parametrize("reason", NOT_HERE)
def test_what_is_not_here_says_why(reason):
    with pytest.raises(NotImplementedError, match=reason):
        ours.S5(4, 4, **NOT_HERE[reason])
    with pytest.raises(NotImplementedError, match=reason):
        ours.S5Block(4, 4, False, **NOT_HERE[reason])


def test_bad_arguments():
    u = torch.randn(2, 5, 4)
    causal, both = ours.S5(4, 6), ours.S5(4, 6, bidir=True)
    state = causal.initial_state(2)
    with pytest.raises(ValueError, match=r"step_scale .* shape \(2,\) or \(2, 5\), got \(5,\)"):
        causal(u, torch.ones(5))
    with pytest.raises(ValueError, match="dt must be finite and at least 0"):
        causal(u, torch.tensor([1.0, -1.0]))
    with pytest.raises(ValueError, match=r"state must have shape \(2, 6\).*, got \(2, 2, 6\)"):
        causal(u, state=torch.view_as_real(state).mT)
    with pytest.raises(ValueError, match="state must be None for a bidirectional layer"):
        both(u, state=state)
    with pytest.raises(ValueError, match="return_state must be False for a bidirectional layer"):
        both(u, return_state=True)
    with pytest.raises(ValueError, match="step needs a causal layer"):
        both.forward_rnn(u[:, 0], state)
    with pytest.raises(ValueError, match="d_state must be divisible by 4"):
        ours.S5(4, 6, block_count=4)
    with pytest.raises(TypeError, match="glu must be True or False"):
        ours.S5Block(4, 4, False, glu=2)


def bad_states():
    """Their state dicts that do not fit S5(4, 6), and what is said of them."""
    state = theirs.S5(4, 6).state_dict()
    return {
        r"seq.Lambda: expected shape \(6,\), got \(3,\)": {"seq.Lambda": state["seq.Lambda"][:3]},
        r"seq.C: expected shape \(4, 6\), got \(4, 12\)": {"seq.C": torch.ones(4, 12) + 0j},
        r"seq.D: holds nan at index \(0,\)": {"seq.D": torch.full((4,), torch.nan)},
        r"seq.B: missing, expected shape \(6, 4, 2\)": {"seq.B": None},
        r"seq.extra: unknown": {"seq.extra": torch.ones(1)},
    }


@pytest.mark.parametrize("message", bad_states())
def test_bad_state_dicts(message):
    state = theirs.S5(4, 6).state_dict() | bad_states()[message]
    state = {name: value for name, value in state.items() if value is not None}
    layer = ours.S5(4, 6)
    before = {name: value.clone() for name, value in layer.state_dict().items()}
    with pytest.raises(weights.WeightsError, match=message):
        weights.load_s5_pytorch(layer, state)
    assert all(torch.equal(value, before[name]) for name, value in layer.state_dict().items())
    with pytest.raises(RuntimeError, match=message):
        layer.load_state_dict(state)


def test_other_modules_are_refused():
    with pytest.raises(TypeError, match=r"expected an S5 layer, or S5 or S5Block .* got Linear"):
        weights.load_s5_pytorch(torch.nn.Linear(2, 2), {})
    with pytest.raises(weights.WeightsError, match=r"ff_enc.weight: missing"):
        weights.load_s5_pytorch(ours.S5Block(4, 4, False), theirs.S5(4, 4).state_dict())
