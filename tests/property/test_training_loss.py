"""The chunked cross-entropy against the obvious one in float64, value and gradients."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lingprob.training.model import summed_cross_entropy


def obvious(hidden: torch.Tensor, weight: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    logits = hidden.double() @ weight.double().T
    return -torch.log_softmax(logits, dim=1)[torch.arange(len(labels)), labels].sum()


@settings(max_examples=40, deadline=None)
@given(
    n=st.integers(1, 40),
    width=st.integers(1, 12),
    vocabulary=st.integers(2, 50),
    chunk=st.integers(1, 50),
    spread=st.sampled_from([0.1, 1.0, 30.0]),
    seed=st.integers(0, 2**16),
)
def test_value_and_gradients_are_independent_of_chunks(n, width, vocabulary, chunk, spread, seed):
    generator = torch.Generator().manual_seed(seed)
    hidden = (spread * torch.randn(n, width, generator=generator)).requires_grad_()
    weight = torch.randn(vocabulary, width, generator=generator).requires_grad_()
    labels = torch.randint(0, vocabulary, (n,), generator=generator)
    expected = obvious(hidden, weight, labels)
    (3 * expected).backward()
    gradients = hidden.grad.clone(), weight.grad.clone()
    hidden.grad = weight.grad = None
    found = summed_cross_entropy(hidden, weight, labels, chunk=chunk)
    (3 * found).backward()
    torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=1e-4)
    torch.testing.assert_close(hidden.grad, gradients[0], rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(weight.grad, gradients[1], rtol=1e-4, atol=2e-4 * spread)


def test_half_precision_is_near_and_sums_in_full():
    generator = torch.Generator().manual_seed(0)
    hidden = torch.randn(300, 16, generator=generator).requires_grad_()
    weight = torch.randn(64, 16, generator=generator).requires_grad_()
    labels = torch.randint(0, 64, (300,), generator=generator)
    expected = obvious(hidden, weight, labels)
    found = summed_cross_entropy(hidden, weight, labels, torch.bfloat16, chunk=7)
    found.backward()
    assert found.dtype == torch.float32
    assert weight.grad.dtype == torch.float32
    assert found.item() == pytest.approx(expected.item(), rel=0.01)


def test_without_gradients_there_is_the_value_alone():
    hidden, weight = torch.randn(5, 4), torch.randn(9, 4)
    labels = torch.tensor([0, 8, 3, 3, 1])
    with torch.no_grad():
        found = summed_cross_entropy(hidden, weight, labels, chunk=2)
    torch.testing.assert_close(found.double(), obvious(hidden, weight, labels), rtol=1e-5, atol=0)
