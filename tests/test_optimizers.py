"""Optimiser groups, the learning rate over a run, and the order of batches."""

import copy
import math

import pytest
import torch
from torch import nn

from eigenstate.data import get_task
from eigenstate.models import Backbone, Classifier
from eigenstate.training import parameter_groups
from eigenstate.training.batches import Collate, EpochSampler, ShuffledLoader
from eigenstate.training.config import ModelSettings
from eigenstate.training.schedules import s5_schedule, warmup_cosine

RATES = {"lr": 1e-2, "dynamics_lr": 1e-3, "weight_decay": 0.1}


def model(n_layers=2, **options):
    backbone = Backbone(6, n_layers, layer_options={"d_state": 4, **options})
    return Classifier(3, 5, backbone=backbone)


# --- optimiser groups -----------------------------------------------------------------------------


def test_poles_timescales_and_b_have_a_group_of_their_own_without_decay():
    dynamics, no_decay, decay = parameter_groups(model(1, bidirectional=True), **RATES)
    layer = "backbone.blocks.0.layer."
    spectrum = [layer + "spectrum.poles", layer + "spectrum.log_timescale"]
    assert sorted(dynamics["param_names"]) == sorted([layer + "B", *spectrum])
    assert (dynamics["lr"], dynamics["weight_decay"]) == (1e-3, 0)
    assert all(p.ndim < 2 for p in no_decay["params"]) and no_decay["weight_decay"] == 0
    assert {layer + "D", "encoder.bias", "backbone.blocks.0.norm.weight"} <= set(
        no_decay["param_names"]
    )
    assert {layer + "C", layer + "C_reverse", "encoder.weight"} <= set(decay["param_names"])
    assert (decay["lr"], decay["weight_decay"]) == (1e-2, 0.1)


@pytest.mark.parametrize(("layer", "own"), [("s5", "B"), ("s4d", "B"), ("s4", "BP")])
def test_the_dynamics_of_every_layer_are_known(layer, own):
    dynamics = parameter_groups(Backbone(2, 1, layer=layer), **RATES)[0]
    names = {name.removeprefix("blocks.0.layer.") for name in dynamics["param_names"]}
    assert names == {*own, "spectrum.poles", "spectrum.log_timescale"}


# published grouping -> role -> (rate, decay); lr 1e-2, dynamics_lr 1e-3, weight_decay 0.1
FAST, SLOW = 1e-2, 1e-3
PUBLISHED = {
    "standard": {"B": (SLOW, 0.0), "C": (FAST, 0.1), "D": (FAST, 0.1)},
    "BandCdecay": {"B": (SLOW, 0.1), "C": (FAST, 0.1), "D": (FAST, 0.1)},
    "BfastandCdecay": {"B": (FAST, 0.1), "C": (FAST, 0.1), "D": (FAST, 0.1)},
    "noBCdecay": {"B": (SLOW, 0.0), "C": (SLOW, 0.0), "D": (SLOW, 0.0)},
}


@pytest.mark.parametrize("dt_global", [False, True])
@pytest.mark.parametrize("grouping", PUBLISHED)
def test_the_published_groupings(grouping, dt_global):
    groups = parameter_groups(
        model(1, bidirectional=True), **RATES, grouping=grouping, dt_global=dt_global
    )
    found = {
        name.removeprefix("backbone.blocks.0.layer."): (group["lr"], group["weight_decay"])
        for group in groups
        for name in group["param_names"]
    }
    expected = PUBLISHED[grouping]
    assert found["spectrum.poles"] == (SLOW, 0.0)
    assert found["spectrum.log_timescale"] == ((FAST, 0.1) if dt_global else (SLOW, 0.0))
    assert (found["B"], found["D"]) == (expected["B"], expected["D"])
    assert found["C"] == found["C_reverse"] == expected["C"]
    # The official groups name "norm", which matches none of its parameters: they decay, and so do
    # biases.
    rest = ("encoder.bias", "decoder.weight", "backbone.blocks.0.norm.weight")
    assert {found[name] for name in rest} == {(FAST, 0.1)}


def test_dt_global_alone_takes_the_timescales_from_the_dynamics():
    groups = parameter_groups(model(1), **RATES, dt_global=True)
    names = {group["name"]: group["param_names"] for group in groups}
    assert "backbone.blocks.0.layer.spectrum.log_timescale" in names["no_decay"]


def compiled(net):
    return torch.compile(net, backend="eager")


@pytest.mark.parametrize("wrap", [nn.Sequential, compiled, torch.optim.swa_utils.AveragedModel])
def test_every_parameter_is_in_one_group_however_it_is_wrapped(wrap):
    plain = model()
    plain.encoder.weight.requires_grad_(False)
    wrapped = wrap(plain)
    groups = parameter_groups(wrapped, **RATES)
    grouped = [id(p) for group in groups for p in group["params"]]
    assert sorted(grouped) == sorted(id(p) for p in wrapped.parameters())
    names = {name for group in groups for name in group["param_names"]}
    assert names == {name for name, _ in wrapped.named_parameters()}
    assert [len(group["params"]) for group in groups] == [6, 10, 6]


def test_what_layers_share_is_dynamics_once():
    tied = model()
    first, second = (block.layer for block in tied.backbone.blocks)
    second.spectrum, second.B = first.spectrum, first.B
    decoder = nn.Linear(6, 4)
    decoder.weight = nn.Parameter(first.C.detach()[:, 0].clone())
    second.C = first.C
    groups = parameter_groups(nn.ModuleList([decoder, tied]), **RATES)
    assert len(groups[0]["params"]) == 3
    everyone = [id(p) for group in groups for p in group["params"]]
    assert len(everyone) == len(set(everyone))


