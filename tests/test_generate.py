"""Text from an autoregressive model: what teacher forcing says, token by token."""

import pytest
import torch
from model_cases import OPTIONS, TWO_WAYS, backbone

import eigenstate as es
from eigenstate.models import Autoregressive


def model(n_tokens=11, **settings):
    return Autoregressive(n_tokens, backbone=backbone(**settings)).eval()


def prompts(batch=3, length=5):
    return torch.randint(11, (batch, length))


@pytest.mark.parametrize("settings", [{}, {"norm": "batch"}, {"prenorm": False}], ids=str)
@pytest.mark.parametrize("length", [1, 2, 5])
def test_greedy_tokens_are_the_likeliest_of_one_whole_pass(settings, length):
    lm, prompt = model(**settings), prompts(length=length)
    tokens = lm.generate(prompt, 7, temperature=0)
    assert tokens.shape == (3, 7) and tokens.dtype == torch.int64
    logits, _ = lm(torch.cat([prompt, tokens], dim=1))
    assert torch.equal(logits.argmax(-1)[:, length - 1 : -1], tokens)


def test_steps_from_a_prompt_give_the_logits_of_one_pass():
    lm, text = model(), prompts(length=12)
    logits, state = lm(text[:, :5])
    collected = [logits]
    for k in range(5, 12):
        logits, state = lm.step(text[:, k], state)
        collected.append(logits[:, None])
    torch.testing.assert_close(torch.cat(collected, dim=1), lm(text)[0], rtol=1e-10, atol=1e-10)


def test_tokens_are_drawn_from_the_logits_of_one_whole_pass():
    lm, prompt = model(n_tokens=3), torch.tensor([[2, 0]]).expand(20000, 2)
    tokens = lm.generate(prompt, 2, temperature=0.5, generator=torch.Generator().manual_seed(1))
    logits, _ = lm(torch.tensor([[2, 0, 0], [2, 0, 1], [2, 0, 2]]))
    first = (logits[0, 1] / 0.5).softmax(-1)
    pairs = first[:, None] * (logits[:, 2] / 0.5).softmax(-1)  # (first token, second)
    counts = torch.zeros(3, 3).index_put_(
        (tokens[:, 0], tokens[:, 1]), torch.ones(20000), accumulate=True
    )
    # Four standard deviations of a share of 20,000 draws.
    assert ((counts / 20000 - pairs).abs() < 4 * (pairs * (1 - pairs) / 20000).sqrt()).all()


def test_only_the_likeliest_are_drawn():
    lm, prompt = model(), prompts(batch=1).expand(500, 5)
    best = lm(prompt)[0][0, -1].topk(3).indices
    drawn = lm.generate(prompt, 1, top_k=3, temperature=3.0).unique()
    assert set(drawn.tolist()) == set(best.tolist())
    greedy = lm.generate(prompt[:2], 6, temperature=0)
    assert torch.equal(lm.generate(prompt[:2], 6, top_k=1), greedy)
    assert torch.equal(lm.generate(prompt[:2], 6, temperature=1e-300), greedy)
    all_of_them = {"top_k": 11, "temperature": 2.0}
    assert lm.generate(prompt, 1, **all_of_them).unique().numel() == 11


@pytest.mark.parametrize("sampling", [{"temperature": 0}, {"top_k": 3}], ids=str)
def test_prompts_of_their_own_lengths_go_on_as_each_alone(sampling):
    lm, prompt, lengths = model(), prompts(), torch.tensor([5, 1, 3])
    for row, length in enumerate(lengths.tolist()):
        prompt[row, length:] = 99
    torch.manual_seed(3)
    got = lm.generate(prompt, 6, lengths=lengths, **sampling)
    if "top_k" in sampling:  # rows draw from one generator: only what they may draw can be said
        for row, length in enumerate(lengths.tolist()):
            text = torch.cat([prompt[row, :length], got[row]])[None]
            best = lm(text)[0][0, length - 1 : -1].topk(3).indices
            assert (best == got[row][:, None]).any(1).all()
        return
    alone = [
        lm.generate(prompt[row : row + 1, :length], 6, **sampling)
        for row, length in enumerate(lengths.tolist())
    ]
    assert torch.equal(got, torch.cat(alone))


