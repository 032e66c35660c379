"""`record` shows every named tensor of every layer, on demand, and changes nothing."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from regard import config
from regard.attention.record import Observed, record
from regard.decoding.options import Search, SpecialTokens
from regard.decoding.search import search
from regard.models.encoder_decoder import EncoderDecoder as Model
from regard.tasks.registry import build

S, K, T, D, H, V, LAYERS = 2, 6, 5, 16, 4, 23, 2
ATTENTION = {
    "projected_query", "projected_key", "projected_value", "query", "key", "value", "scores", "weights",
    "head_outputs", "rearranged", "merged", "output",
}  # fmt: skip


@pytest.fixture
def model() -> Model:
    torch.manual_seed(0)
    settings = config.Transformer(
        width=D, feed_forward=32, heads=H, encoder_layers=LAYERS, decoder_layers=LAYERS, max_positions=64
    )
    return build(settings, V, V).eval()


def ids() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    source = torch.randint(4, V, (S, K), generator=generator)
    source[1, 4:] = 0
    return source, torch.randint(4, V, (S, T), generator=generator)


def names() -> dict[str, set[str]]:
    expected = {"model": {"memory", "states", "logits"}}
    for side in ("source", "target"):
        expected[f"{side}_embedding"] = {"vectors", "positions", "output"}
    for layer in range(LAYERS):
        for kind, looks in (("encoder", ["self"]), ("decoder", ["self", "cross"])):
            for look in looks:
                expected[f"{kind}.{layer}.{look}_attention"] = ATTENTION
                expected[f"{kind}.{layer}.after_{look}"] = {"added", "normed", "output"}
            expected[f"{kind}.{layer}.feed_forward"] = {"hidden", "output"}
            expected[f"{kind}.{layer}.after_feed_forward"] = {"added", "normed", "output"}
    return expected


def test_every_tensor_of_a_transformer_has_a_name(model: Model) -> None:
    with record(model) as seen:
        model.project(model(*ids()))
    assert {module: set(tensors) for module, tensors in seen.items()} == names()
    assert len(seen) == len(names())


@pytest.mark.parametrize(
    ("name", "queries", "keys"),
    [("encoder.1.self_attention", K, K), ("decoder.0.self_attention", T, T), ("decoder.1.cross_attention", T, K)],
)
def test_attention_from_projection_to_output(model: Model, name: str, queries: int, keys: int) -> None:
    """Shapes, and each tensor follows from those before it."""
    with record(model) as seen:
        model(*ids())
    found, width = seen[name], D // H
    query, key, value = found["query"], found["key"], found["value"]
    assert query.shape == (S, H, queries, width)
    assert key.shape == value.shape == (S, H, keys, width)
    assert found["scores"].shape == found["weights"].shape == (S, H, queries, keys)
    assert found["merged"].shape == found["output"].shape == (S, queries, D)
    torch.testing.assert_close(found["scores"], query @ key.transpose(-2, -1) / width**0.5)
    torch.testing.assert_close(found["weights"].sum(-1), torch.ones(S, H, queries))
    torch.testing.assert_close(found["head_outputs"], found["weights"] @ value)
    torch.testing.assert_close(found["merged"], torch.cat(found["head_outputs"].unbind(1), -1))
    torch.testing.assert_close(found["output"], model.get_submodule(name).output(found["merged"]))


def test_hidden_keys_have_scores_but_no_weight(model: Model) -> None:
    with record(model) as seen:
        model(*ids())
    cross, back = seen["decoder.0.cross_attention"], seen["decoder.0.self_attention"]
    assert (cross["weights"][1, :, :, 4:] == 0).all()
    assert (back["weights"].triu(1) == 0).all()
    assert cross["scores"].isfinite().all()


def test_recording_changes_no_output_and_no_gradient(model: Model) -> None:
    def run() -> tuple[Tensor, list[Tensor]]:
        states = model(*ids())
        states.square().sum().backward()
        gradients = [parameter.grad.clone() for parameter in model.parameters() if parameter.grad is not None]
        model.zero_grad()
        return states.detach(), gradients

    plain, gradients = run()
    with record(model):
        recorded, same = run()
    torch.testing.assert_close(recorded, plain, atol=1e-6, rtol=0)
    torch.testing.assert_close(same, gradients, atol=1e-5, rtol=1e-5)


def test_nothing_is_kept_outside(model: Model) -> None:
    with record(model) as seen:
        pass
    model(*ids())
    assert not seen
    assert all(not module.recording for module in model.modules() if isinstance(module, Observed))
    with pytest.raises(KeyError, match=r"nothing was recorded of 'encoder\.0\.self_attention'"):
        seen["encoder.0.self_attention"]


def test_what_was_seen_stays_and_holds_no_graph(model: Model) -> None:
    with record(model) as seen:
        model(*ids())
    before = seen["encoder.0.self_attention"]["weights"].clone()
    source, target = ids()
    model(source.flip(1), target)
    assert torch.equal(seen["encoder.0.self_attention"]["weights"], before)
    assert not any(tensor.requires_grad for tensors in seen.values() for tensor in tensors.values())


def test_an_exception_ends_the_recording(model: Model) -> None:
    with pytest.raises(IndexError), record(model) as seen:
        model(ids()[0], torch.tensor([[V]]))  # the target's id does not exist
    assert seen["encoder.0.self_attention"]["output"].shape == (S, K, D)
    assert "decoder.0.self_attention" not in seen
    assert not any(module.recording for module in model.modules() if isinstance(module, Observed))


def test_a_record_inside_another_gives_back_to_it(model: Model) -> None:
    source, target = ids()
    with record(model) as outer:
        model(source, target)
        with record(model.encoder[0]) as inner:
            model.encode(source)
        model(source, target[:, :3])
    assert len(inner.calls("self_attention")) == 1
    assert outer["decoder.0.self_attention"]["query"].size(2) == 3
    assert len(outer.calls("encoder.0.self_attention")) == len(outer.calls("decoder.0.self_attention")) == 2
    assert not any(module.recording for module in model.modules() if isinstance(module, Observed))


def test_each_call_has_its_own_tensors(model: Model) -> None:
    """Decoding step by step: what a step saw is what it was then, whatever the search does with it later."""
    source, _ = ids()
    special = SpecialTokens(start=1, end=2, pad=0)
    with record(model) as seen:
        ((best,), _) = search(model, source, torch.tensor([4, 4]), Search(beam=1, length_penalty="none"), special)
    steps = seen.calls("decoder.1.self_attention")
    assert [step["weights"].shape[2:] for step in steps] == [(1, t + 1) for t in range(len(steps))]
    assert seen["decoder.1.self_attention"] is steps[-1]
    logits = [step["logits"] for step in seen.calls("model")]
    assert all(each.isfinite().all() for each in logits)
    chosen = [each[0].log_softmax(-1)[token].item() for each, token in zip(logits, best.tokens, strict=False)]
    assert list(best.token_log_probabilities[: len(chosen)]) == pytest.approx(chosen, abs=1e-5)
    assert len(seen.calls("encoder.0.self_attention")) == 1