def test_idle_steps_decay_matrices_and_nothing_else():
    net = model()
    before = copy.deepcopy(dict(net.named_parameters()))
    optimizer = torch.optim.AdamW(parameter_groups(net, **RATES))
    for parameter in net.parameters():
        parameter.grad = torch.zeros_like(parameter)
    for _ in range(10):
        optimizer.step()
    changed = {n for n, p in net.named_parameters() if not torch.equal(p, before[n])}
    assert changed == set(optimizer.param_groups[2]["param_names"])


@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.Adam, torch.optim.RMSprop])
def test_groups_serve_any_optimiser_and_survive_saving(optimizer):
    net = model()
    first = optimizer(parameter_groups(net, **RATES))
    net(torch.randn(2, 5, 3))[0].sum().backward()
    first.step()
    second = optimizer(parameter_groups(net, **RATES))
    second.load_state_dict(first.state_dict())
    assert [group["name"] for group in second.param_groups] == ["dynamics", "no_decay", "decay"]


@pytest.mark.parametrize("name", ["lr", "dynamics_lr", "weight_decay"])
@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
def test_rates_that_make_no_sense_are_refused(name, value):
    with pytest.raises(ValueError, match=f"^{name} must be"):
        parameter_groups(model(), **{**RATES, name: value})


# --- schedule and batches -------------------------------------------------------------------------


def test_the_learning_rate_rises_then_follows_half_a_cosine():
    factor = warmup_cosine(total_steps=20, warmup_steps=4)
    assert [factor(k) for k in range(5)] == [0.25, 0.5, 0.75, 1, 1]
    assert factor(12) == pytest.approx(0.5) and 0 < factor(19) < 0.01 and factor(20) == 0
    assert warmup_cosine(10)(0) == 1
    assert warmup_cosine(2, warmup_steps=8)(1) == 0.25


def test_the_order_of_batches_depends_on_seed_and_epoch_alone():
    def order(seed, epoch):
        sampler = EpochSampler(50, seed)
        sampler.set_epoch(epoch)
        torch.rand(7)
        return list(sampler)

    assert sorted(order(0, 0)) == list(range(50))
    assert order(0, 5) == order(0, 5)
    distinct = {tuple(order(seed, epoch)) for seed in range(3) for epoch in range(3)}
    assert len(distinct) == 9


def loader(batch_size=32, drop_last=False, **model):
    task = get_task("japanese-vowels")
    data = task.load().train
    collate = Collate(data, task=task, model=ModelSettings(**model))
    return ShuffledLoader(data, batch_size, seed=0, drop_last=drop_last, collate=collate)


def test_every_sequence_is_seen_once_an_epoch():
    sizes = [len(batch.labels) for batch in loader()]
    assert sizes == [32] * 8 + [14]
    assert [len(batch.labels) for batch in loader(drop_last=True)] == [32] * 8


def test_a_loader_goes_on_in_the_middle_of_an_epoch():
    whole = [batch.u for batch in loader()]
    first, second = loader(), loader()
    for _ in zip(range(3), first, strict=False):
        pass
    second.load_state_dict(first.state_dict())
    rest = [batch.u for batch in second]
    assert len(rest) == 6
    assert all(torch.equal(a, b) for a, b in zip(whole[3:], rest, strict=True))
    assert second.state_dict() == {"done": 0}
    assert len(list(second)) == 9


def test_published_padding_is_as_long_as_published():
    lengths = {batch.u.shape[1] for batch in loader(block_options={"padding": "published"})}
    assert lengths == {29}
    assert min(batch.u.shape[1] for batch in loader()) < 29


@pytest.mark.parametrize("layer", ["s5", "s4d", "s4"])
def test_global_timescales_are_decayed_in_the_published_groupings_alone(layer):
    backbone = Backbone(6, 1, layer=layer, layer_options={"d_state": 4})
    for grouping, expected in (("default", "no_decay"), ("standard", "decay")):
        groups = parameter_groups(backbone, **RATES, grouping=grouping, dt_global=True)
        names = {name: group["name"] for group in groups for name in group["param_names"]}
        assert names["blocks.0.layer.spectrum.log_timescale"] == expected


# --- the published schedule -----------------------------------------------------------------------


def test_the_s5_schedule_is_the_official_code_s_step_by_step():
    """That code walks the epochs and writes the rate after every step, for the next."""
    steps, epochs, warmup = 7, 5, 2
    rate, rates, step = 1.0, [], 0
    for epoch in range(epochs):
        for _ in range(steps):
            rates.append(rate)
            if epoch < warmup:
                rate = (step + 1) / (steps * warmup)
            else:
                end = steps * epochs - steps * warmup
                rate = 0.5 * (1 + math.cos(math.pi * min(step, end) / end))
            step += 1
    factor = s5_schedule(steps, epochs, warmup)
    assert [factor(k) for k in range(steps * epochs)] == pytest.approx(rates, abs=1e-15)
    assert factor(0) == 1 and factor(1) == pytest.approx(1 / 14)
    assert [factor(k) for k in range(22, 35)] == pytest.approx([0] * 13, abs=1e-15)
    assert s5_schedule(7, 5, 0)(1) == 1


@pytest.mark.parametrize("warmup", [5, -1, 0.5])
def test_a_warm_up_that_the_s5_schedule_cannot_have(warmup):
    with pytest.raises(ValueError, match="whole epochs, fewer than the training has"):
        s5_schedule(7, 5, warmup)