def test_a_generator_or_a_seed_repeats_the_text():
    lm, prompt = model(), prompts()
    first, second, third = (
        lm.generate(prompt, 9, generator=torch.Generator().manual_seed(seed)) for seed in (5, 5, 6)
    )
    assert torch.equal(first, second) and not torch.equal(first, third)
    torch.manual_seed(7)
    first = lm.generate(prompt, 9)
    torch.manual_seed(7)
    assert torch.equal(lm.generate(prompt, 9), first)


def test_the_model_is_left_as_it_was():
    lm, prompt = model(norm="batch", dropout=0.5), prompts()
    expected = lm.generate(prompt, 6, temperature=0)
    lm.train()
    lm.backbone.blocks[0].eval()
    modes = [part.training for part in lm.modules()]
    before = {name: value.clone() for name, value in lm.state_dict().items()}
    assert torch.equal(lm.generate(prompt, 6, temperature=0), expected)
    assert [part.training for part in lm.modules()] == modes and lm.training
    assert all(torch.equal(value, before[name]) for name, value in lm.state_dict().items())
    lm.step = None  # a failure on the way
    with pytest.raises(TypeError):
        lm.generate(prompt, 2)
    assert [part.training for part in lm.modules()] == modes


def test_nothing_is_recorded_and_memory_does_not_grow(monkeypatch):
    lm, kept = model(), []
    step = lm.step

    def watched(u_k, state):
        logits, state = step(u_k, state)
        assert not logits.requires_grad
        kept.append(sum(part.numel() for part in state))
        return logits, state

    monkeypatch.setattr(lm, "step", watched)
    assert lm.generate(prompts(), 30).shape == (3, 30)
    assert len(kept) == 29 and len(set(kept)) == 1


@pytest.mark.parametrize("sampling", [{}, {"temperature": 0}, {"top_k": 2}], ids=str)
def test_nothing_is_generated_for_nobody(sampling):
    assert model().generate(prompts(), 0, **sampling).shape == (3, 0)
    assert model().generate(prompts(batch=0), 4, **sampling).shape == (0, 4)


def generate(prompt=None, count=2, padding="invariant", **arguments):
    prompt = prompts() if prompt is None else prompt
    return lambda: model(padding=padding).generate(prompt, count, **arguments)


MISTAKES = {
    "future": (
        lambda: Autoregressive(11, backbone=backbone(TWO_WAYS)),
        "backbone must be causal: .*bidirectional",
    ),
    "vocabulary": (lambda: Autoregressive(0, backbone=backbone(OPTIONS)), "n_tokens must be"),
    "no prompt": (generate(prompts(length=0)), r"prompt must .* one token.*got \(3, 0\).*start"),
    "text": (generate(prompts() * 1.0), r"prompt must be token ids.*prompt\.long\(\)"),
    "rank": (generate(prompts()[0]), r"prompt must have shape \(batch, length\), got \(5,\)"),
    "id": (generate(torch.tensor([[3, 11]])), r"prompt must hold .* got 11 at index \(0, 1\)"),
    "lengths": (generate(lengths=torch.tensor([5, 0, 1])), "lengths must lie between 1 and"),
    "published": (
        generate(padding="published", lengths=torch.tensor([5, 2, 1])),
        "lengths must be None: with padding='published'",
    ),
    "count": (generate(count=-1), "count must be at least 0, got -1"),
    "cold": (generate(temperature=-0.1), "temperature must be finite and at least 0, got -0.1"),
    "nan": (generate(temperature=float("nan")), "temperature must be finite"),
    "word": (generate(temperature="hot"), "temperature must be a number, got 'hot'"),
    "none": (generate(top_k=0), "top_k must be at least 1, got 0"),
    "all": (generate(top_k=12), "top_k must be at most n_tokens=11, got 12"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named(mistake):
    attempt, message = MISTAKES[mistake]
    with pytest.raises((ValueError, TypeError), match=message):
        attempt()


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_damaged_weights_generate_nothing(temperature):
    model = es.Autoregressive(5, backbone=es.Backbone(4, 1, layer_options={"d_state": 4}))
    model.decoder.bias.data[2] = torch.nan
    with pytest.raises(ValueError, match="logits that are not finite: the weights are damaged"):
        model.generate(torch.zeros(1, 2, dtype=torch.long), 3, temperature=temperature)
