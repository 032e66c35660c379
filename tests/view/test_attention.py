"""A reader can check a page: from the numbers it carries, each follows from those before it."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

import regard
from regard import config
from regard.data.tokenizer import Tokenizer
from regard.decoding.options import Engine
from regard.errors import UsageError
from regard.models.int8 import in_int8
from regard.models.shortlist import Lexicon, Shortlists
from regard.tasks.registry import build
from regard.tasks.translation.attention import Attention
from regard.tasks.translation.native import Native
from regard.tasks.translation.translator import Translator
from regard.tasks.translation.workers import WorkerPool
from regard.view import scenes as module
from regard.view.arrays import unpack
from tests.conftest import made_up_sentences
from tests.tasks.second import Second
from tests.view.pages import SOURCE, TARGET, at_random, seen

Scene = dict[str, Any]
ROUGH = {"rtol": 4e-3, "atol": 4e-3}  # sums of numbers in half precision


@pytest.fixture(scope="module")
def other_norm(tiny_recipe: config.TranslationRecipe, tiny_tokenizer: Tokenizer) -> Translator:
    """Untrained, with the normalisation that the trained tiny model does not have, and learned positions."""
    other = "pre" if tiny_recipe.model.norm == "post" else "post"
    recipe = replace(tiny_recipe, model=replace(tiny_recipe.model, norm=other, positions="learned", encoder_layers=1))
    torch.manual_seed(3)
    return Translator(
        build(recipe.model, tiny_tokenizer.size("source"), tiny_tokenizer.size("target")), tiny_tokenizer, recipe
    )


@pytest.fixture(scope="module", params=["tiny", "other norm", "demo"])
def looked(request: pytest.FixtureRequest, tiny_translator: Translator, other_norm: Translator) -> Attention:
    if request.param == "demo":
        return regard.load("demo").attention("Ich habe gestern ein interessantes Buch gelesen.")
    return {"tiny": tiny_translator, "other norm": other_norm}[request.param].attention(made_up_sentences(1, 2)[1])


@pytest.fixture(scope="module")
def scene(looked: Attention) -> Scene:
    """As a page carries it."""
    stored: Scene = json.loads(json.dumps(looked.to_dict(), allow_nan=False))
    return stored


def walked(scene: Scene, name: str) -> dict[str, NDArray[np.float64]]:
    return {each: unpack(packed) for each, packed in scene["walk"][name].items()}


def attentions(scene: Scene) -> list[tuple[str, int, str]]:
    return [(kind, layer, name) for kind, of in scene["attention"].items() for layer, name in enumerate(of["names"])]


def softmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return np.asarray(powers / powers.sum(-1, keepdims=True))


def normalised(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Before the layer's own scale and shift."""
    return np.asarray((x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True))


def test_both_norms_are_looked_at(tiny_translator: Translator, other_norm: Translator) -> None:
    assert {tiny_translator.recipe.model.norm, other_norm.recipe.model.norm} == {"pre", "post"}


def test_every_layer_and_head_is_there(scene: Scene) -> None:
    shape, tokens = scene["shape"], {side: len(scene[side]["tokens"]) for side in ("source", "target", "read")}
    sizes = {
        "cross": (shape["decoder_layers"], shape["heads"], tokens["target"], tokens["source"]),
        "encoder": (shape["encoder_layers"], shape["heads"], tokens["source"], tokens["source"]),
        "decoder": (shape["decoder_layers"], shape["heads"], tokens["target"], tokens["read"]),
    }
    for kind, of in scene["attention"].items():
        weights = unpack(of["weights"])
        assert weights.shape == sizes.pop(kind)
        assert len(of["names"]) == len(weights)
        np.testing.assert_allclose(weights.sum(-1), 1.0, atol=1e-3)
    assert not sizes


def test_weights_are_the_softmax_of_the_scores_that_are_not_masked(scene: Scene) -> None:
    for kind, layer, name in attentions(scene):
        scores = walked(scene, name)["scores"]  # [H, Q, K]
        if kind == "decoder":
            scores = np.where(np.tri(*scores.shape[1:], dtype=bool), scores, -np.inf)
        weights = unpack(scene["attention"][kind]["weights"])[layer]
        np.testing.assert_allclose(softmax(scores), weights, rtol=0, atol=2e-3)


