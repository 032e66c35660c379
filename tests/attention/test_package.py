"""`regard.attention` as somebody who read the paper would use it: its names, its masks, its errors, its widths."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

import regard
from regard import errors
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
from regard.errors import RegardError, UsageError

B, H, Q, K, D, E, F, M = 2, 3, 4, 5, 12, 7, 6, 10


def drawn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def given() -> tuple[Tensor, Tensor, Tensor]:
    return drawn(B, H, Q, E), drawn(B, H, K, E, seed=1), drawn(B, H, K, F, seed=2)


def test_the_names_are_there_whatever_was_imported_before() -> None:
    assert regard.attend is attend
    program = "import regard.attention.masks, sys\nassert 'regard.attention.multi_head' not in sys.modules\n" \
        "from regard.attention import record, SelfAttention\nimport torch\n" \
        "a = SelfAttention(4, 2)\nwith record(a) as seen:\n    a(torch.zeros(1, 3, 4))\n" \
        "import regard.attention.record as module\nassert 'weights' in seen['model'] and module.Record"  # fmt: skip
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr  # and one part does not load the others
    import regard.attention.record as module

    with module(SelfAttention(4, 2)) as seen:  # type: ignore[operator]
        assert not seen
    with pytest.raises(AttributeError, match="no attribute 'atend'"):
        regard.attention.atend  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8, torch.complex64])
def test_a_mask_of_whole_numbers_is_refused_with_the_line_to_write(dtype: torch.dtype) -> None:
    mask = causal_mask(Q, K).to(dtype)
    attention, x = SelfAttention(D, H), drawn(B, Q, D)
    for asked in (lambda: attend(*given(), mask), lambda: attention(x, mask[:, :Q])):
        with pytest.raises(UsageError, match=r"mask=mask != 0 if 1 means may look"):
            asked()
    shown = attend(*given(), mask != 0)[1]  # what the message says to write
    assert (shown[..., ~causal_mask(Q, K)] == 0).all()


@pytest.mark.parametrize("mask", [causal_mask(Q, K).float(), torch.ones(Q, K)], ids=["zeros and ones", "ones"])
def test_numbers_that_look_like_yes_and_no_are_refused(mask: Tensor) -> None:
    attention, cross, x = SelfAttention(D, H), CrossAttention(D, H), drawn(B, Q, D)
    for asked in (
        lambda: attend(*given(), mask),
        lambda: attention(x, mask[:, :Q]),
        lambda: cross(x, drawn(B, K, D), mask),
        lambda: AdditiveAttention(D)(x, drawn(B, K, D), mask[-1:]),
    ):
        with pytest.raises(UsageError, match=r"nothing but 0 and 1"):
            asked()


def test_numbers_are_added() -> None:
    query, key, value = given()
    plain, bias = attend(query, key, value), drawn(Q, K, seed=4)
    assert torch.equal(attend(query, key, value, torch.zeros(Q, K))[1], plain[1])  # legal: it adds nothing
    expected = (query @ key.transpose(-2, -1) / E**0.5 + bias).softmax(-1)
    torch.testing.assert_close(attend(query, key, value, bias)[1], expected)
    hidden = torch.zeros(Q, K).masked_fill(~causal_mask(Q, K), -1e9)  # the notes' own idiom
    torch.testing.assert_close(attend(query, key, value, hidden), attend(query, key, value, causal_mask(Q, K)))
    with pytest.raises(UsageError, match="the mask holds NaN"):
        attend(query, key, value, torch.full((Q, K), torch.nan))


def test_minus_infinity_hides_in_a_module_as_in_the_definition() -> None:
    torch.manual_seed(0)
    attention, x, shown = SelfAttention(D, H), drawn(B, Q, D), causal_mask(Q)
    shown[0] = False
    found = attention(x, torch.zeros(Q, Q).masked_fill(~shown, -torch.inf))
    torch.testing.assert_close(found, attention(x, shown))
    assert found.isfinite().all()
    with pytest.raises(UsageError, match="hides every key by −inf"):
        attention(x, torch.full((Q, Q), 0.5).masked_fill(~shown, -torch.inf))


def test_a_learned_mask_gets_its_gradient() -> None:
    """The written-out gradient of the fast path knows none for the mask."""
    attention, x = SelfAttention(D, H), drawn(B, Q, D)
    bias = drawn(H, Q, Q).requires_grad_()
    attention(x, bias).square().sum().backward()
    assert bias.grad is not None
    assert bias.grad.abs().sum() > 0


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (dict(key=drawn(B, H, K, E + 1)), r"a query of 7 numbers cannot be compared with a key of 8: .*query \[2, 3, 4, 7\]"),
        (dict(value=drawn(B, H, K + 1, F)), r"5 keys cannot lead to 6 values: .*value \[2, 3, 6, 6\]"),
        (dict(key=drawn(B + 1, H, K, E)), r"batch and heads, does not fit: .*key \[3, 3, 5, 7\]"),
        (dict(value=drawn(B, H + 1, K, F)), r"batch and heads, does not fit"),
        (dict(mask=causal_mask(K, Q)), r"mask of shape \[5, 4\] does not fit scores of shape \[2, 3, 4, 5\]"),
        (dict(mask=torch.ones(7, B, H, Q, K, dtype=torch.bool)), r"mask of shape \[7, 2, 3, 4, 5\] does not fit"),
        (dict(mask=[[True]]), r"a mask is a tensor of booleans"),
        (dict(query=drawn(E)), r"query must hold real numbers, \[.., positions, width\]; it is \[7\]"),
        (dict(query=torch.ones(B, H, Q, E, dtype=torch.long)), r"query must hold real numbers.* of int64"),
        (dict(query="q"), r"query must be a tensor, not str"),
        (dict(query=drawn(B, H, Q, E).double()), r"of one type and on one device: query float64"),
        (dict(query=drawn(B, H, Q, 0), key=drawn(B, H, K, 0)), r"a query of no numbers"),
        (dict(temperature=0), r"above 0, not 0; hard attention, its limit, is hard=True"),
        (dict(temperature=-0.5), r"above 0, not -0.5"),
        (dict(temperature=float("nan")), r"above 0, not nan"),
        (dict(temperature="warm"), r"one number above 0, not 'warm'"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_told_in_our_words(change: dict[str, Any], told: str) -> None:
    query, key, value = given()
    with pytest.raises(UsageError, match=told) as caught:
        attend(**{"query": query, "key": key, "value": value, **change})
    assert isinstance(caught.value, ValueError)


def test_modules_tell_it_too() -> None:
    own, cross = SelfAttention(D, H), CrossAttention(D, H, memory_width=M)
    wrong = {
        r"a sequence of shape \[2, 4, 13\] is 13 wide; this attention was made for 12": lambda: own(drawn(B, Q, D + 1)),
        r"a memory of shape \[2, 5, 12\] is 12 wide; this attention was made for 10": lambda: cross(
            drawn(B, Q, D), drawn(B, K, D)
        ),
        r"mask of shape \[5, 5\] does not fit scores of shape \[2, 3, 4, 4\]": lambda: own(
            drawn(B, Q, D), causal_mask(K)
        ),
        r"5 heads do not divide a width of 12": lambda: SelfAttention(D, 5, key_width=3),
        r"heads must be a whole number, at least 1; not 0": lambda: SelfAttention(D, 0),
        r"dropout is a share": lambda: SelfAttention(D, H, dropout=1.5),
        r"memory_width must be a whole number, at least 0; not -1": lambda: CrossAttention(D, H, memory_width=-1),
        r"the width must be even": lambda: sinusoidal_positions(5, 7),
        r"a padding mask is made of ids, a tensor \[batch, positions\]": lambda: padding_mask(torch.tensor([1, 2])),
        r"whole number, at least 0; not -1": lambda: causal_mask(-1),
    }
    for told, asked in wrong.items():
        with pytest.raises(ValueError, match=told):
            asked()


def test_every_error_of_the_package_is_a_value_error() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, RegardError)]
    assert len(kinds) >= 6
    assert all(issubclass(kind, ValueError) for kind in kinds)


def test_a_warm_and_a_learned_temperature() -> None:
    query, key, value = given()
    even = attend(query, key, value, temperature=float("inf"))[1]
    torch.testing.assert_close(even, torch.full_like(even, 1 / K))
    learned = torch.tensor(2.0, requires_grad=True)
    attend(query, key, value, temperature=learned)[0].sum().backward()  # type: ignore[arg-type]
    assert learned.grad is not None


def test_without_scale_scores_are_dot_products() -> None:
    query, key, value = given()
    expected = (query @ key.transpose(-2, -1)).softmax(-1)
    torch.testing.assert_close(attend(query, key, value, scale=False)[1], expected)
    torch.testing.assert_close(attend(query, key, value, scale=False, temperature=E**0.5), attend(query, key, value))


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("scale", [True, False])
def test_every_width_is_as_asked(bias: bool, scale: bool) -> None:
    """By hand, head by head: keys of E, values of F, a memory of M, and heads that do not divide the width."""
    torch.manual_seed(0)
    heads = 5
    own = SelfAttention(D, heads, key_width=E, value_width=F, bias=bias, scale=scale)
    cross = CrossAttention(D, heads, key_width=E, value_width=F, memory_width=M, bias=bias, scale=scale)
    assert own.query_key_value.weight.shape == (heads * (2 * E + F), D)
    assert cross.key_value.weight.shape == (heads * (E + F), M)
    assert cross.output.weight.shape == (D, heads * F)
    assert sum(each.ndim == 1 for each in cross.parameters()) == (3 if bias else 0)
    x, memory = drawn(B, Q, D), drawn(B, K, M)
    mask = padding_mask(torch.tensor([[1, 2, 3, 0, 0], [1, 2, 3, 4, 5]]))
    sizes = [heads * E, heads * F]
    projected = [cross.query(x), *cross.key_value(memory).split(sizes, -1)]
    by_head = zip(*(each.chunk(heads, -1) for each in projected), strict=True)
    found = torch.cat([attend(*each, mask[:, 0], scale=scale)[0] for each in by_head], -1)
    expected = functional.linear(found, cross.output.weight, cross.output.bias)
    torch.testing.assert_close(cross(x, memory, mask), expected)
    torch.testing.assert_close(cross(x, cross.project_memory(memory), mask), expected)
    assert own(x, causal_mask(Q)).shape == x.shape
    fast = own(x, causal_mask(Q))
    with record(own):
        torch.testing.assert_close(own(x, causal_mask(Q)), fast)


def test_heads_of_full_width() -> None:
    attention = SelfAttention(D, H, key_width=D, value_width=D)
    assert attention.query_key_value.weight.shape == (3 * H * D, D)  # W_h of D × H·F
    assert attention.output.weight.shape == (D, H * D)


def test_the_record_has_the_twelve_tensors_of_a_lecture() -> None:
    cross, x, memory = CrossAttention(D, H, key_width=E, value_width=F, memory_width=M), drawn(B, Q, D), drawn(B, K, M)
    with record(cross) as seen:
        output = cross(x, memory)
    found = seen["model"]
    assert {name: tuple(each.shape) for name, each in found.items()} == {
        "projected_query": (B, Q, H * E), "projected_key": (B, K, H * E), "projected_value": (B, K, H * F),
        "query": (B, H, Q, E), "key": (B, H, K, E), "value": (B, H, K, F),
        "scores": (B, H, Q, K), "weights": (B, H, Q, K), "head_outputs": (B, H, Q, F),
        "rearranged": (B, Q, H, F), "merged": (B, Q, H * F), "output": (B, Q, D),
    }  # fmt: skip
    torch.testing.assert_close(found["projected_query"], cross.query(x))
    torch.testing.assert_close(
        torch.cat([found["projected_key"], found["projected_value"]], -1), cross.key_value(memory)
    )
    torch.testing.assert_close(found["query"], found["projected_query"].view(B, Q, H, E).transpose(1, 2))
    torch.testing.assert_close(found["scores"], found["query"] @ found["key"].transpose(-2, -1) / E**0.5)
    torch.testing.assert_close(found["head_outputs"], found["weights"] @ found["value"])
    torch.testing.assert_close(found["rearranged"], found["head_outputs"].transpose(1, 2))
    torch.testing.assert_close(found["merged"], found["rearranged"].flatten(2))
    assert torch.equal(found["output"], output)


def test_additive_attention_reads_a_memory_as_it_is() -> None:
    torch.manual_seed(0)
    attention, query, memory = AdditiveAttention(D), drawn(B, Q, D), drawn(B, K, D)
    mask = padding_mask(torch.tensor([[1, 2, 3, 0, 0], [1, 2, 3, 4, 5]]))
    with record(attention) as seen:
        found = attention(query, memory, mask)
    assert (found.weights[0, :, 3:] == 0).all()
    torch.testing.assert_close(found.context, found.weights @ memory)
    torch.testing.assert_close(seen["model"]["weights"][:, 0], found.weights)
    torch.testing.assert_close(attention(query, attention.read(memory, mask)).context, found.context)
