"""How the plain matrices of a model start."""

import pytest
import torch

import eigenstate as es
from eigenstate.data import get_task
from eigenstate.models.starts import start_matrices
from eigenstate.training.build import build_model
from eigenstate.training.config import ModelSettings


def test_lecun_is_a_cut_normal_of_variance_one_over_fan_in():
    model = torch.nn.Sequential(
        torch.nn.Linear(50, 400), torch.nn.Conv2d(8, 300, 5), torch.nn.Linear(7, 5, bias=False)
    )
    start_matrices(model, "lecun")
    for module, fan_in in ((model[0], 50), (model[1], 200)):
        assert module.weight.detach().std() * fan_in**0.5 == pytest.approx(1, rel=0.03)
        assert module.weight.abs().max() <= 2 / 0.8796 / fan_in**0.5
        assert not module.bias.any()


def test_layers_norms_and_embeddings_are_left_alone():
    model = es.Labeller(es.EmbeddingEncoder(9, 6), 3, backbone=es.Backbone(6, 2))
    before = {name: value.clone() for name, value in model.state_dict().items()}
    start_matrices(model, "torch")
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    start_matrices(model, "lecun")
    changed = {
        name.rpartition(".")[0].removeprefix("backbone.blocks.")
        for name, value in model.state_dict().items()
        if not torch.equal(value, before[name])
    }
    assert changed == {"decoder", "0.activation.gate", "1.activation.gate"}


def test_a_setting_chooses_the_start():
    task = get_task("pendulum")
    for how, zero in (("torch", False), ("lecun", True)):
        model = build_model(ModelSettings(d_model=8, n_layers=1, matrices=how), task)
        biases = [p for name, p in model.named_parameters() if name.endswith("bias")]
        plain = [b for b in biases if b.numel() != 8]
        assert all(not bias.any() for bias in plain) == zero
    with pytest.raises(ValueError, match="matrices must be"):
        build_model(ModelSettings(matrices="lecunn"), task)