def test_scores_are_products_of_queries_and_keys(scene: Scene) -> None:
    for _, _, name in attentions(scene):
        found = walked(scene, name)
        scores = found["query"] @ found["key"].swapaxes(-1, -2) / found["query"].shape[-1] ** 0.5
        np.testing.assert_allclose(scores, found["scores"], rtol=4e-3, atol=2e-2)


def test_heads_give_weighted_sums_of_values(scene: Scene) -> None:
    for kind, layer, name in attentions(scene):
        found = walked(scene, name)
        weights = unpack(scene["attention"][kind]["weights"])[layer]
        np.testing.assert_allclose(weights @ found["value"], found["head_outputs"], **ROUGH)


def test_embeddings_are_vectors_plus_positions(scene: Scene) -> None:
    for side in ("source", "target"):
        found = walked(scene, f"{side}_embedding")
        length = len(scene["source" if side == "source" else "read"]["tokens"])
        assert found["vectors"].shape == (length, scene["shape"]["width"])
        np.testing.assert_allclose(found["vectors"] + found["positions"], found["output"], **ROUGH)
    table = unpack(scene["positions"])
    positions = walked(scene, "source_embedding")["positions"]
    np.testing.assert_array_equal(table[: len(positions)], positions)
    assert len(table) >= max(len(scene["source"]["tokens"]), len(scene["target"]["tokens"]))


def test_the_stream_goes_from_layer_to_layer(scene: Scene) -> None:
    """Add & norm: what goes in plus what the sub-layer gives; normed before the sub-layer, or after the sum."""
    for side, stack, parts in (
        ("source", "encoder", ("self_attention", "feed_forward")),
        ("target", "decoder", ("self_attention", "cross_attention", "feed_forward")),
    ):
        x = walked(scene, f"{side}_embedding")["output"]
        for layer in range(scene["shape"][f"{stack}_layers"]):
            for part in parts:
                residual = walked(scene, f"{stack}.{layer}.after_{part.removesuffix('_attention')}")
                added = x + walked(scene, f"{stack}.{layer}.{part}")["output"]
                np.testing.assert_allclose(added, residual["added"], rtol=4e-3, atol=2e-2)
                pre = scene["shape"]["norm"] == "pre"
                follows(normalised(x if pre else residual["added"]), residual["normed"])
                x = residual["added"] if pre else residual["normed"]
    if scene["shape"]["norm"] == "pre":
        follows(normalised(x), walked(scene, "model")["states"])
    else:
        np.testing.assert_array_equal(x, walked(scene, "model")["states"])


def follows(plain: NDArray[np.float64], given: NDArray[np.float64]) -> None:
    """Column by column one is the other times a scale plus a shift, which a page does not carry."""
    for column in range(plain.shape[1]):
        line = np.polyfit(plain[:, column], given[:, column], 1)
        np.testing.assert_allclose(np.polyval(line, plain[:, column]), given[:, column], rtol=0, atol=2e-2)


def test_the_probabilities_are_those_of_the_logits(scene: Scene, looked: Attention) -> None:
    assert len(scene["alternatives"]) == len(scene["target"]["tokens"])
    whole = looked.record["model"]["logits"][0].double().softmax(-1)
    for place, (each, token) in enumerate(zip(scene["alternatives"], scene["target"]["tokens"], strict=True)):
        logits, shares = np.array(each["logits"]), np.array(each["probabilities"])
        assert len(logits) == len(shares) == len(each["tokens"]) == 10
        assert list(shares) == sorted(shares, reverse=True)
        np.testing.assert_allclose(softmax(logits), shares / shares.sum(), atol=1e-5)
        np.testing.assert_allclose(shares, whole[place].topk(10).values, atol=1e-5)
        assert each["probability"] <= shares[0]
        if each["rank"] <= 10:
            assert each["tokens"][each["rank"] - 1] == token
            assert each["probability"] == pytest.approx(shares[each["rank"] - 1])
        else:
            assert each["probability"] <= shares[-1]
            assert token not in each["tokens"]


def check_steps(scene: Scene) -> None:
    """Each path adds one token and its log-probability to its parent; the best that finished is the translation."""
    before, finished = [{"total": 0.0, "text": ""}], []
    for step in scene["steps"]:
        for path in [*step["kept"], *step["finished"]]:
            parent = before[path["parent"]]
            assert path["total"] == pytest.approx(parent["total"] + path["log_probability"], abs=1e-4)
            # A token may end in the middle of a character that is spelled in bytes, which shows as "�" until it is whole.
            assert path["text"].startswith(str(parent["text"]).rstrip("�"))
        finished += step["finished"]
        before = step["kept"]
    assert scene["target"]["text"] == max(finished, key=lambda path: path["score"])["text"]


