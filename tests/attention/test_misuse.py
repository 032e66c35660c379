"""What a person may get wrong in a Python shell is told in our words, and is a ValueError."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from regard.attention import (
    AdditiveAttention,
    CrossAttention,
    SelfAttention,
    attend,
    causal_mask,
    padding_mask,
    record,
    sinusoidal_positions,
)
from regard.errors import UsageError


def some(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1))


MISTAKES: list[tuple[Callable[[], Any], str]] = [
    (lambda: attend(some(5, 8), some(7, 8), some(7, 6), torch.full((5, 7), torch.inf)), r"NaN or \+inf"),
    (lambda: attend(some(5, 8), some(7, 8), some(7, 6), temperature=1e-40), "at least 1e-06.*hard=True"),
    (lambda: SelfAttention(16, 4)(some(5, 16)), r"\[batch, positions, width\], not \[5, 16\]; one alone .* x\[None\]"),
    (lambda: SelfAttention(16, 4)(some(1, 2, 5, 16)), r"not \[1, 2, 5, 16\]"),
    (lambda: CrossAttention(16, 4)(some(2, 5, 16), some(7, 16)), r"a memory is \[batch, positions, width\]"),
    (lambda: CrossAttention(16, 4)(some(2, 5, 16), some(3, 7, 16)), "2 sequences cannot look at 3 memories"),
    (lambda: AdditiveAttention(16)(some(2, 5, 15), some(2, 7, 16)), "15 wide; this attention was made for 16"),
    (lambda: AdditiveAttention(16)(some(2, 5, 16), some(2, 7, 15)), "a memory of shape .* is 15 wide"),
    (lambda: AdditiveAttention(16)(some(2, 5, 16), some(3, 7, 16)), "2 sequences cannot look at 3 memories"),
    (lambda: AdditiveAttention(16)(some(5, 16), some(7, 16)), r"a query is \[batch, positions, width\]"),
    (lambda: AdditiveAttention(16)(some(2, 5, 16), some(2, 7, 16), causal_mask(5)), r"scores of shape \[2, 5, 7\]"),
    (lambda: AdditiveAttention(16)(some(2, 5, 16), some(2, 7, 16), [True] * 7), "a mask is a tensor"),  # type: ignore[arg-type]
    (lambda: causal_mask(2.5), "queries of a causal mask must be a whole number, at least 0; not 2.5"),  # type: ignore[arg-type]
    (lambda: causal_mask(some(90, 90)), r"not tensor\(.*… \("),  # type: ignore[arg-type]
    (lambda: padding_mask([[1, 0]]), "whole numbers; not of list"),  # type: ignore[arg-type]
    (lambda: padding_mask(some(2, 3)), r"not of \[2, 3\] of float32"),
    (lambda: padding_mask(torch.ones(2, 3, dtype=torch.bool)), "of bool"),
    (lambda: sinusoidal_positions(-4, 6), "positions must be a whole number, at least 0; not -4"),
    (lambda: sinusoidal_positions(4, 5), "must be even"),
    (lambda: record(3).__enter__(), "record takes a model"),  # type: ignore[arg-type]
    (lambda: attend(some(5, 8), some(7, 8), some(7, 6), scale=0.5), "temperature=1 / β"),  # type: ignore[arg-type]
    (lambda: attend(some(5, 8), some(7, 8), some(7, 6), scale=None), "scale is True or False"),  # type: ignore[arg-type]
    (lambda: attend(some(5, 8), some(7, 8), some(7, 6), hard="no"), "hard is True or False"),  # type: ignore[arg-type]
    (lambda: attend(some(5, 8), some(7, 8), some(7, 6), drop=0.1), r"such as torch.nn.Dropout\(0.1\)"),  # type: ignore[arg-type]
    (lambda: attend(some(5, 8), some(7, 8), some(7, 6), np.eye(5, 7)), "not ndarray; torch.as_tensor"),  # type: ignore[arg-type]
    (lambda: SelfAttention(16, 4, scale=0.5), "scale is True or False"),  # type: ignore[arg-type]
    (lambda: SelfAttention(16, 4, dropout="0.1"), "dropout is a share"),  # type: ignore[arg-type]
    (lambda: SelfAttention(16, 4.0), "heads must be a whole number"),  # type: ignore[arg-type]
    (lambda: SelfAttention(16.0, 4), "the width must be a whole number"),  # type: ignore[arg-type]
    (lambda: SelfAttention(16, 4)(*[some(2, 5, 16)] * 3), "one is enough; to look at another, CrossAttention"),
    (lambda: SelfAttention(16, 4)(torch.ones(2, 5, 16, dtype=torch.long)), "real numbers.* of int64"),
    (lambda: SelfAttention(16, 4)(np.ones((2, 5, 16))), "real numbers.* of ndarray"),
    (lambda: SelfAttention(16, 4)(some(2, 5, 16), some(2, 5) > 0), r"each sequence is mask\[:, None, None\]"),
    (lambda: SelfAttention(16, 4)(some(2, 5, 16), some(2, 5, 5) > 0), r"each sequence is mask\[:, None\]$"),
    (lambda: AdditiveAttention(0), "the width must be a whole number, at least 1"),
]


@pytest.mark.parametrize(("mistake", "message"), MISTAKES, ids=[message for _, message in MISTAKES])
def test_a_mistake_is_named(mistake: Callable[[], Any], message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        mistake()
    assert isinstance(caught.value, ValueError)


def test_a_mask_of_additive_attention_may_differ_from_query_to_query() -> None:
    attention, x = AdditiveAttention(16), some(2, 5, 16)
    weights = attention(x, x, causal_mask(5)).weights  # [S, Q, K]
    assert (weights.triu(1) == 0).all()
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 5))
    for last in range(5):
        alone = attention(x[:, last : last + 1], x[:, : last + 1]).weights[:, 0]
        torch.testing.assert_close(weights[:, last, : last + 1], alone)


def test_all_sequences_may_look_at_one_memory() -> None:
    attention, x, memory = CrossAttention(16, 4).eval(), some(3, 5, 16), some(1, 7, 16)
    torch.testing.assert_close(attention(x, memory), attention(x, memory.expand(3, -1, -1)))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16])
def test_an_added_mask_may_have_other_numbers_than_the_scores(dtype: torch.dtype) -> None:
    """NumPy's have 64 bits, and nobody writes that down."""
    query, key, value, shown = some(5, 8), some(5, 8), some(5, 6), causal_mask(5)
    attention, x = SelfAttention(16, 4).eval(), some(2, 5, 16)
    for lowest in (-1e4, -torch.inf):
        mask = torch.zeros(5, 5, dtype=dtype).masked_fill(~shown, lowest)
        torch.testing.assert_close(attend(query, key, value, mask), attend(query, key, value, shown))
        with record(attention):
            torch.testing.assert_close(attention(x, mask), attention(x, shown))
        torch.testing.assert_close(attention(x, mask), attention(x, shown))


def test_no_sequence_and_an_empty_one_are_looked_at_too() -> None:
    attention, cross = SelfAttention(16, 4), CrossAttention(16, 4)
    for x in (some(0, 5, 16), some(2, 0, 16)):
        assert attention(x).shape == cross(x, x).shape == x.shape


def test_a_second_derivative_is_exact_or_refused() -> None:
    """The gradient that is written out knows no gradient of its own; that of the definition does."""
    attention, x = SelfAttention(4, 2).double(), some(1, 3, 4).double().requires_grad_()
    (slope,) = torch.autograd.grad(attention(x).square().sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="twice"):
        slope.sum().backward()
    with record(attention):
        assert torch.autograd.gradgradcheck(attention, (x,))
