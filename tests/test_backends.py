"""Which backend computes, on how many threads."""

import pytest
import torch
import truths
from cases import SINGLE
from test_scan import system, weighed

import eigenstate as es


@pytest.mark.parametrize("dtype", SINGLE, ids=str)
@pytest.mark.parametrize("varying", ["(P,)", "(B, L, P)"])
def test_the_same_bits_for_any_number_of_threads_and_rows(dtype, varying):
    a, b, state = system(300, 64, (16,), dtype, varying)
    a, b = a.requires_grad_(), b.requires_grad_()
    answers = []
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        states, final = es.linear_scan(a, b, state, backend="cpu")
        answers.append((states, final, *torch.autograd.grad(weighed(states), (a, b))))
    for answer in answers[1:]:
        assert all(torch.equal(one, other) for one, other in zip(answer, answers[0], strict=True))
    row = es.linear_scan(a[5] if varying == "(B, L, P)" else a, b[5], state[5], backend="cpu")
    assert torch.equal(row[0], answers[0][0][5]) and torch.equal(row[1], answers[0][1][5])


def test_choosing_a_backend(monkeypatch):
    a, b, _ = system()
    expected = es.linear_scan(a, b, backend="reference")[0]
    with es.use_backend("reference"):
        assert torch.equal(es.linear_scan(a, b)[0], expected)
        with es.use_backend("cpu"):
            assert truths.error(es.linear_scan(a, b)[0], expected) < 1e-15
    monkeypatch.setenv("EIGENSTATE_BACKEND", "reference")
    assert torch.equal(es.linear_scan(a, b)[0], expected)
    monkeypatch.setenv("EIGENSTATE_BACKEND", "referense")
    with pytest.raises(ValueError, match=r"referense.*reference"):
        es.linear_scan(a, b)
