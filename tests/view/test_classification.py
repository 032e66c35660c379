"""What a decision looked at, shown: words are sums of tokens, signs keep their colours, a page needs nothing else."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.cells import cell_len
from rich.console import Console

from regard.errors import UsageError
from regard.tasks.classification import page as classification
from regard.tasks.classification.page import Explanation, draw_explanation, percent, signed
from regard.view.arrays import unpack
from regard.view.scenes import render, scenes_of, write_page
from tests.view.pages import at_random

TOKENS = ["▁The", "▁so", "up", "▁was", "▁no", "t", "▁bad", "!"]


def decision(**changes: Any) -> Explanation:
    tokens = changes.get("tokens", TOKENS)
    count = len(tokens)
    settings: dict[str, Any] = {
        "title": "a run",
        "text": "The soup was not bad!",
        "label": "good",
        "probabilities": {"good": 0.9, "bad": 0.1},
        "tokens": tokens,
        "weights": at_random(2, 3, count, count),
        "attention": np.full(count, 1 / count),
        "gradient": np.linspace(-1, 1, count),
        "log_odds": 2.2,
        **changes,
    }
    return Explanation(**settings)


def drawn(seen: Explanation, width: int = 100, colour: bool = False) -> str:
    console = Console(
        file=io.StringIO(), width=width, force_terminal=colour, color_system="standard" if colour else None
    )
    draw_explanation(seen, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def shown(seen: Explanation) -> dict[str, Any]:
    """The scene as its page carries it."""
    page = render(scenes_of([seen]))
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found
    scene: dict[str, Any] = json.loads(found[1])["scenes"][0]
    return scene


def test_words_are_sums_of_their_tokens() -> None:
    seen = decision()
    assert [seen.spelled(word) for word in seen.words] == ["The", "soup", "was", "not", "bad", "!"]
    for name in ("attention", "gradient"):
        values = {seen.spelled(word): value for word, value in seen.by_word(name)}
        tokens = getattr(seen, name)
        assert values["soup"] == pytest.approx(tokens[1] + tokens[2])
        assert sum(values.values()) == pytest.approx(tokens.sum())
    assert seen.word_weights().shape == (2, 3, 6, 6)
    np.testing.assert_allclose(seen.word_weights().sum(-1), 1)


def test_a_word_does_not_reach_across_what_was_left_out() -> None:
    seen = decision(gap=2)
    assert [seen.spelled(word) for word in seen.words] == ["The", "so", "up", "was", "not", "bad", "!"]
    assert "The so […]up was not bad!" in drawn(seen)
    assert [word["text"] for word in shown(seen)["source"]["words"]] == ["The", "so", "up", "was", "not", "bad", "!"]
    assert shown(seen)["decision"]["gap"] == 2
    assert "bad! […]" in drawn(decision(gap=len(TOKENS)))


def test_a_terminal_shows_text_bars_and_signs() -> None:
    out = drawn(decision())
    assert out.count("The soup was not bad!") == 2
    bars = {line.split()[0]: line.count("█") for line in out.splitlines() if "%" in line}
    assert bars == {"good": 27, "bad": 3}
    assert "for good: ! +1.00, bad +0.71, not +0.57" in out
    assert re.search(r"against good: soup −1\.1\d, The −1\.00, was −0\.14", out)
    coloured = drawn(decision(), colour=True)
    assert re.search(r"\x1b\[[\d;]*33m(soup|The)", coloured)  # yellow, underlined: against
    assert re.search(r"\x1b\[[\d;]*36m(!|bad)", coloured)  # cyan: for


def test_a_terminal_obeys_no_text() -> None:
    seen = decision(
        tokens=["▁\x1b[31m", "▁x"],
        label="a\x1b[0mb",
        probabilities={"a\x1b[0mb": 1.0},
        ngram_contributions=[("\x07", 1.0)],
    )
    assert not [letter for letter in drawn(seen) if ord(letter) < 32 and letter != "\n"]


def test_many_labels_are_not_all_shown() -> None:
    many = {f"label {number}": 1 / (number + 2) for number in range(40)}
    seen = decision(label="label 0", probabilities=many)
    assert "and 28 less probable labels" in drawn(seen)
    assert len(shown(seen)["decision"]["probabilities"]) == 40


def test_a_page_carries_what_every_word_did() -> None:
    seen = decision()
    scene = shown(seen)
    assert [word["text"] for word in scene["source"]["words"]] == ["The", "soup", "was", "not", "bad", "!"]
    for name in ("attention", "gradient"):
        assert scene["decision"]["words"][name] == pytest.approx([value for _, value in seen.by_word(name)])
    assert scene["decision"]["label"] == "good"
    assert scene["decision"]["probabilities"] == [["good", 0.9], ["bad", 0.1]]
    assert scene["source"]["text"] == "The soup was not bad!"
    np.testing.assert_allclose(unpack(scene["attention"]["encoder"]["weights"]), seen.weights, atol=1e-4)


def test_words_are_no_markup() -> None:
    seen = decision(
        tokens=["▁</script><b>", "▁&amp;", "'\""], label="<i>", probabilities={"<i>": 1.0}, ngram_contributions=[("<u>", 1.0)],
        ngrams=np.ones(3), title="<x>",
    )  # fmt: skip
    page = render(scenes_of([seen]))
    assert not re.search(r"<(b|i|u|x)>", page)
    assert page.count("</script>") == 2  # of the numbers, and of what draws them
    assert shown(seen)["source"]["tokens"][0] == "▁</script><b>"


def test_ngrams_are_shown_where_there_are_any() -> None:
    seen = decision(
        ngrams=np.linspace(1, -1, len(TOKENS)), ngram_contributions=[("not bad", 0.8), ("soup", -0.4), ("", 0.0)]
    )
    told = shown(seen)["decision"]
    assert set(told["words"]) == {"attention", "gradient", "ngrams"}
    assert told["ngrams"][:2] == [["not bad", 0.8], ["soup", -0.4]]
    assert "n-grams: “not bad” +0.80, “soup” −0.40" in drawn(seen)
    assert set(shown(decision())["decision"]["words"]) == {"attention", "gradient"}


def test_bars_are_aligned_whatever_the_script() -> None:
    told = drawn(decision(label="아주 좋다", probabilities={"아주 좋다": 0.6, "meh": 0.3, "b" * 40: 0.1})).splitlines()
    ends = {cell_len(line[: line.index("█")]) for line in told if "█" in line}
    assert len(ends) == 1


def test_windows_follow_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = [decision(window=number, windows=5) for number in (1, 2, 3)]
    scenes = scenes_of(seen)
    assert [scene["decision"]["window"] for scene in scenes] == [1, 2, 3]
    assert {scene["parts"] for scene in scenes} == {5}
    assert "window 2 of 5" in drawn(seen[1])
    monkeypatch.setattr(classification, "MOST_MAPPED", 5 * seen[0].weights.size - 1)  # no room for those of all windows
    assert [scene["attention"] for scene in scenes_of(seen)] == [{}, {}, {}]


def test_numbers_as_people_read_them() -> None:
    assert [signed(value) for value in (0.5, -0.25, 0.001, -0.001)] == ["+0.50", "−0.25", "0.00", "0.00"]
    assert [percent(share) for share in (0.5, 0.99999, 1.0, 0.0)] == ["50.0 %", "99.9 %", "100 %", "0.0 %"]


def test_pages_are_written_whole(tmp_path: Path) -> None:
    write_page(tmp_path / "new" / "page.html", [decision(title="half \ud800 pair")])
    assert (tmp_path / "new" / "page.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    with pytest.raises(UsageError, match=r"should end in \.html"):
        write_page(tmp_path / "page.png", [decision()])
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot write the page"):
        write_page(tmp_path / "file" / "page.html", [decision()])