def test_the_steps_lead_to_the_translation(scene: Scene) -> None:
    check_steps(scene)


@pytest.mark.parametrize(
    "options", [{"beam": 1}, {"beam": 2, "nbest": 2}, {"beam": 8}, {"sample": True}, {"sample": True, "nbest": 3}, {"prefix": "Tuto ba"},
                {"max_ratio": 0.0, "max_extra": 3}],
    ids=str,
)  # fmt: skip
def test_the_steps_of_other_searches(tiny_translator: Translator, options: dict[str, Any]) -> None:
    for line in made_up_sentences(3, 4):
        found = tiny_translator.attention(line, **options)
        check_steps(found.to_dict())
        assert found.translation == tiny_translator.translate(line, **options).text
        assert found.beside is None
        if options.get("beam") == 1 or (options.get("sample") and "nbest" not in options):
            path = [(step.kept or step.finished)[0] for step in found.steps]
            assert [each.token for each in path] == found.target_tokens
        if options.get("beam") == 1:  # the pass that is shown gives what the search saw, step by step
            shares = [each.probability for each in found.alternatives]
            np.testing.assert_allclose(np.exp([each.log_probability for each in path]), shares, atol=1e-4)
        if "prefix" in options:
            assert found.translation.startswith("Tuto ba")


def engine_of(given: Translator, name: str) -> Engine:
    """One that writes other texts than the plain native one does, now and then; 8 bits are made of 32, not of 64."""
    single = copy.deepcopy(given.model).float() if "int8" in name else given.model
    size, weight = given.tokenizer.size("target"), given.model.output.weight.detach()
    table = 260 + (torch.arange(size)[:, None] * 7 + torch.arange(3)) % (size - 260)
    shortlists = Shortlists(Lexicon(table, torch.arange(280, 283)), weight.to(single.output.weight.dtype))
    made: dict[str, Callable[[], Engine]] = {
        "shortlist": lambda: Native(given.model, shortlists),
        "int8": lambda: Native(in_int8(single)),
        "int8, shortlist": lambda: Native(in_int8(single), shortlists),
        "processes": lambda: WorkerPool(Native(given.model, shortlists), 2),
        "another program": lambda: Second(Native(given.model)),
    }
    return made[name]()


@pytest.mark.parametrize("name", ["shortlist", "int8", "int8, shortlist", "processes", "another program"])
def test_attention_is_that_of_the_translation_which_the_engine_writes(tiny_translator: Translator, name: str) -> None:
    given = tiny_translator
    other = Translator(given.model, given.tokenizer, given.recipe, {}, engine_of(given, name))
    differing = 0
    for line in made_up_sentences(1, 6):
        wanted, plain = other.translate(line, beam=2), given.translate(line, beam=2)
        found = other.attention(line, beam=2)
        assert found.translation == wanted.text
        assert found.target_tokens == [*wanted.tokens, *["</s>"] * (wanted.finish_reason == "end")]
        for kind in found.kinds:
            np.testing.assert_allclose(found.weights[kind].sum(-1), 1.0, atol=1e-5)
        if name == "another program":
            assert found.beside == plain.text != found.translation
            scored = [each.probability for each in found.alternatives]
            np.testing.assert_allclose(scored, np.exp(wanted.token_log_probabilities), atol=1e-4)
            check_steps({**found.to_dict(), "target": {"text": found.beside}})
        else:
            assert found.beside is None
            check_steps(found.to_dict())
        differing += wanted.text != plain.text
    assert differing or name == "int8"


def test_changes_show(tiny_translator: Translator) -> None:
    line = made_up_sentences(1, 1)[0]
    plain = tiny_translator.attention(line)
    with tiny_translator.changed(off={"decoder.1.cross_attention": [2]}):
        found = tiny_translator.attention(line).to_dict()
    heads = walked(found, "decoder.1.cross_attention")["head_outputs"]  # [H, Q, E]
    assert [bool(head.any()) for head in heads] == [True, True, False, True]
    check_steps(found)
    with tiny_translator.changed(hard=True):
        hard = tiny_translator.attention(line)
    assert set(np.unique(np.concatenate([each.ravel() for each in hard.weights.values()]))) == {0.0, 1.0}
    np.testing.assert_array_equal(tiny_translator.attention(line).weights["cross"], plain.weights["cross"])


