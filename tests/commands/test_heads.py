"""`regard heads`: a table, JSON, a page; tests/tasks/test_heads.py asks whether the numbers are right."""

from __future__ import annotations

import json
from pathlib import Path

from tests.commands.calling import fail, succeed


def test_a_table_or_json_and_a_page(run: Path, folder: Path, tmp_path: Path) -> None:
    files = ("--source", folder / "test.de", "--target", folder / "test.en", "--sentences", 3)
    page = tmp_path / "heads.html"
    answer = succeed("heads", run, *files, "-o", page)
    assert "cross-attention" in answer.out
    assert answer.err == f"wrote {page}\n"
    assert f"regard heads {run}" in page.read_text(encoding="utf-8")
    found = json.loads(succeed("heads", run, "--sentences", 3, "--test", "test", "--json").out)
    assert (found["sentences"], found["test_set"]) == (3, "test")
    assert {each["kind"] for each in found["heads"]} == {"encoder", "decoder", "cross"}


def test_what_heads_do_across_a_corpus(run: Path, moods: Path, rhymes: Path, folder: Path, tmp_path: Path) -> None:
    page, corpus = tmp_path / "corpus.html", tmp_path / "corpus.txt"
    found = json.loads(
        succeed("heads", run, "--corpus", folder / "test.de", "--sentences", 2, "--json", "-o", page).out
    )
    assert (found["corpus"], found["sentences"]) == ("test.de", 2)
    assert {each["kind"] for each in found["heads"]} == {"encoder", "decoder", "cross"}
    assert "--corpus" in page.read_text(encoding="utf-8")
    corpus.write_text("the fox was not bad\nOn Monday\n", encoding="utf-8")
    for model, kind in ((moods, "encoder self-attention"), (rhymes, "decoder self-attention")):
        assert kind in succeed("heads", model, "--corpus", corpus).out
    assert "--test and --corpus exclude each other" in fail("heads", run, "--corpus", corpus, "--test", "test")


def test_mistakes(run: Path, tmp_path: Path) -> None:
    assert "could be anything" in fail("heads", run, "-o", tmp_path / "heads.txt")
    assert "no test set 'tests'. Did you mean 'test'?" in fail("heads", run, "--test", "tests")
    assert "--source and --target go together" in fail("heads", run, "--source", tmp_path / "x")


def test_heads_of_other_tasks(moods: Path, rhymes: Path, tmp_path: Path) -> None:
    found = json.loads(succeed("heads", moods, "--sentences", 6, "--json").out)
    assert (found["metric"], found["sentences"], {each["kind"] for each in found["heads"]}) == (
        "accuracy",
        6,
        {"encoder"},
    )
    (tmp_path / "lines.txt").write_text("On Monday a fox\n\nsaw a bear\n", encoding="utf-8")
    answer = succeed("heads", rhymes, "--file", tmp_path / "lines.txt", "-o", tmp_path / "heads.html")
    assert "on lines.txt: perplexity" in answer.out
    assert "--source is of the task 'translation'" in fail("heads", moods, "--source", tmp_path / "x")
