"""`regard view` of models of every task."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import torch

import regard
from regard.checkpoint import unique_weights
from regard.models.shortlist import Lexicon
from regard.tasks.trained import load_trained, save_trained
from regard.tasks.translation.assets import TranslationAssets
from tests.commands.calling import BAD, GOOD, LONG_REVIEW, SENTENCE, fail, succeed

LONG = " ".join([SENTENCE, *["Guten Morgen! Wie geht es Ihnen?"] * 5])


def test_view_a_page_and_the_terminal(run: Path, tmp_path: Path) -> None:
    page = tmp_path / "new" / "page.html"
    assert succeed("view", run, SENTENCE, "-o", page).out == f"wrote {page}\n"
    html = page.read_text(encoding="utf-8")
    assert "Ich habe heute keine Zeit." in html
    assert "<html" in html
    out = succeed("view", run, SENTENCE).out
    assert "cross attention, layer 1" in out
    assert SENTENCE in out
    assert "nothing to look at" in fail("view", run, " ")
    assert "cannot write" in fail("view", run, SENTENCE, "-o", page / "page.html")


def test_the_playground_needs_no_model(tmp_path: Path) -> None:
    page = tmp_path / "playground.html"
    assert succeed("view", "--playground", "-o", page).out == f"wrote {page}\n"
    assert "softmax" in page.read_text(encoding="utf-8")
    assert "needs no model" in fail("view", "demo", "--playground", "-o", page)
    assert "name its file with -o" in fail("view", "--playground")
    assert "name a model" in fail("view")


def test_a_live_page_is_a_file_whose_reader_chooses(run: Path, tmp_path: Path) -> None:
    page = tmp_path / "live.html"
    assert succeed("view", run, "--live", "-o", page).out == f"wrote {page}\n"
    assert '"kind":"translator"' in page.read_text(encoding="utf-8")
    assert "name it with -o" in fail("view", run, "--live")
    assert "--beam has no effect on a live page" in fail("view", run, "--live", "--beam", "3", "-o", page)


def test_view_shows_every_part_of_a_long_text() -> None:
    answer = succeed("view", "demo", LONG)
    parts = regard.load("demo").attention(LONG).parts
    assert parts > 1
    assert f"shown in the {parts} parts" in answer.err
    for sentence in (SENTENCE, "Guten Morgen!", "Wie geht es Ihnen?"):
        assert regard.load("demo").translate(sentence).text in answer.out
    assert succeed("view", "demo", SENTENCE).err == ""


@pytest.fixture(scope="module")
def listed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled model with a lexicon that knows too little."""
    path, trained = tmp_path_factory.mktemp("listed") / "model.safetensors", load_trained("demo")
    sources, targets = (trained.assets.tokenizer.size(side) for side in ("source", "target"))
    table = 300 + (torch.arange(sources)[:, None] * 7 + torch.arange(40)) % (targets - 300)
    lexicon = Lexicon(table.int(), torch.arange(300, 400, dtype=torch.int32))
    assets = TranslationAssets(trained.assets.tokenizer, lexicon)
    save_trained(path, unique_weights(trained.model), trained.recipe, assets, {})
    return path


@pytest.mark.parametrize("options", [["--engine", "ctranslate2", "--int8"], ["--int8"], ["--shortlist", "--beam", "2"]])
def test_view_shows_what_translate_writes(options: list[str], listed: Path, tmp_path: Path) -> None:
    if "ctranslate2" in options:
        pytest.importorskip("ctranslate2")
    written = succeed("translate", listed, SENTENCE, *options).lines[0]
    assert ("--shortlist" in options) <= (written != succeed("translate", listed, SENTENCE, "--beam", 2).lines[0])
    assert succeed("view", listed, SENTENCE, *options).lines[1] == written
    succeed("view", listed, SENTENCE, *options, "-o", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    data = json.loads(re.findall(r'id="data">(.*?)</script>', page, re.DOTALL)[0])
    assert [scene["target"]["text"] for scene in data["scenes"]] == [written]


def test_view_refuses_what_no_engine_can() -> None:
    assert "Did you mean 'native'?" in fail("view", "demo", SENTENCE, "--engine", "nativ")
    assert "--shortlist is of the native engine" in fail(
        "view", "demo", SENTENCE, "--engine", "ctranslate2", "--shortlist"
    )


def test_a_classifier(moods: Path, tmp_path: Path) -> None:
    answer = succeed("view", moods, GOOD)
    label = regard.load(moods, task="text-classification").classify(GOOD).label
    assert f"for {label}:" in answer.out
    assert "█" in answer.out
    page = tmp_path / "page.html"
    assert succeed("view", moods, BAD, "-o", page).out == f"wrote {page}\n"
    assert "실망스러웠다" in page.read_text(encoding="utf-8")
    assert "half from each end" in succeed("view", moods, LONG_REVIEW, "-o", page).err
    assert "an empty text has nothing to look at" in fail("view", moods, "")


def test_a_language_model(rhymes: Path, tmp_path: Path) -> None:
    answer = succeed("view", rhymes, "Tom saw a red frog,")
    assert "Tom saw a red frog" in answer.out
    assert "perplexity" in answer.out
    assert "wrote" in succeed("view", rhymes, "고래는 바다에", "-o", tmp_path / "page.html").out
    assert "고래" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "looks back at most 64" in fail("view", rhymes, "Tom " * 80)
    assert "say what to look at" in fail("view", rhymes)


def test_a_file_given_as_text_is_noticed(
    run: Path, moods: Path, rhymes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "film.srt").write_text("x")
    (tmp_path / "folder").mkdir()
    for verb, model in (("view", run), ("view", rhymes), ("score", rhymes)):
        assert "though there is a file of that name" in succeed(verb, model, "film.srt").err
    verbs = [
        ("view", run),
        ("score", rhymes),
        ("translate", run),
        ("classify", moods),
        ("generate", rhymes),
        ("embed", run),
        ("neighbours", run),
    ]
    for verb, model in verbs:
        for name in ("nosuch.txt", "./nosuch", "folder/model"):
            assert f"{name!r} is read as text: there is no file of that name" in succeed(verb, model, name).err
        assert "is read as text" not in succeed(verb, model, "und/oder").err
    assert succeed("embed", run, "film.srt", "nosuch.csv").err.count("is read as text") == 2


def test_models_at_work_say_what_they_are(run: Path, moods: Path, rhymes: Path) -> None:
    assert re.fullmatch(r"Translator\('toy', transformer, [\d,]+ parameters\)", repr(regard.load(run)))
    assert repr(regard.load(moods)).startswith("Classifier('moods', transformer, ")
    assert repr(regard.load(rhymes)).startswith("TextGenerator('rhymes', transformer, ")