def test_a_walk_that_would_be_too_large_is_left_out(looked: Attention, monkeypatch: pytest.MonkeyPatch) -> None:
    walk = looked.walk()
    assert walk is not None
    numbers = sum(int(np.prod(packed["shape"])) for names in walk.values() for packed in names.values())
    monkeypatch.setattr(module, "MOST_WALKED", numbers)
    assert [scene["walk"] for scene in module.scenes_of([looked])] == [walk]
    monkeypatch.setattr(module, "MOST_WALKED", numbers - 1)
    assert [scene["walk"] for scene in module.scenes_of([looked])] == [None]


def test_a_scene_without_the_walk(looked: Attention) -> None:
    whole, without = looked.to_dict(), looked.to_dict(walk=False)
    assert without.pop("walk") is None
    assert whole.pop("walk") is not None
    assert without.pop("matrices") == {}
    assert (whole.pop("matrices") != {}) == bool(whole["stacks"])
    assert without == whole


def test_attention_that_nobody_recorded_has_a_scene() -> None:
    scene = seen().to_dict()
    json.dumps(scene, allow_nan=False)
    assert scene["walk"] is scene["positions"] is None
    assert scene["alternatives"] == scene["steps"] == []
    np.testing.assert_allclose(unpack(scene["attention"]["cross"]["weights"]), seen().weights["cross"], atol=1e-5)


def test_each_side_has_its_tokens_and_words(scene: Scene) -> None:
    assert scene["read"]["tokens"] == ["<s>", *scene["target"]["tokens"][:-1]]
    for side in ("source", "target", "read"):
        words, tokens = scene[side]["words"], scene[side]["tokens"]
        assert [0, *(word["end"] for word in words)] == [*(word["first"] for word in words), len(tokens)]
    for side in ("source", "target"):
        read = "".join(word["text"] for word in scene[side]["words"] if word["text"] != "</s>")
        assert read == scene[side]["text"].replace(" ", "")


@pytest.mark.parametrize("kind", ["cross", "encoder", "decoder"])
def test_words_are_merged_tokens_of_one_layer(kind: str) -> None:
    given = seen()
    found = given.words(kind, 0)
    words = {"cross": (4, 5), "encoder": (5, 5), "decoder": (4, 4)}  # "renn" + "t" and "run" + "s" are one word each
    assert found.shape == words[kind]
    np.testing.assert_allclose(found.sum(-1), 1.0)
    np.testing.assert_allclose(found[0, 0], given.weights[kind][0, :, 0, 0].mean())


def unseen(given: Attention) -> list[list[int]]:
    return [warning["words"] for warning in given.warnings() if warning["kind"] == "unseen"]


def test_source_words_that_nobody_looked_at_are_reported() -> None:
    weights = np.zeros((2, 2, len(TARGET), len(SOURCE)))
    weights[..., 0] = 1.0
    assert unseen(seen(weights={"cross": weights})) == [[1, 2]]  # "dog", "runs"; not "." nor the end
    weights[:, :, 2] = [0.0, 0.0, 0.5, 0.5, 0.0, 0.0]  # one token looks at both tokens of "runs": that is enough
    assert unseen(seen(weights={"cross": weights})) == [[1]]
    in_bytes = ["▁A", "▁", "<0xEC>", "<0x99>", "<0x84>", "</s>"]
    weights = np.zeros((1, 1, len(TARGET), 6))
    weights[..., 0] = 1.0
    assert unseen(seen(in_bytes, weights={"cross": weights})) == [[1]]


