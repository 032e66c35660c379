"""What decodes when nobody says what should: CTranslate2 where it can, and the native engine for what only that can do."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import pytest

import regard
from regard.checkpoint import unique_weights
from regard.decoding.options import Search
from regard.errors import UsageError
from regard.tasks.trained import save_trained
from regard.tasks.translation.assets import TranslationAssets
from regard.tasks.translation.engine import FastEngine, multiplies_exactly
from regard.tasks.translation.translator import Translator
from tests.conftest import made_up_sentences
from tests.decoding.steady import steady

pytest.importorskip("ctranslate2")


@pytest.fixture(scope="module")
def run(tiny_translator: Translator, tmp_path_factory: pytest.TempPathFactory) -> Path:
    each, folder = tiny_translator, tmp_path_factory.mktemp("run")
    assets = TranslationAssets(each.tokenizer)
    save_trained(folder / "model.safetensors", unique_weights(each.model), each.recipe, assets, {})
    return folder


@pytest.fixture
def fast(run: Path, monkeypatch: pytest.MonkeyPatch) -> Translator:
    monkeypatch.delenv("REGARD_ENGINE")
    return regard.load(run, task="translation")


@pytest.fixture(scope="module")
def texts(tiny_translator: Translator) -> list[str]:
    """Of which rounding decides nothing."""
    each = tiny_translator
    found = made_up_sentences(1, 16)
    sources = each.tokenizer.encode_all(found, "source")
    return [found[place] for place in steady(each.model, sources, Search(), each.recipe.decoding)]


def test_it_is_the_default(fast: Translator, run: Path) -> None:
    assert fast.decoded_by.startswith("ctranslate2")
    assert regard.load(run, task="translation", engine="native").decoded_by == "native (as asked)"


def test_the_same_texts_scores_and_warnings(fast: Translator, run: Path, texts: list[str]) -> None:
    native = regard.load(run, task="translation", engine="native")
    for options in ({"beam": 5}, {"beam": 1}, {"nbest": 3}, {"prefix": texts[0][:2]}):
        ours = native.translate(texts, warnings=True, **options)  # type: ignore[arg-type]
        theirs = fast.translate(texts, warnings=True, **options)  # type: ignore[arg-type]
        assert [each.text for each in theirs] == [each.text for each in ours]
        assert [each.warnings for each in theirs] == [each.warnings for each in ours]
        assert [each.score for each in theirs] == pytest.approx([each.score for each in ours], abs=1e-4)


def test_without_scores_the_text_is_the_same(fast: Translator, texts: list[str]) -> None:
    found = fast.translate(texts, scores=False, warnings=True)
    assert [each.text for each in found] == [each.text for each in fast.translate(texts)]
    assert all(each.token_log_probabilities == [] and each.warnings is not None for each in found)


def test_samples_are_drawn_by_the_native_engine(fast: Translator, run: Path, texts: list[str]) -> None:
    native = regard.load(run, task="translation", engine="native")
    ours, theirs = (each.translate(texts, sample=True, seed=3) for each in (native, fast))
    assert [each.text for each in theirs] == [each.text for each in ours]


def test_a_changed_model_decodes_itself(fast: Translator, texts: list[str]) -> None:
    plain = fast.translate(texts[0]).token_log_probabilities
    with fast.changed(hard=True):
        assert fast.translate(texts[0]).token_log_probabilities != pytest.approx(plain, abs=1e-2)
    with fast.changed():  # which changes nothing
        assert fast.translate(texts[0]).token_log_probabilities == pytest.approx(plain, abs=1e-4)


def test_what_was_written_is_looked_at(fast: Translator, texts: list[str]) -> None:
    seen = fast.attention(texts[0])
    assert seen.translation == fast.translate(texts[0]).text
    assert isinstance(fast.engine, FastEngine)


def test_where_it_is_not_installed(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REGARD_ENGINE")
    monkeypatch.setattr("regard.tasks.translation.engine.find_spec", lambda name: None)
    assert "not installed" in regard.load(run, task="translation").decoded_by


def test_what_it_cannot_express(monkeypatch: pytest.MonkeyPatch, run: Path) -> None:
    monkeypatch.delenv("REGARD_ENGINE")
    monkeypatch.setattr("regard.tasks.translation.engine.refusal", lambda trained, engine: "takes no toys")
    assert regard.load(run, task="translation").decoded_by == "native (ctranslate2 takes no toys)"


def test_a_broken_package_does_not_stop_anybody(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REGARD_ENGINE")
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    assert regard.load(run, task="translation").decoded_by.startswith("native")


@pytest.mark.parametrize(
    ("flags", "exactly"),
    [
        ("fpu avx2 fma", False),
        ("avx2 avx512_vnni", True),
        ("avx2 avx_vnni", True),
        ("asimd asimddp", True),
        ("avx2_vnni_not", False),
    ],
)
def test_where_8_bits_lose_more_it_is_said(
    flags: str,
    exactly: bool,
    run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.delenv("REGARD_ENGINE")
    (tmp_path / "cpuinfo").write_text(f"flags : {flags}\n")
    assert multiplies_exactly(str(tmp_path / "cpuinfo")) is exactly
    monkeypatch.setattr("regard.tasks.translation.engine.multiplies_exactly", lambda: exactly)
    monkeypatch.setattr(logging.getLogger("regard.notes"), "propagate", True)
    for int8 in (False, True):
        caplog.clear()
        with caplog.at_level(logging.INFO, "regard.notes"):
            translator = regard.load(run, task="translation", int8=int8)
        assert ("int8" in translator.decoded_by) is int8  # which nobody gets unasked
        assert ("no VNNI" in caplog.text) is (int8 and not exactly)


def test_a_person_may_always_want_the_same(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGARD_ENGINE", "nativ")
    with pytest.raises(UsageError, match=r"'nativ'.*native"):
        regard.load(run, task="translation")
