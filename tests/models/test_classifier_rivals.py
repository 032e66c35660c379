"""Classifiers without self-attention: padding and company change nothing, each sees what it says, all learn."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from regard import config
from regard.attention.changes import changed
from regard.attention.masks import PAD
from regard.attention.record import record
from regard.models.classifier import TextClassifier
from regard.tasks.registry import build
from tests.models.test_classifier import LABELS, SIZE, ids_of

RIVALS: list[config.ClassifierModel] = [
    config.RecurrentEncoder(width=16, layers=2),
    config.RecurrentEncoder(width=16, layers=1, cell="gru", pooling="max"),
    config.RecurrentEncoder(width=16, layers=1, pooling="mean", ngrams=3, buckets=500),
    config.RecurrentAttentionEncoder(width=16, layers=2),
    config.RecurrentAttentionEncoder(width=16, layers=1, cell="gru", score="dot"),
    config.ConvolutionalEncoder(width=16, layers=2),
    config.ConvolutionalEncoder(width=16, layers=1, kernel=5, pooling="mean"),
]
LENGTHS = (1, 7, 12, 3)


def made(settings: config.ClassifierModel) -> TextClassifier:
    torch.manual_seed(1)
    model: TextClassifier = build(settings, SIZE, LABELS).double().eval()
    if model.ngram_bag is not None:
        torch.nn.init.normal_(model.ngram_bag.table.weight)
    return model


def named(settings: config.ClassifierModel) -> str:
    return f"{settings.architecture} {settings.pooling}"


@pytest.mark.parametrize("settings", RIVALS, ids=named)
def test_neither_padding_nor_company_changes_an_answer(settings: config.ClassifierModel) -> None:
    model, ids = made(settings), ids_of(*LENGTHS)
    together, further = model(ids), model(ids_of(*LENGTHS, longest=30))
    torch.testing.assert_close(further, together)
    for row, length in enumerate(LENGTHS):
        torch.testing.assert_close(model(ids[row : row + 1, :length])[0], together[row])
    assert together.std(0).min() > 1e-3
    torch.testing.assert_close(model.encode(ids, model.embed(ids)), model.encode(ids))
    assert model.encode(ids).shape == (sum(LENGTHS), 16)


@pytest.mark.parametrize("settings", RIVALS, ids=named)
def test_the_order_of_words_matters(settings: config.ClassifierModel) -> None:
    model, ids = made(settings), ids_of(6)
    assert (model(ids) - model(ids.flip(1))).abs().max() > 1e-6


def test_the_last_state_is_that_of_the_last_word() -> None:
    model, ids = made(RIVALS[0]), ids_of(5, 2)
    states = model.encode(ids)
    torch.testing.assert_close(model.pool(states, ids), torch.stack([states[4], states[6]]))
    early = model.encode(ids[:, :2])  # what is read from left to right knows nothing of what follows
    torch.testing.assert_close(early[:2], states[:2])


def test_attention_pools_what_is_real_in_shares() -> None:
    model, ids = made(RIVALS[3]), ids_of(6, 3)
    with record(model) as seen:
        states = model.encode(ids)
        pooled = model.pool(states, ids)
    assert model.attention_names() == {"pooling": ["attention"]}
    weights = seen["attention"]["weights"]  # [S, 1, 1, T]
    assert weights.shape == (2, 1, 1, 6)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 1, 1, dtype=torch.double))
    assert (weights[1, ..., 3:] == 0).all()
    torch.testing.assert_close(pooled[0], weights[0, 0, 0] @ states[:6])
    with changed(model, hard=True):
        best = int(weights[1, 0, 0].argmax())
        torch.testing.assert_close(model.pool(states, ids)[1], states[6 + best])
    with changed(model, {"attention": [0]}):
        assert (model.pool(states, ids) == 0).all()


def test_a_convolution_sees_its_neighbours_only() -> None:
    model, ids = made(config.ConvolutionalEncoder(width=16, layers=2, kernel=3)), ids_of(9)
    other = ids.clone()
    other[0, 0] = 4 if ids[0, 0] != 4 else 5
    differs = (model.encode(ids) - model.encode(other)).abs().amax(-1) > 0
    assert differs.tolist() == [True] * 3 + [False] * 6  # two layers, one neighbour each
    assert model.attention_names() == {}


def test_what_labels_alone_teach_is_all_that_follows_the_states() -> None:
    for settings in RIVALS:
        model, ids = made(settings), ids_of(*LENGTHS)
        after = {id(each) for module in model.after_states() for each in module.parameters()}
        model.encode(ids).sum().backward()
        without = {name for name, each in model.named_parameters() if each.grad is None}
        assert without == {name for name, each in model.named_parameters() if id(each) in after}


@pytest.mark.parametrize("settings", [RIVALS[0], RIVALS[3], RIVALS[5]], ids=named)
def test_every_rival_learns(settings: config.ClassifierModel) -> None:
    """Which of three words occurs, wherever it stands."""
    torch.manual_seed(1)
    shape: dict[str, Any] = {"width": 32, "layers": 1, "dropout": 0.0}
    model = build(type(settings)(**shape), SIZE, LABELS).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    chance = torch.Generator().manual_seed(1)
    right = 0.0
    for update in range(150):
        labels = torch.randint(0, LABELS, (32,), generator=chance)
        ids = torch.randint(10, SIZE, (32, 8), generator=chance)
        ids[torch.arange(32), torch.randint(1, 8, (32,), generator=chance)] = 5 + labels
        ids[:8, 7] = torch.where(ids[:8, 7] > 9, PAD, ids[:8, 7])  # some are shorter
        logits = model(ids)
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(logits, labels).backward()
        optimizer.step()
        if update >= 140:
            right += (logits.argmax(-1) == labels).float().mean().item() / 10
    assert right > 0.9


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (config.ConvolutionalEncoder(kernel=4), "model.kernel = 4 must be odd"),
        (config.RecurrentAttentionEncoder(width=15), "model.width = 15 must be even"),
    ],
)
def test_what_is_impossible(settings: config.ClassifierModel, message: str) -> None:
    assert [each for each in settings.impossible() if message in each]