def test_output_that_repeats_itself_is_reported() -> None:
    target = ["▁the", "▁old", "▁do", "g", "▁the", "▁old", "▁do", "g", ".", ".", ".", "</s>"]
    found = [warning for warning in seen(target=target).warnings() if warning["kind"] == "repeated"]
    assert found == [{"kind": "repeated", "side": "target", "words": [0, 1, 2, 3, 4, 5]}]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({}, "none"),
        ({"self": at_random(1, 1, 5, 5)}, "kind self"),
        ({"cross": at_random(1, 1, 6, 5)}, r"cross attention of shape \[1, 1, 6, 5\].*\[layers, heads, 5, 6\]"),
        ({"encoder": at_random(1, 1, 6, 6)[0]}, r"encoder attention of shape \[1, 6, 6\]"),
        ({"cross": np.zeros((0, 1, 5, 6))}, r"cross attention of shape \[0, 1, 5, 6\]"),
        ({"cross": np.full((1, 1, 5, 6), np.nan)}, "not numbers"),
        ({"cross": np.full((1, 1, 5, 6), np.inf)}, "not numbers"),
    ],
)
def test_attention_that_does_not_fit_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        seen(weights=wrong)


def test_a_model_with_one_kind_of_attention() -> None:
    recurrent = seen(weights={"cross": at_random(1, 1, len(TARGET), len(SOURCE))})
    assert recurrent.kinds == list(recurrent.to_dict()["attention"]) == ["cross"]
    lone = seen(["▁a", "▁b"], [], weights={"encoder": np.full((1, 2, 2, 2), 0.5)})
    assert lone.to_dict()["target"] == {"text": "", "tokens": [], "words": []}


def test_a_silenced_head_does_not_count(tiny_translator: Translator) -> None:
    sentence = made_up_sentences(1, 1)[0]
    with tiny_translator.changed(off={"decoder.1.cross_attention": [0, 2]}):
        found = tiny_translator.attention(sentence)
    assert found.to_dict(walk=False)["attention"]["cross"]["off"] == [[], [0, 2]]
    assert np.allclose(found.mean("cross", 1), found.weights["cross"][1][[1, 3]].mean(0))
    assert np.allclose(found.mean("cross", 0), found.weights["cross"][0].mean(0))
    names = tiny_translator.model.attention_names()["cross"]
    with tiny_translator.changed(off={name: range(4) for name in names}):
        blind = tiny_translator.attention(sentence)
    assert (blind.words("cross") == 0).all()
    unseen = [warning for warning in blind.warnings() if warning["kind"] == "unseen"]
    assert [each["words"] for each in unseen] == [list(range(len(sentence.split())))]  # nobody looked at anything


def test_a_word_that_is_spelled_in_bytes_is_pointed_out() -> None:
    source = ["▁ein", "▁", "<0xF0>", "<0x9F>", "<0x98>", "<0x80>", "</s>"]
    found = [warning for warning in seen(source).warnings() if warning["kind"] == "spelled"]
    assert found == [{"kind": "spelled", "side": "source", "words": [1]}]


def test_it_is_short_to_read() -> None:
    assert len(repr(seen())) < 200


def test_a_walk_through_what_was_taken_out(tiny_recipe: config.TranslationRecipe, tiny_tokenizer: Tokenizer) -> None:
    """The page is told what the model lacks, and carries no numbers of it; what is there follows from what was before."""
    bare = replace(
        tiny_recipe.model, positions="none", residual=False, norm="none", scale=False, feed_forward=0, bias=False
    )
    torch.manual_seed(3)
    model = build(bare, tiny_tokenizer.size("source"), tiny_tokenizer.size("target"))
    looked = Translator(model, tiny_tokenizer, replace(tiny_recipe, model=bare)).attention(made_up_sentences(1, 2)[1])
    found: Scene = json.loads(json.dumps(looked.to_dict(), allow_nan=False))
    told = {name: found["shape"][name] for name in ("positions", "residual", "norm", "scale", "feed_forward", "bias")}
    assert told == {
        "positions": "none", "residual": False, "norm": "none", "scale": False, "feed_forward": 0, "bias": False,
    }  # fmt: skip
    assert found["positions"] is None
    assert not [name for name in found["walk"] if "feed_forward" in name]
    embedded = walked(found, "source_embedding")
    assert "positions" not in embedded
    np.testing.assert_array_equal(embedded["vectors"], embedded["output"])
    attention, around = walked(found, "encoder.0.self_attention"), walked(found, "encoder.0.after_self")
    np.testing.assert_array_equal(attention["output"], around["added"])  # nothing is added
    np.testing.assert_array_equal(around["normed"], around["added"])  # nor normalised
    scores = np.einsum("hqe,hke->hqk", attention["query"], attention["key"])  # and nothing divided
    np.testing.assert_allclose(attention["scores"], scores, **ROUGH)
