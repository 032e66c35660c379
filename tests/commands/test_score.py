"""`regard score` of pairs and of texts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import regard
from regard.models.transformer import Transformer
from tests.commands.calling import SENTENCE, call, fail, succeed


def test_score_pairs_and_files(folder: Path, run: Path) -> None:
    pairs = zip(
        *((folder / f"test.{side}").read_text(encoding="utf-8").splitlines() for side in ("de", "en")), strict=True
    )
    stdin = "".join(f"{source}\t{target}\n" for source, target in pairs).encode()
    values = [float(line) for line in succeed("score", run, stdin=stdin).lines]
    assert len(values) == 12
    assert all(value < 0 for value in values)
    files = ("--source", folder / "test.de", "--target", folder / "test.en")
    assert [float(line) for line in succeed("score", run, *files).lines] == values
    found = [json.loads(line) for line in succeed("score", run, *files, "--json").lines]
    assert [round(each["log_probability"], 4) for each in found] == values
    assert all(each["perplexity"] > 1 for each in found)
    assert "line 2 has 3 tab-separated columns" in fail("score", run, stdin=b"a\tb\na\tb\tc\n")
    assert "go together" in fail("score", run, "--source", folder / "test.de")


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


def test_a_language_model(rhymes: Path) -> None:
    texts = ["On Monday Tom looked for the frog,", "고래는 바다에 살아요.", ""]
    writer = regard.load(rhymes, task="text-generation")
    answer = succeed("score", rhymes, stdin="".join(f"{text}\n" for text in texts).encode())
    assert len(answer.lines) == len(texts)
    for text, line in zip(texts, answer.lines, strict=True):
        found = writer.score(text)
        assert [float(each) for each in line.split("\t")] == [
            pytest.approx(found.log_probability, abs=1e-3), pytest.approx(found.perplexity, rel=1e-3, abs=0.01)
        ]  # fmt: skip
    for one, other in zip(succeed("score", rhymes, *texts[:2]).lines, answer.lines[:2], strict=True):
        assert [float(each) for each in one.split("\t")] == pytest.approx([*map(float, other.split("\t"))], rel=1e-3)
    told = json.loads(succeed("score", rhymes, texts[0], "--json").out)
    assert len(told["tokens"]) == len(told["token_log_probabilities"]) == len(told["ranks"])
    assert told["words"] == 8
