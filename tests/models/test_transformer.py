"""The paper's sizes, the switches, and layers that equal an independent implementation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from regard import config
from regard.attention.masks import causal_mask
from regard.attention.multi_head import SelfAttention
from regard.models.encoder_decoder import EncoderDecoder as Model
from regard.models.layers import DecoderLayer, EncoderLayer
from regard.tasks.registry import build
from tests.models.small import assert_same, ragged, small_model

WIDTH, HIDDEN, HEADS = 24, 40, 3
NORMS = pytest.mark.parametrize("norm", ["post", "pre"])


@pytest.mark.parametrize(
    ("size", "counted", "paper", "margin"), [("base", 63.08e6, 65e6, 0.04), ("big", 214.2e6, 213e6, 0.01)]
)
def test_as_many_parameters_as_the_paper(size: str, counted: float, paper: float, margin: float) -> None:
    """Table 3, with its 37,000 joint tokens."""
    settings = config.Transformer(size=size, **config.TASKS["translation"].architectures["transformer"].sizes[size])
    with torch.device("meta"):
        model = build(settings, 37_000, 37_000)
    count = sum(parameter.numel() for parameter in model.parameters())
    assert count == pytest.approx(counted, rel=1e-3)
    assert count == pytest.approx(paper, rel=margin)


def test_learned_positions_and_untied_matrices_cost_what_they_should() -> None:
    def count(**changes: Any) -> int:
        return sum(parameter.numel() for parameter in small_model(**changes).parameters())

    assert count(positions="learned") - count() == 2 * 40 * 16
    assert count(tied=False) - count() == 2 * 31 * 16
    assert count(norm="pre") - count() == 2 * 2 * 16  # the last norm of each stack


def test_tied_matrices_are_one_and_untied_are_three() -> None:
    def matrices(model: Model) -> set[int]:
        tables = (model.source_embedding.table, model.target_embedding.table, model.output)
        return {table.weight.data_ptr() for table in tables}

    assert len(matrices(small_model())) == 1
    assert len(matrices(small_model(tied=False))) == 3
    source = build(replace(config.Transformer(width=8, heads=2), tied=False), 30, 50)
    assert (source.source_embedding.table.num_embeddings, source.output.out_features) == (30, 50)


@pytest.mark.parametrize("width", [16, 256])
def test_embeddings_have_unit_variance_beside_their_positions(width: int) -> None:
    torch.manual_seed(0)
    model = build(config.Transformer(width=width, heads=4, encoder_layers=1, decoder_layers=1), 2_000, 2_000)
    embedding = model.eval().source_embedding
    vectors = embedding(torch.arange(1_000)[:, None]) - embedding.positions(torch.tensor([0]))
    assert vectors.std().item() == pytest.approx(1.0, abs=0.05)
    assert_same(
        embedding(torch.tensor([[5, 6]]), start=3)[0, 1],
        embedding.table.weight[6] * width**0.5 + embedding.positions(torch.tensor(4)),
    )


def test_the_seed_decides_the_weights() -> None:
    one, same, other = (dict(small_model(seed).named_parameters()) for seed in (1, 1, 2))
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert any(not torch.equal(one[name], other[name]) for name in one)


@NORMS
def test_states_are_normalised_at_the_end_of_both_kinds(norm: str) -> None:
    torch.manual_seed(0)
    model = build(config.Transformer(width=16, feed_forward=24, heads=4, norm=norm), 31, 31).eval()
    for states in (model(ragged([5, 5]), ragged([4, 4])), model.encode(ragged([5, 5]))[0]):
        assert states.mean(-1).abs().max() < 1e-5
        torch.testing.assert_close(states.var(-1, correction=0), torch.ones(states.shape[:-1]), atol=1e-3, rtol=0)


@NORMS
def test_dropout_acts_in_training_only(norm: str) -> None:
    model, source, target = small_model(norm=norm, dropout=0.3), ragged([5, 3]), ragged([4, 4])
    assert torch.equal(model(source, target), model(source, target))
    model.train()
    torch.manual_seed(1)
    first = model(source, target)
    assert not torch.equal(first, model(source, target))
    torch.manual_seed(1)
    assert torch.equal(first, model(source, target))


def settings(norm: str) -> config.Transformer:
    return config.Transformer(width=WIDTH, feed_forward=HIDDEN, heads=HEADS, dropout=0.0, norm=norm)


def copy_linear(ours: nn.Linear, theirs: nn.Linear) -> None:
    theirs.weight.copy_(ours.weight)
    theirs.bias.copy_(ours.bias)


def copy_feed_forward(ours: EncoderLayer | DecoderLayer, theirs: nn.Module) -> None:
    copy_linear(ours.feed_forward.widen, theirs.linear1)
    copy_linear(ours.feed_forward.narrow, theirs.linear2)


def copy_self_attention(ours: SelfAttention, theirs: nn.MultiheadAttention) -> None:
    theirs.in_proj_weight.copy_(ours.query_key_value.weight)
    theirs.in_proj_bias.copy_(ours.query_key_value.bias)
    copy_linear(ours.output, theirs.out_proj)


def shake(layer: nn.Module) -> None:
    """Give biases and norms values of their own."""
    for parameter in layer.parameters():
        if parameter.ndim == 1:
            nn.init.normal_(parameter, mean=parameter.mean().item(), std=0.3)


def drawn(seed: int, *shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def assert_equal_with_gradients(ours: Tensor, theirs: Tensor, inputs: list[Tensor], real: Tensor) -> None:
    """Outputs and the gradients of the inputs, at the positions that are not padding."""
    torch.testing.assert_close(ours[real], theirs[real], atol=1e-5, rtol=1e-5)
    pull = drawn(9, *ours.shape) * real[..., None]
    for one, other in zip(
        torch.autograd.grad(ours, inputs, pull), torch.autograd.grad(theirs, inputs, pull), strict=True
    ):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-4)


@NORMS
def test_the_encoder_layer_is_that_of_torch(norm: str) -> None:
    torch.manual_seed(0)
    ours = EncoderLayer(settings(norm))
    shake(ours)
    theirs = nn.TransformerEncoderLayer(WIDTH, HEADS, HIDDEN, 0.0, batch_first=True, norm_first=norm == "pre")
    with torch.no_grad():
        copy_self_attention(ours.self_attention, theirs.self_attn)
        copy_feed_forward(ours, theirs)
        theirs.norm1.load_state_dict(ours.after_self.norm.state_dict())
        theirs.norm2.load_state_dict(ours.after_feed_forward.norm.state_dict())
    x = drawn(1, 3, 7, WIDTH).requires_grad_()
    real = torch.arange(7) < torch.tensor([7, 2, 5])[:, None]
    expected = theirs(x, src_key_padding_mask=~real)
    assert_equal_with_gradients(ours(x, real[:, None, None]), expected, [x], real)


@NORMS
def test_the_decoder_layer_is_that_of_torch(norm: str) -> None:
    torch.manual_seed(0)
    ours = DecoderLayer(settings(norm))
    shake(ours)
    theirs = nn.TransformerDecoderLayer(WIDTH, HEADS, HIDDEN, 0.0, batch_first=True, norm_first=norm == "pre")
    with torch.no_grad():
        copy_self_attention(ours.self_attention, theirs.self_attn)
        cross, mine = theirs.multihead_attn, ours.cross_attention
        cross.in_proj_weight.copy_(torch.cat([mine.query.weight, mine.key_value.weight]))
        cross.in_proj_bias.copy_(torch.cat([mine.query.bias, mine.key_value.bias]))
        copy_linear(mine.output, cross.out_proj)
        copy_feed_forward(ours, theirs)
        for residual, their_norm in (
            (ours.after_self, theirs.norm1),
            (ours.after_cross, theirs.norm2),
            (ours.after_feed_forward, theirs.norm3),
        ):
            their_norm.load_state_dict(residual.norm.state_dict())
    x, memory = drawn(1, 3, 5, WIDTH).requires_grad_(), drawn(2, 3, 7, WIDTH).requires_grad_()
    real = torch.arange(7) < torch.tensor([7, 2, 5])[:, None]
    expected = theirs(x, memory, tgt_mask=~causal_mask(5), memory_key_padding_mask=~real)
    found = ours(x, memory, causal_mask(5), real[:, None, None])
    assert_equal_with_gradients(found, expected, [x, memory], torch.ones(3, 5, dtype=torch.bool))
