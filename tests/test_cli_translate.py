"""The verbs translate, score and view on the bundled model: their options are those of Python, and notes go to stderr."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path

import pytest
import torch

import regard
from regard.checkpoint import unique_weights
from regard.commands import translating
from regard.models.shortlist import Lexicon
from regard.models.transformer import Transformer
from regard.tasks.trained import load_trained, save_trained
from regard.tasks.translation.assets import TranslationAssets
from regard.tasks.translation.results import Options
from tests.test_cli import call, fail, succeed

SENTENCE = "Ich habe heute keine Zeit."
LONG = " ".join([SENTENCE, *["Guten Morgen! Wie geht es Ihnen?"] * 30])


def test_every_option_is_one_of_translate() -> None:
    """All but the size of batches, which changes no output."""
    parameters = set(inspect.signature(translating.translate).parameters)
    of_loading = set(inspect.signature(regard.load).parameters)  # the model, and what decodes
    assert parameters - {"text", "as_json"} - of_loading == set(Options.__annotations__) - {"batch_tokens"}


def test_options_reach_the_search() -> None:
    model = regard.load("demo")

    def score(*options: object) -> float:
        return float(json.loads(succeed("translate", "demo", SENTENCE, "--json", *options).out)["score"])

    assert score("--length-penalty", "none") == pytest.approx(model.translate(SENTENCE, length_penalty="none").score)
    assert score("--alpha", 1.5) == pytest.approx(model.translate(SENTENCE, alpha=1.5).score)
    assert len({score(), score("--alpha", 1.5), score("--length-penalty", "none")}) == 3
    cut = succeed("translate", "demo", SENTENCE, "--max-ratio", 0, "--max-extra", 2, "--json")
    assert len(json.loads(cut.out)["tokens"]) == 2
    assert "reached the length limit" in cut.err


def test_options_that_cannot_be() -> None:
    for value in ("nan", "inf", -1):
        assert "max_ratio must be at least 0" in fail("translate", "demo", SENTENCE, "--max-ratio", value)
    assert "max_extra must be at least 0" in fail("translate", "demo", SENTENCE, "--max-extra", -1)
    assert "Did you mean 'paper'?" in fail("translate", "demo", SENTENCE, "--length-penalty", "papre")
    assert "needs a beam of at least as many" in fail("translate", "demo", SENTENCE, "--nbest", 9, "--beam", 2)
    said = fail("translate", "demo", SENTENCE, "--prefix", "on and on " * 1_000)
    assert said.startswith("regard: the prefix has")


def test_a_cold_sample_is_greedy() -> None:
    greedy = succeed("translate", "demo", SENTENCE, "--beam", 1).out
    assert succeed("translate", "demo", SENTENCE, "--sample", "--temperature", "1e-42").out == greedy


def test_nbest_of_an_empty_line_is_one_row() -> None:
    rows = succeed("translate", "demo", SENTENCE, "", "--nbest", 7).lines
    assert [row.split("\t")[0] for row in rows] == [*"1234567", "1"]
    assert rows[-1] == "1\t0.0000\t"


def test_score_names_the_line_of_what_is_too_long() -> None:
    stdin = f"{SENTENCE}\tI have no time.\n{SENTENCE}\t{'on and on ' * 1_000}\n".encode()
    answer = call("score", "demo", stdin=stdin)
    assert answer.code == 2
    assert "standard input, line 2: the target has" in answer.err
    assert len(answer.lines) == 1  # what came before it is answered


def test_score_computes_lines_together(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [(SENTENCE, "I have no time."), ("Guten Morgen!", "Good morning!"), (SENTENCE, "")] * 3
    rows: list[int] = []
    whole = Transformer.forward
    monkeypatch.setattr(
        Transformer, "forward", lambda self, source, *rest, **more: rows.append(len(source)) or whole(self, source, *rest, **more)
    )  # fmt: skip
    answer = succeed("score", "demo", stdin="".join(f"{one}\t{other}\n" for one, other in pairs).encode())
    assert rows == [len(pairs)]
    model = regard.load("demo")
    assert [float(line) for line in answer.lines] == pytest.approx(
        [model.score(*pair).log_probability for pair in pairs], abs=1e-3
    )


def test_view_shows_every_part_of_a_long_text() -> None:
    answer = succeed("view", "demo", LONG)
    parts = regard.load("demo").attention(LONG).parts
    assert parts > 1
    assert f"it is shown in {parts} parts" in answer.err
    for sentence in (SENTENCE, "Guten Morgen!", "Wie geht es Ihnen?"):
        assert regard.load("demo").translate(sentence).text in answer.out
    assert succeed("view", "demo", SENTENCE).err == ""


@pytest.fixture(scope="module")
def listed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled model with a lexicon that knows too little."""
    path, trained = tmp_path_factory.mktemp("listed") / "model.safetensors", load_trained("demo")
    sources, targets = (trained.tokenizer.size(side) for side in ("source", "target"))
    table = 300 + (torch.arange(sources)[:, None] * 7 + torch.arange(40)) % (targets - 300)
    lexicon = Lexicon(table.int(), torch.arange(300, 400, dtype=torch.int32))
    save_trained(
        path, unique_weights(trained.model), trained.recipe, TranslationAssets(trained.tokenizer), {}, lexicon=lexicon
    )
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


def test_public_names() -> None:
    assert set(regard.__all__) <= set(dir(regard))
    assert all(getattr(regard, name).__module__.startswith("regard") for name in regard.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Translater'"):
        regard.Translater  # noqa: B018
