"""The laws of picture models: patches are the picture, places matter only through positions, attention is recorded."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from regard import config
from regard.attention.multi_head import LONG, SelfAttention
from regard.attention.record import record
from regard.config import PictureTraining
from regard.models.vit import CompactTransformer, PictureClassifier, VisionTransformer
from regard.tasks.image_classification.augmentation import augment, erase, move

SHAPE: dict[str, Any] = dict(width=16, feed_forward=32, heads=2, layers=3, dropout=0.0)
KINDS = ["vit", "cct"]


def made(kind: str, **more: Any) -> PictureClassifier:
    torch.manual_seed(1)
    if kind == "vit":
        return VisionTransformer(config.VisionTransformer(patch=3, **{**SHAPE, **more}), 3, 12, 5).double().eval()
    return CompactTransformer(config.CompactTransformer(stem=(4,), **{**SHAPE, **more}), 3, 12, 5).double().eval()


def pictures(count: int = 4) -> torch.Tensor:
    return torch.randn(count, 3, 12, 12, dtype=torch.float64, generator=torch.Generator().manual_seed(2))


@pytest.mark.parametrize("kind", KINDS)
def test_fast_is_plain(kind: str) -> None:
    model = made(kind)
    with record(model) as seen, torch.no_grad():
        plain = model(pictures())
    assert torch.allclose(plain, model(pictures()), atol=1e-10)
    tokens = model.extra + model.grid**2
    for name in model.attention_names()["encoder"]:
        assert seen[name]["weights"].shape == (4, 2, tokens, tokens)
        assert torch.allclose(seen[name]["weights"].sum(-1), torch.ones(1, dtype=torch.float64))


def test_patches_are_the_picture() -> None:
    """Row after row of patches, each channel after channel: a convolution with that stride says the same."""
    model = made("vit")
    assert isinstance(model, VisionTransformer)
    weight = model.patch_embedding.weight.reshape(16, 3, 3, 3)
    as_convolution = torch.nn.functional.conv2d(pictures(), weight, model.patch_embedding.bias, stride=3)
    embedded = model.patch_embedding(model.patches(pictures()))
    assert torch.allclose(embedded, as_convolution.flatten(2).transpose(1, 2))


def test_without_positions_patches_are_a_set() -> None:
    """Patches in another order get the same label, unless positions tell where they are."""
    turned = pictures().reshape(4, 3, 4, 3, 12).flip(2).reshape(4, 3, 12, 12)  # rows of patches, upside down
    without, with_them = made("vit", positions="none"), made("vit")
    assert torch.allclose(without(pictures()), without(turned))
    assert not torch.allclose(with_them(pictures()), with_them(turned))


@pytest.mark.parametrize("kind", KINDS)
def test_stochastic_depth_keeps_the_mean_and_is_of_training_only(kind: str) -> None:
    model = made(kind, stochastic_depth=0.5)
    plain = made(kind)
    assert torch.equal(model(pictures()), plain(pictures()))
    layer = model.layers[-1].after_feed_forward
    x = torch.zeros(20_000, 1, 16, dtype=torch.float64)
    layer.train()
    torch.manual_seed(3)
    found = layer(x, lambda rows: torch.ones_like(rows))
    assert set(found[:, 0, 0].tolist()) == {0.0, 2.0}
    assert abs(found.mean().item() - 1) < 0.05
    assert model.layers[0].after_self.skipped == 0


@pytest.mark.parametrize("kind", KINDS)
def test_all_rows_skipped(kind: str) -> None:
    model = made(kind, stochastic_depth=0.99).train()
    torch.manual_seed(1)
    model(pictures(1)).sum().backward()
    assert all(torch.isfinite(each.grad).all() for each in model.parameters() if each.grad is not None)


def test_sequence_pooling_is_a_mean() -> None:
    model = made("cct")
    with record(model) as seen:
        model(pictures())
    assert torch.allclose(seen["model"]["pooling"].sum(1), torch.ones(4, dtype=torch.float64))


def test_augmentation_moves_bytes_and_makes_none() -> None:
    pixels = torch.randint(1, 256, (50, 8, 8, 3), dtype=torch.uint8, generator=torch.Generator().manual_seed(1))
    torch.manual_seed(1)
    moved = move(pixels, 2, flip=True)
    for before, after in zip(pixels, moved, strict=True):
        candidates = []
        for mirrored in (before, before.flip(1)):
            padded = torch.nn.functional.pad(mirrored, (0, 0, 2, 2, 2, 2))
            candidates += [padded[top : top + 8, left : left + 8] for top in range(5) for left in range(5)]
        assert any(torch.equal(after, each) for each in candidates)
    assert torch.equal(move(pixels, 0, flip=False), pixels)


def test_erasing_hides_one_rectangle_of_the_stated_share() -> None:
    black = torch.zeros(400, 20, 20, 1, dtype=torch.uint8)
    torch.manual_seed(1)
    hidden = erase(black, 0.5)[..., 0] != 0
    touched = hidden.flatten(1).any(1)
    assert 0.4 < touched.float().mean() < 0.6
    for each in hidden[touched]:
        rows, columns = each.any(1).nonzero(), each.any(0).nonzero()
        area = (rows.max() - rows.min() + 1) * (columns.max() - columns.min() + 1)
        assert area <= 0.45 * 400  # of 33 %, rounded to whole pixels
        assert each.sum() > 0.9 * area  # noise is 0 once in 256


def test_the_seed_decides() -> None:
    pixels = torch.randint(256, (8, 8, 8, 3), dtype=torch.uint8)
    settings = PictureTraining(crop=2, flip=True, erase=0.5)
    found = []
    for _ in range(2):
        torch.manual_seed(5)
        found.append(augment(pixels, settings))
    assert torch.equal(*found)


@pytest.mark.parametrize(
    "settings",
    [{}, {"norm": "post"}, {"bias": False}, {"value_width": 7, "key_width": 5}, {"residual": False}, {"layers": 1}],
)
def test_the_last_layer_of_a_training_asks_only_what_is_labelled(settings: dict[str, Any]) -> None:
    """And comes to the same logits and gradients as one that asks for all."""
    given = {"width": 16, "feed_forward": 24, "heads": 2, "layers": 2, "patch": 4, "dropout": 0.0, **settings}
    torch.manual_seed(1)
    model = VisionTransformer(config.VisionTransformer(**given), 1, 24, 3).double()
    noise = torch.randn(4, 1, 24, 24, dtype=torch.float64)
    answers, gradients = [], []
    for training in (True, False):
        model.train(training)
        model.zero_grad()
        logits = model(noise)
        logits.square().sum().backward()
        answers.append(logits.detach())
        gradients.append([each.grad.clone() for each in model.parameters() if each.grad is not None])
    assert model.train().encode(model.embed(noise)).shape == (4, 1, 16)
    torch.testing.assert_close(answers[0], answers[1])
    assert len(gradients[0]) == len(list(model.parameters()))
    torch.testing.assert_close(gradients[0], gradients[1])


def test_the_fused_kernel_of_long_rows_is_the_same_attention() -> None:
    torch.manual_seed(1)
    attention = SelfAttention(16, 2).double()
    x = torch.randn(3, LONG + 4, 16, dtype=torch.float64, requires_grad=True)
    found = []
    for training in (True, False):
        (gradient,) = torch.autograd.grad(attention.train(training)(x).square().sum(), x)
        found.append(gradient)
    torch.testing.assert_close(found[0], found[1])
