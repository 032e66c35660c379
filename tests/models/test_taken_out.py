"""What a part is for shows when it is gone: the laws of Transformers that lack one."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from regard import config
from regard.attention import record
from regard.attention.changes import changed
from regard.models.classifier import TextClassifier
from regard.models.layers import EncoderLayer
from regard.tasks.registry import build, count_parameters
from tests.models.small import assert_same, ragged, small_model

ORDER = torch.tensor([4, 2, 6, 0, 1, 5, 3])


def encoder_alone(**changes: Any) -> TextClassifier:
    torch.manual_seed(0)
    shape = dict(width=16, feed_forward=24, heads=4, layers=2, max_positions=40, dropout=0.0)
    made: TextClassifier = build(config.TextEncoder(**{**shape, **changes}), 31, 3).double().eval()
    return made


@pytest.mark.parametrize("norm", ["post", "pre", "none"])
@pytest.mark.parametrize("residual", [True, False])
def test_without_positions_the_encoder_sees_a_set(norm: str, residual: bool) -> None:
    source = ragged([7, 7], seed=5)
    blind = small_model(positions="none", norm=norm, residual=residual)
    assert_same(blind.encode(source[:, ORDER])[0], blind.encode(source)[0][:, ORDER])
    if residual:
        seeing = small_model(norm=norm)
        assert (seeing.encode(source[:, ORDER])[0] - seeing.encode(source)[0][:, ORDER]).abs().amax() > 0.1


@pytest.mark.parametrize("pooling", ["max", "mean"])
def test_without_positions_a_text_is_a_bag_of_words(pooling: str) -> None:
    ids = ragged([7, 7], seed=5)
    blind, seeing = (encoder_alone(pooling=pooling, positions=kind) for kind in ("none", "sinusoidal"))
    assert_same(blind(ids[:, ORDER]), blind(ids))
    assert (seeing(ids[:, ORDER]) - seeing(ids)).abs().amax() > 1e-3


def test_without_feed_forward_hard_attention_hands_values_on() -> None:
    """One layer, nothing added, nothing normalised: what comes out of a head is the value of one token."""
    made = encoder_alone(layers=1, feed_forward=0, norm="none", residual=False, bias=False)
    ids = ragged([7, 7], seed=5)
    with changed(made, hard=True), record(made) as seen:
        states = made.encode(ids)
    found = seen["layers.0.self_attention"]
    assert (found["weights"].amax(-1) == 1).all()
    assert_same(found["weights"].sum(-1), torch.ones(2, 4, 7).double())
    chosen = found["weights"].argmax(-1)  # [S, H, T]
    values = found["value"].gather(2, chosen[..., None].expand(-1, -1, -1, 4))
    assert torch.equal(found["head_outputs"], values)
    assert_same(states, made.layers[0].self_attention.output(values.transpose(1, 2).flatten(2)).flatten(0, 1))


def test_soft_attention_alone_stays_among_its_values() -> None:
    made = encoder_alone(layers=1, feed_forward=0, norm="none", residual=False)
    with record(made) as seen:
        made.encode(ragged([7, 7], seed=5))
    value, mixed = (seen["layers.0.self_attention"][name] for name in ("value", "head_outputs"))
    assert (mixed <= value.amax(2, keepdim=True) + 1e-12).all()
    assert (mixed >= value.amin(2, keepdim=True) - 1e-12).all()


@pytest.mark.parametrize("positions", ["sinusoidal", "none"])
def test_the_number_of_parameters_does_not_depend_on_the_length(positions: str) -> None:
    for kind, sizes in ((config.Transformer, (50, 50)), (config.TextEncoder, (50, 2)), (config.TextDecoder, (50,))):
        counts = {
            count_parameters(
                kind(width=16, heads=2, feed_forward=8, max_positions=longest, positions=positions), *sizes
            )
            for longest in (4, 64, 4_096)
        }
        assert len(counts) == 1


def parameters(**changes: Any) -> int:
    shape: dict[str, Any] = dict(width=16, feed_forward=24, heads=4, encoder_layers=2, decoder_layers=3)
    return count_parameters(config.Transformer(**{**shape, **changes}), 31, 31)


def test_what_is_taken_out_is_not_there() -> None:
    whole, layers, sublayers = parameters(), 2 + 3, 2 * 2 + 3 * 3
    assert whole - parameters(norm="none") == 2 * 16 * sublayers
    assert whole - parameters(feed_forward=0) == layers * (2 * 16 * 24 + 24 + 16 + 2 * 16)  # with its norm
    biases = (2 + 2 * 3) * 4 * 16 + layers * (24 + 16)
    assert whole - parameters(bias=False) == biases
    assert whole == parameters(residual=False) == parameters(scale=False) == parameters(positions="none")
    assert whole == parameters(activation="gelu") == parameters(norm_epsilon=0.1)


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({}, lambda layer, x, o: torch.nn.functional.layer_norm(x + o, (16,))),
        ({"norm": "pre"}, lambda layer, x, o: x + o),
        ({"norm": "none"}, lambda layer, x, o: x + o),
        ({"residual": False}, lambda layer, x, o: torch.nn.functional.layer_norm(o, (16,))),
        ({"residual": False, "norm": "none"}, lambda layer, x, o: o),
        ({"norm_epsilon": 0.5}, lambda layer, x, o: torch.nn.functional.layer_norm(x + o, (16,), eps=0.5)),
    ],
    ids=["post", "pre", "no norm", "no residual", "neither", "epsilon"],
)
def test_add_and_norm_are_as_told(changes: dict[str, Any], wanted: Any) -> None:
    layer = EncoderLayer(config.TextEncoder(width=16, feed_forward=0, heads=2, **changes)).eval()
    x = torch.randn(2, 5, 16)
    looked = layer.after_self.norm(x) if changes.get("norm") == "pre" else x
    torch.testing.assert_close(layer(x, None), wanted(layer, x, layer.self_attention(looked)))


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("relu", lambda x: x.clamp(min=0)),
        ("gelu", lambda x: x * 0.5 * (1 + torch.erf(x / 2**0.5))),
        ("swish", lambda x: x / (1 + (-x).exp())),
    ],
)
def test_the_activation_is_what_it_is_called(name: str, function: Any) -> None:
    network = small_model(activation=name, norm="pre").encoder[0].feed_forward
    x = torch.randn(2, 3, 16).double()

    def of(x: Tensor) -> Tensor:
        return network.narrow(function(network.widen(x)))  # type: ignore[no-any-return]

    assert_same(network(x), of(x))
    assert torch.autograd.gradcheck(network, (x.requires_grad_(),))
