"""Heads switched off, attention flattened or hardened: exactly what was asked, and all is as before afterwards."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch
from torch import Tensor

from regard import config
from regard.attention.changes import changed
from regard.attention.multi_head import MultiHead
from regard.attention.record import record
from regard.errors import UsageError
from regard.models.transformer import Transformer

WIDTH, HEADS = 16, 4
SOURCE = torch.tensor([[4, 5, 6, 7, 2], [8, 9, 2, 0, 0]])  # the second is padded
TARGET = torch.tensor([[1, 5, 9, 4], [1, 7, 7, 6]])
NAMES = [f"{stack}.{layer}.self_attention" for stack in ("encoder", "decoder") for layer in (0, 1)]
NAMES += ["decoder.0.cross_attention", "decoder.1.cross_attention"]


@pytest.fixture(params=["pre", "post"])
def model(request: pytest.FixtureRequest) -> Transformer:
    torch.manual_seed(0)
    settings = config.Transformer(
        width=WIDTH, feed_forward=32, heads=HEADS, encoder_layers=2, decoder_layers=2, norm=request.param,
        max_positions=16,
    )  # fmt: skip
    return Transformer(settings, 12, 12).eval()


def attention(model: Transformer, name: str) -> MultiHead:
    module = model.get_submodule(name)
    assert isinstance(module, MultiHead)
    return module


def logits(model: Transformer) -> Tensor:
    with torch.inference_mode():
        return model.project(model(SOURCE, TARGET))


def stepwise(model: Transformer) -> Tensor:
    """The same logits through the caches, one position after another."""
    with torch.inference_mode():
        state, found = model.start(SOURCE), []
        for last in TARGET.unbind(1):
            step, state = model.step(last, state)
            found.append(step)
    return torch.stack(found, 1)


@contextmanager
def without_rows(model: Transformer, name: str, heads: list[int]) -> Iterator[None]:
    """What these heads add, taken out of the output projection itself: its columns of theirs are zero."""
    weight = attention(model, name).output.weight
    before = weight.detach().clone()
    with torch.no_grad():
        for head in heads:
            weight.view(WIDTH, HEADS, -1)[:, head] = 0.0
    yield
    with torch.no_grad():
        weight.copy_(before)


@pytest.mark.parametrize("heads", [[0], [3, 1], [0, 1, 2, 3], [2, 2]], ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_a_head_switched_off_adds_nothing(model: Transformer, name: str, heads: list[int]) -> None:
    plain = logits(model)
    with changed(model, off={name: heads}):
        with record(model) as seen:
            found = logits(model)
        outcome = seen[name]["head_outputs"]  # [B, H, Q, E]
        assert [head for head in range(HEADS) if not outcome[:, head].any()] == sorted(set(heads))
        assert all(
            (outcome != 0).any() for other in NAMES if other != name for outcome in [seen[other]["head_outputs"]]
        )
        torch.testing.assert_close(seen[name]["weights"].sum(-1), torch.ones(outcome.shape[:3]))  # still to be seen
    with without_rows(model, name, heads):
        torch.testing.assert_close(found, logits(model))
    assert not torch.allclose(found, plain, atol=1e-4)
    assert torch.equal(logits(model), plain)


CHANGES = pytest.mark.parametrize(
    "change",
    [{"off": {"decoder.0.self_attention": [1], "decoder.1.cross_attention": [0, 2]}}, {"temperature": 3.0},
     {"temperature": 0.1}, {"hard": True}, {"off": {"encoder.1.self_attention": [3]}, "temperature": 0.5, "hard": True}],
    ids=str,
)  # fmt: skip


@CHANGES
def test_caches_change_nothing(model: Transformer, change: dict) -> None:
    plain = logits(model)
    with changed(model, **change):
        found = logits(model)
        torch.testing.assert_close(stepwise(model), found)
    assert not torch.allclose(found, plain, atol=1e-4)
    torch.testing.assert_close(stepwise(model), plain)


@CHANGES
def test_recording_changes_nothing(model: Transformer, change: dict) -> None:
    with changed(model, **change):
        found = logits(model)
        with record(model):
            assert torch.equal(logits(model), found)


def test_nothing_changes_unless_asked(model: Transformer) -> None:
    plain = logits(model)
    with changed(model):
        assert torch.equal(logits(model), plain)
    with changed(model, off={NAMES[0]: []}):
        assert torch.equal(logits(model), plain)


def weights(model: Transformer) -> dict[str, Tensor]:
    with record(model) as seen:
        logits(model)
    return {name: seen[name]["weights"] for name in NAMES}


def test_hard_attention_looks_at_one_key(model: Transformer) -> None:
    with changed(model, hard=True):
        for name, found in weights(model).items():
            assert ((found == 1).sum(-1) == 1).all(), name
            assert ((found == 0).sum(-1) == found.size(-1) - 1).all(), name


def test_temperature_divides_the_scores_of_every_attention(model: Transformer) -> None:
    with changed(model, temperature=2.5), record(model) as seen:
        logits(model)
    hidden = ~torch.tensor([[True] * 5, [True] * 3 + [False] * 2])[:, None, None]  # [B, 1, 1, K], the padding
    future = torch.ones(4, 4).triu(1).bool()
    masks = {
        "encoder.0.self_attention": hidden,
        "decoder.0.self_attention": future,
        "decoder.0.cross_attention": hidden,
    }
    for name, mask in masks.items():
        scores = seen[name]["scores"].masked_fill(mask, float("-inf"))
        torch.testing.assert_close(seen[name]["weights"], (scores / 2.5).softmax(-1))


def state(model: Transformer) -> list[tuple[tuple[int, ...], float, bool]]:
    return [attention(model, name).change for name in NAMES]


def test_an_error_inside_puts_everything_back(model: Transformer) -> None:
    before = state(model)

    def interrupted() -> None:
        with changed(model, off={NAMES[0]: [1]}, temperature=2.0, hard=True):
            assert all(now != then for now, then in zip(state(model), before, strict=True))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        interrupted()
    assert state(model) == before


def test_one_change_inside_another_holds_until_its_end(model: Transformer) -> None:
    with changed(model, off={NAMES[0]: [1]}, temperature=2.0):
        outer = state(model)
        with changed(model, hard=True):
            assert state(model) == [((), 1.0, True)] * len(NAMES)
        assert state(model) == outer


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"off": {"decoder.0.cros_attention": [0]}}, r"'decoder.0.cros_attention'.*decoder.0.cross_attention"),
        ({"off": {"encoder.9.self_attention": [0]}}, r"There are encoder.0.self_attention, "),
        ({"off": {"encoder.0.feed_forward": [0]}}, r"no attention is called 'encoder.0.feed_forward'"),
        ({"off": {NAMES[0]: [1, 4]}}, r"encoder.0.self_attention has no head 4; its heads are 0 to 3"),
        ({"off": {NAMES[0]: [-1]}}, r"has no head -1"),
        ({"temperature": 0.0}, "a number from 0.01 to 100, not 0.0"),
        ({"temperature": 1e-300}, "not 1e-300"),
        ({"temperature": "warm"}, "not 'warm'"),
        ({"off": ["decoder.0.cross_attention"]}, "off maps names to lists of heads"),
        ({"off": {"decoder.0.cross_attention": 1}}, "off maps names to lists of heads"),
        ({"temperature": -1.0}, "not -1.0"),
        ({"temperature": float("nan")}, "not nan"),
        ({"temperature": float("inf")}, "not inf"),
    ],
    ids=str,
)
def test_what_cannot_be_changed_is_named_before_anything_is(model: Transformer, wrong: dict, message: str) -> None:
    before = state(model)
    with pytest.raises(UsageError, match=message), changed(model, **wrong):
        pytest.fail("it was let in")
    assert state(model) == before


def test_other_threads_keep_the_model_as_it_was_trained(model: Transformer) -> None:
    wanted = logits(model)
    found: list[Tensor] = []
    with changed(model, off={name: range(HEADS) for name in NAMES}, temperature=2.0):
        other = threading.Thread(target=lambda: found.append(logits(model)))
        other.start()
        other.join()
        assert not torch.equal(logits(model), wanted)
    assert torch.equal(found[0], wanted)
