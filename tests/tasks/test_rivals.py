"""Recurrent and convolutional translators do all that the Transformer does, as far as they have attention."""

from __future__ import annotations

import statistics
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import regard
from regard import config
from regard.data.tokenizer import Tokenizer
from regard.errors import UsageError
from regard.models.shortlist import Lexicon
from regard.tasks.heads import head_importance
from regard.tasks.trained import load_trained, save_trained
from regard.tasks.translation.alignment.align import align
from regard.tasks.translation.assets import TranslationAssets
from regard.tasks.translation.evaluation import TestSet
from regard.tasks.translation.translator import Translator
from tests.conftest import in_double, made_up_sentences, taught
from tests.decoding.steady import steady

SHAPE = dict(width=32, encoder_layers=2, decoder_layers=2, dropout=0.0, max_positions=64)
RIVALS: dict[str, config.Model] = {
    "rnn": config.Recurrent(**SHAPE),
    "rnn-attention": config.RecurrentAttention(**SHAPE),
    "conv": config.Convolutional(**SHAPE),
}
TEXTS, LEARNED = made_up_sentences(1, 16), made_up_sentences(2, 16)


@pytest.fixture(scope="module", params=RIVALS)
def rival(
    request: pytest.FixtureRequest, tiny_recipe: config.TranslationRecipe, tiny_tokenizer: Tokenizer
) -> Translator:
    return taught(replace(tiny_recipe, name=request.param, model=RIVALS[request.param]), tiny_tokenizer)


@pytest.fixture(scope="module")
def sure(rival: Translator) -> list[str]:
    """Texts at whose translations no rounding decides."""
    ids, settings = rival.tokenizer.encode_all(TEXTS, "source"), rival.recipe.decoding
    return [TEXTS[place] for place in steady(rival.model, ids, rival.search_options()[0], settings)]


@pytest.fixture
def stored(rival: Translator, tmp_path: Path) -> Path:
    path = tmp_path / "model.safetensors"
    save_trained(path, dict(rival.model.named_parameters()), rival.recipe, TranslationAssets(rival.tokenizer), {})
    return path


def test_it_comes_back_from_its_file(rival: Translator, stored: Path) -> None:
    again = regard.load(stored)
    assert [each.text for each in again.translate(TEXTS)] == [each.text for each in rival.translate(TEXTS)]
    assert len({each.text for each in rival.translate(TEXTS)}) > 8, "outputs should differ from source to source"


@pytest.mark.parametrize("options", [{"beam": 1}, {"beam": 4, "nbest": 2}, {"sample": True, "seed": 3}], ids=str)
def test_a_sentence_does_not_depend_on_its_neighbours(rival: Translator, options: dict[str, int]) -> None:
    rival = in_double(rival)
    together = rival.translate(TEXTS, **options)  # type: ignore[arg-type]
    for text, found in zip(TEXTS, together, strict=True):
        alone = rival.translate(text, **options)  # type: ignore[arg-type]
        assert alone.text == found.text
        assert alone.score == pytest.approx(found.score, abs=1e-4)


def test_every_core(stored: Path, sure: list[str]) -> None:
    plain = [each.text for each in regard.load(stored).translate(sure * 20)]
    assert [each.text for each in regard.load(stored, workers=2).translate(sure * 20)] == plain


def test_8_bits_find_the_learned_translations_nearly_as_probable(rival: Translator, stored: Path) -> None:
    """Which of two alike they write, rounding decides, and that depends on the CPU."""

    def per_token(translator: Translator, targets: list[str]) -> list[float]:
        scores = translator.score(TEXTS, targets)
        return [each.log_probability / len(each.token_log_probabilities) for each in scores]

    exact, rounded = per_token(rival, LEARNED), per_token(regard.load(stored, int8=True), LEARNED)
    error = statistics.mean(abs(one - other) for one, other in zip(rounded, exact, strict=True))
    learned = statistics.mean(exact) - statistics.mean(per_token(rival, LEARNED[::-1]))  # other sentences' translations
    assert 0 < error < learned / 2


def test_what_it_looked_at(rival: Translator) -> None:
    if rival.recipe.name == "rnn":
        with pytest.raises(UsageError, match="rnn has no attention to look at: its architecture is 'rnn'"):
            rival.attention(TEXTS[0])
        return
    seen = rival.attention(TEXTS[0])
    weights = seen.weights["cross"]
    assert weights.shape[:2] == (len(rival.model.attention_names()["cross"]), 1)
    assert weights.sum(-1) == pytest.approx(1.0, abs=1e-5)
    assert set(seen.weights) == {"cross"}
    with rival.changed(off={rival.model.attention_names()["cross"][0]: [0]}):
        changed = rival.translate(TEXTS, beam=1)
    assert [each.text for each in changed] != [each.text for each in rival.translate(TEXTS, beam=1)]


def test_a_shortlist_of_everything_changes_nothing(rival: Translator, stored: Path, sure: list[str]) -> None:
    size = rival.tokenizer.size("target")
    everything = Lexicon(torch.arange(size).expand(size, -1).contiguous(), torch.arange(size))
    save_trained(
        stored, dict(rival.model.named_parameters()), rival.recipe, TranslationAssets(rival.tokenizer, everything), {}
    )
    short = regard.load(stored, shortlist=True).translate(sure)
    assert [each.text for each in short] == [each.text for each in rival.translate(sure)]


def test_heads_and_alignments_are_of_those_that_look(rival: Translator) -> None:
    targets = [each.text for each in rival.translate(TEXTS)]
    known = TestSet("known", TEXTS, targets)
    if rival.recipe.name == "rnn":
        for ask in (lambda: head_importance(rival, known), lambda: align(rival, TEXTS, targets)):
            with pytest.raises(UsageError, match="no attention"):
                ask()
        return
    found = head_importance(rival, known, sentences=8, resamples=100)
    assert list(found.differences) == ["cross"]
    assert found.differences["cross"].shape == (len(rival.model.attention_names()["cross"]), 1)
    assert any(each.links for each in align(rival, TEXTS, targets))


def test_scores_are_those_of_the_search(rival: Translator) -> None:
    found = rival.translate(TEXTS[0], beam=1)
    score = rival.score(TEXTS[0], found.text)
    assert score.log_probability == pytest.approx(sum(found.token_log_probabilities), abs=1e-4)


def test_other_engines_take_transformers_only(stored: Path, tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2")
    from regard.export.ctranslate2 import export_ctranslate2
    from regard.export.onnx import export_onnx

    trained = load_trained(stored)
    for export in (export_ctranslate2, export_onnx):
        with pytest.raises(
            UsageError, match=f"takes Transformers; this is a model of the architecture '{trained.recipe.name}'"
        ):
            export(trained, tmp_path / "exported")
    assert not (tmp_path / "exported").exists()
    assert regard.load(stored, engine="auto").translate(TEXTS[0]).text == regard.load(stored).translate(TEXTS[0]).text


def test_gradients_of_dropout_are_the_same_for_the_same_seed(rival: Translator) -> None:
    """Resume rests on it: all that is random follows from torch's seed."""
    from regard.tasks.registry import build
    from regard.tasks.translation.native import known_pairs

    model = build(replace(rival.recipe.model, dropout=0.3), 400, 400).train()
    ids = rival.tokenizer.encode_all(TEXTS, "source")
    states = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        states.append(model(*known_pairs(model, ids, ids)))
    assert torch.equal(states[0], states[1])
    assert not torch.equal(states[0], states[2])
