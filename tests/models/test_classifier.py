"""The encoder alone: padding and company change nothing, pooling is what it says, n-grams are counted once."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from regard import config
from regard.attention.masks import PAD
from regard.attention.record import record
from regard.models.classifier import NgramBag, TextClassifier
from regard.tasks.registry import build
from tests.models.small import TAKEN_OUT

POOLINGS = ("max", "mean", "first")
SIZE, LABELS = 60, 3


def model(**settings: Any) -> TextClassifier:
    torch.manual_seed(1)
    shape = {"width": 16, "feed_forward": 32, "heads": 2, "layers": 2, "max_positions": 40, **settings}
    made = build(config.TextEncoder(**shape), SIZE, LABELS).eval()
    if made.ngram_bag is not None:
        torch.nn.init.normal_(made.ngram_bag.table.weight)
    return made


def ids_of(*lengths: int, longest: int = 0, seed: int = 1) -> Tensor:
    """Random texts, padded to the longest or further."""
    chance = torch.Generator().manual_seed(seed)
    rows = torch.full((len(lengths), max(*lengths, longest)), PAD)
    for row, length in zip(rows, lengths, strict=True):
        row[:length] = torch.randint(4, SIZE, (length,), generator=chance)
    return rows


@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("ngrams", [1, 3])
def test_neither_padding_nor_company_changes_an_answer(pooling: str, norm: str, ngrams: int) -> None:
    made = model(pooling=pooling, norm=norm, ngrams=ngrams, buckets=500)
    ids = ids_of(1, 7, 12, 3)
    together = made(ids)
    for row, length in enumerate((1, 7, 12, 3)):
        torch.testing.assert_close(made(ids[row : row + 1, :length])[0], together[row], rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(made(ids_of(1, 7, 12, 3, longest=30))[row], together[row], rtol=1e-5, atol=1e-5)
    assert together.std(0).min() > 1e-3


@pytest.mark.parametrize("changes", TAKEN_OUT, ids=str)
def test_nor_does_it_where_a_part_is_taken_out(changes: dict[str, Any]) -> None:
    made, ids = model(**changes), ids_of(1, 7, 12, 3)
    together = made(ids)
    for row, length in enumerate((1, 7, 12, 3)):
        torch.testing.assert_close(made(ids[row : row + 1, :length])[0], together[row], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("pooling", POOLINGS)
def test_pooling_is_what_it_says(pooling: str) -> None:
    made, ids = model(pooling=pooling), ids_of(5, 2)
    states = made.encode(ids)
    first, second = states[:5], states[5:]
    wanted = {"max": lambda rows: rows.amax(0), "mean": lambda rows: rows.mean(0), "first": lambda rows: rows[0]}[
        pooling
    ]
    torch.testing.assert_close(made.pool(states, ids), torch.stack([wanted(first), wanted(second)]))
    torch.testing.assert_close(made.classify(states, ids), made(ids))
    torch.testing.assert_close(made.encode(ids, made.embed(ids)), states)


def test_attention_sees_the_text_and_only_the_text() -> None:
    made, ids = model(), ids_of(6, 3)
    with record(made) as seen:
        made(ids)
    assert made.attention_names() == {"encoder": ["layers.0.self_attention", "layers.1.self_attention"]}
    for name in made.attention_names()["encoder"]:
        weights = seen[name]["weights"]  # [S, H, T, T]
        assert weights.shape == (2, 2, 6, 6)
        torch.testing.assert_close(weights[0].sum(-1), torch.ones(2, 6))
        torch.testing.assert_close(weights[1, :, :3].sum(-1), torch.ones(2, 3))
        assert (weights[1, :, :3, 3:] == 0).all()


@pytest.mark.parametrize("pooling", POOLINGS)
def test_every_pooling_learns(pooling: str) -> None:
    """Which of three words occurs, wherever it stands."""
    made = model(pooling=pooling, norm="pre", dropout=0.0).train()
    optimizer = torch.optim.Adam(made.parameters(), lr=1e-2)
    chance = torch.Generator().manual_seed(1)
    right = 0.0
    for update in range(120):
        labels = torch.randint(0, LABELS, (32,), generator=chance)
        ids = torch.randint(10, SIZE, (32, 8), generator=chance)
        ids[torch.arange(32), torch.randint(1, 8, (32,), generator=chance)] = 5 + labels
        logits = made(ids)
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(logits, labels).backward()
        optimizer.step()
        if update >= 110:
            right += (logits.argmax(-1) == labels).float().mean().item() / 10
    assert right > 0.9


def test_an_ngram_counts_once_however_often_it_stands() -> None:
    bag = NgramBag(3, 10_000, LABELS)
    torch.nn.init.normal_(bag.table.weight)
    ids = torch.tensor([[5, 6, 5, 6, PAD]])
    ngrams = bag.ngrams(ids)
    real = ngrams[ngrams != PAD]
    assert len(real) == len(set(real.tolist())) == 2 + 2 + 2  # 5, 6 · 5 6, 6 5 · 5 6 5, 6 5 6
    torch.testing.assert_close(bag(ids)[0], bag.table.weight[real].sum(0) * bag.scale(ngrams)[0])
    assert [each.size(1) for each in bag.ngrams_by_length(ids)] == [5, 4, 3]
    assert not torch.equal(bag.ngrams(torch.tensor([[5, 6]])), bag.ngrams(torch.tensor([[6, 5]])))
    assert (bag(torch.tensor([[PAD, PAD]])) == 0).all()
    assert bag(torch.tensor([[7]])).shape == (1, LABELS)  # shorter than the longest n-gram


def test_ngrams_begin_silent() -> None:
    torch.manual_seed(1)
    made = build(config.TextEncoder(width=16, feed_forward=32, heads=2, layers=1, ngrams=2, buckets=50), SIZE, LABELS)
    assert made.ngram_bag is not None
    assert (made.ngram_bag(ids_of(4)) == 0).all()
