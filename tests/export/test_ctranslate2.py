"""What CTranslate2 makes of a model is what the model makes of it."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from regard import config
from regard.checkpoint import store_scores, unique_weights
from regard.data.tokenizer import END, PAD, START, UNKNOWN
from regard.decoding.options import Search
from regard.errors import CheckpointError, UsageError
from regard.export.ctranslate2 import export_ctranslate2
from regard.export.ctranslate2_engine import CTranslate2Engine, open_engine
from regard.export.folder import fingerprint
from regard.tasks.task import Trained
from regard.tasks.trained import save_trained
from regard.tasks.translation.assets import TranslationAssets
from regard.tasks.translation.engine import choose_engine
from regard.tasks.translation.native import Native, coverages, decode, known_pairs
from regard.tasks.translation.translator import Translator
from regard.tasks.translation.warnings import is_suspect
from regard.tasks.verbs import load
from tests.conftest import made_up_sentences, taught
from tests.decoding.steady import steady
from tests.export.variants import LACKING, each_variant, require_agreement, require_same, source_ids, trained

pytest.importorskip("ctranslate2")


@pytest.fixture(scope="module")
def known(tiny_translator: Translator) -> Trained:
    """A model that has learned something, so that its sentences end."""
    each = tiny_translator
    return Trained(each.model, each.recipe, TranslationAssets(each.tokenizer), each.provenance)


@pytest.fixture(scope="module")
def engine(known: Trained) -> CTranslate2Engine:
    return open_engine(known)


def sentences(known: Trained) -> list[list[int]]:
    return known.assets.tokenizer.encode_all(made_up_sentences(1, 16) + made_up_sentences(3, 14), "source")


@each_variant
def test_every_kind_of_model_writes_the_same(variant: str, tiny_recipe: config.TranslationRecipe) -> None:
    model = trained(variant, tiny_recipe)
    if lacking := LACKING.get(variant):
        with pytest.raises(UsageError, match=rf"ctranslate2 takes layers .* this model has model\.{lacking} = "):
            open_engine(model)
        assert isinstance(choose_engine(model, "it", "auto", int8=False, shortlist=False, workers=1), Native)
        return
    exported, sources = open_engine(model), source_ids(model)
    for beam in (1, 5):
        ours = require_agreement(model, exported, sources, Search(beam=beam))
        assert len({found[0].tokens for found in ours}) > 1  # or anything would do


@pytest.mark.parametrize(
    "search",
    [
        Search(beam=1),
        Search(beam=5),
        Search(beam=3, nbest=2),
        Search(length_penalty="mean"),
        Search(beam=3, nbest=3, length_penalty="none"),
        Search(alpha=2.0, early_stop=False),
    ],
    ids=["greedy", "beam", "nbest", "mean", "none", "alpha"],
)
def test_options_mean_the_same(search: Search, known: Trained, engine: CTranslate2Engine) -> None:
    ours = require_agreement(known, engine, sentences(known), search)
    assert {found[0].finish_reason for found in ours} >= {"end"}


@pytest.mark.parametrize(("ratio", "extra"), [(0.0, 1), (0.0, 3), (0.5, 0), (1.0, 0)])
@pytest.mark.parametrize("beam", [1, 4])
def test_each_sentence_has_its_own_limit(
    ratio: float, extra: int, beam: int, known: Trained, engine: CTranslate2Engine
) -> None:
    settings = replace(known.recipe.decoding, max_ratio=ratio, max_extra=extra)
    ours = require_agreement(known, engine, sentences(known), Search(beam=beam), settings)
    assert any(found[0].finish_reason == "length" for found in ours)


def test_nothing_is_written_where_nothing_may_be(known: Trained, engine: CTranslate2Engine) -> None:
    settings = replace(known.recipe.decoding, max_ratio=0.0, max_extra=0)
    assert engine.decode([[5, 6]], Search(), settings) == decode(known.model, [[5, 6]], Search(), settings)
    assert engine.decode([], Search(), known.recipe.decoding) == []
    assert engine.decode([[]], Search(), known.recipe.decoding)[0][0].tokens == ()


def test_an_output_may_be_empty(tiny_recipe: config.TranslationRecipe) -> None:
    silent = trained("untied", tiny_recipe)
    with torch.no_grad():
        silent.model.output.weight[END, 0] += 10
    for beam in (1, 3):
        ours = require_agreement(silent, open_engine(silent), source_ids(silent), Search(beam=beam))
        assert {found[0].tokens for found in ours} == {()}


@pytest.mark.parametrize("beam", [1, 5])
def test_a_prefix_is_kept_and_counts(beam: int, known: Trained, engine: CTranslate2Engine) -> None:
    sources, settings, search = sentences(known), known.recipe.decoding, Search(beam=beam)
    prefixes = [ids[:length] for ids, length in zip(reversed(sources), [0, 1, 3] * 10, strict=True)]
    theirs = engine.decode(sources, search, settings, prefixes)
    ours = decode(known.model, sources, search, settings, prefixes)
    assert all(found[0].tokens[: len(prefix)] == tuple(prefix) for found, prefix in zip(theirs, prefixes, strict=True))
    sure = steady(known.model, sources, search, settings, prefixes)
    same = [(ours[place], theirs[place]) for place in sure if ours[place][0].tokens == theirs[place][0].tokens]
    assert len(same) >= len(sure) - 1  # CTranslate2 lets a beam end right after a prefix only in first place
    require_same([left for left, _ in same], [right for _, right in same])


def test_no_repeat_ngram_is_kept(known: Trained, engine: CTranslate2Engine) -> None:
    settings = replace(known.recipe.decoding, max_extra=30)
    free = engine.decode(sentences(known), Search(), settings)
    ruled = engine.decode(sentences(known), Search(no_repeat_ngram=1), settings)
    assert any(len(set(found[0].tokens)) < len(found[0].tokens) for found in free)
    assert all(len(set(found[0].tokens)) == len(found[0].tokens) for found in ruled)


def test_a_batch_changes_nothing(known: Trained, engine: CTranslate2Engine) -> None:
    sources, settings = sentences(known), known.recipe.decoding
    sources = [sources[place] for place in steady(known.model, sources, Search(), settings)]
    alone = [engine.decode([source], Search(), settings)[0] for source in sources]
    require_same(alone, engine.decode(sources, Search(), settings))
    require_same(alone, engine.decode(sources, Search(), replace(settings, batch_tokens=1)))


@pytest.mark.parametrize("beam", [1, 5])
def test_the_search_tells_the_score_but_for_what_is_forbidden(
    beam: int, known: Trained, engine: CTranslate2Engine
) -> None:
    """It shares out the probability of what is never written among the rest; otherwise its sum is that of the tokens."""
    sources, settings, forbidden = sentences(known), known.recipe.decoding, [PAD, START, UNKNOWN]
    sources = [sources[place] for place in steady(known.model, sources, Search(beam), settings)]
    exact, quick = (engine.decode(sources, Search(beam, scores=scores), settings) for scores in (True, False))
    for source, (left, *_), (right, *_) in zip(sources, exact, quick, strict=True):
        assert (right.tokens, right.finish_reason, right.token_log_probabilities) == (
            left.tokens,
            left.finish_reason,
            (),
        )
        with torch.inference_mode():
            states = known.model(*known_pairs(known.model, [source], [right.tokens]), packed=True)  # [T + 1, D]
            possible = 1 - known.model.project(states).softmax(-1)[:, forbidden].sum(-1)
        shared = -float(possible[: right.length].log().sum())
        assert shared > 0
        assert right.log_probability == pytest.approx(left.log_probability + shared, abs=1e-4)
        assert right.score == pytest.approx(right.log_probability / Search().penalty(right.length), rel=1e-6)


def test_of_a_trained_model_hardly_anything_is_forbidden() -> None:
    texts = ["Ich habe Hunger.", "Wo wohnst du?", "Tom hat gestern ein neues Auto gekauft, weil sein altes kaputt war."]
    demo = load("demo", task="translation", engine="ctranslate2")
    exact, quick = (demo.translate(texts, scores=scores) for scores in (True, False))
    assert [each.text for each in quick] == [each.text for each in exact]
    assert [each.score for each in quick] == pytest.approx([each.score for each in exact], abs=1e-3)
    assert [each.confidence for each in quick] == pytest.approx([each.confidence for each in exact], abs=1e-3)
    assert all(each.confidence is not None and not each.token_log_probabilities for each in quick)


def test_int8_is_smaller_and_leaves_the_original_alone(tiny_translator: Translator, tmp_path: Path) -> None:
    """What it knows by heart survives 8 bits in good part; of other sentences rounding decides, so they tell nothing.

    In part: on a CPU with AVX2 and no VNNI CTranslate2 keeps 10 of the 16, though each token has more than half of the
    probability, and the native 8 bits, which are coarser, keep all (tests/tasks/test_engines.py).
    """
    each = taught(tiny_translator.recipe, tiny_translator.tokenizer, updates=200)
    known = Trained(each.model, each.recipe, TranslationAssets(each.tokenizer), each.provenance)
    before = {name: weight.clone() for name, weight in unique_weights(known.model).items()}
    sizes = []
    for int8 in (False, True):
        export_ctranslate2(known, tmp_path / str(int8), int8=int8)
        sizes.append((tmp_path / str(int8) / "model.bin").stat().st_size)
    assert sizes[1] < 0.5 * sizes[0]
    assert all(torch.equal(weight, before[name]) for name, weight in unique_weights(known.model).items())
    by_heart, greedy = sentences(known)[:16], Search(beam=1)
    ours = decode(known.model, by_heart, greedy, known.recipe.decoding)
    theirs = CTranslate2Engine(tmp_path / "True").decode(by_heart, greedy, known.recipe.decoding)
    assert min(min(found[0].token_log_probabilities) for found in ours) > -0.7  # nothing else has as much as half
    assert sum(left[0].tokens == right[0].tokens for left, right in zip(ours, theirs, strict=True)) >= 4


def test_samples_are_refused(known: Trained, engine: CTranslate2Engine) -> None:
    with pytest.raises(UsageError, match="the engine native"):
        engine.decode([[5]], Search(sample=True), known.recipe.decoding)


@pytest.fixture
def run(known: Trained, tmp_path: Path) -> Path:
    """A run folder with its model."""
    save_trained(
        tmp_path / "model.safetensors",
        unique_weights(known.model),
        known.recipe,
        known.assets,
        {},
    )
    return tmp_path


def test_a_model_is_converted_once(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_engine(run)
    store_scores(
        run / "model.safetensors", {"test": [{"name": "BLEU", "value": 1.0}]}
    )  # changes nothing that is written
    monkeypatch.setattr("regard.export.ctranslate2.write_model", None)
    assert not open_engine(run).int8
    assert open_engine(run, int8=True).int8


def test_another_state_of_a_model_is_converted_anew(run: Path, tiny_recipe: config.TranslationRecipe) -> None:
    open_engine(run)
    other = trained("pre-norm", tiny_recipe)
    save_trained(run / "model.safetensors", unique_weights(other.model), other.recipe, other.assets, {})
    require_agreement(other, open_engine(run), source_ids(other), Search())


def test_what_lies_beside_a_model_is_not_trusted(
    run: Path, known: Trained, tiny_recipe: config.TranslationRecipe
) -> None:
    """It came with the model, and may claim to be made from it."""
    other, claimed = trained("pre-norm", tiny_recipe), fingerprint(run / "model.safetensors")
    for name in ("ctranslate2", "ctranslate2-int8"):
        export_ctranslate2(other, run / name, made_from=claimed)
        (run / name / "model.bin").write_bytes(b"what CTranslate2 would stumble over")
    require_agreement(known, open_engine(run), source_ids(known), Search())


@pytest.mark.parametrize("beam", [1, 5])
def test_which_words_were_looked_at(known: Trained, engine: CTranslate2Engine, beam: int) -> None:
    """As the model itself tells of the same output, ended or cut, behind a prefix and in company; where that leaves no word
    unseen, what is told may be less."""
    sources, settings = sentences(known)[:12], known.recipe.decoding
    cut = replace(settings, max_ratio=0.0, max_extra=2)
    for changed, prefix in ((settings, []), (cut, []), (settings, [7, 8])):
        alone = [engine.decode([each], Search(beam, coverage=True), changed, [prefix])[0][0] for each in sources]
        company = engine.decode(sources, Search(beam, coverage=True), changed, [prefix] * len(sources))
        for number, (source, best) in enumerate(
            [*zip(sources, alone, strict=True), *zip(sources, (each[0] for each in company), strict=True)]
        ):
            assert best.coverage is not None
            wanted = coverages(known.model, [source], [best.tokens])[0][:-1]
            tokens = known.assets.tokenizer.tokens([*source, END], "source")
            if number < len(alone) or is_suspect(best.coverage, tokens):
                np.testing.assert_allclose(best.coverage, wanted, atol=1e-4)
            else:
                assert (best.coverage < wanted + 1e-4).all()


def test_other_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="regard export"):
        CTranslate2Engine(tmp_path)


def test_without_the_extra(known: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    with pytest.raises(UsageError, match=r"ctranslate2: pip install -e '.\[export\]'"):
        open_engine(known)


def test_who_decodes_alone_takes_every_thread_and_who_has_company_one(known: Trained) -> None:
    shared = open_engine(known, threads=2)
    for callers, jobs in ((0, 2), (1, 2), (2, 1), (5, 1)):
        shared._callers = callers
        assert len(shared._jobs(list(range(8)), [4] * 8, 5, batch_tokens=4_096)) == jobs
