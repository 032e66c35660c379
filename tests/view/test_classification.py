"""What a decision looked at, shown: words are sums of tokens, signs keep their colours, a page needs nothing else."""

from __future__ import annotations

import html
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
from regard.tasks.classification.page import (
    Explanation,
    draw_decision,
    percent,
    render_decisions,
    signed,
    write_decisions,
)
from regard.view.arrays import unpack
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
    draw_decision(seen, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def shaded(page: str) -> list[str]:
    return re.findall(r"<p class='shaded'>(.*?)</p>", page)


def text_in(markup: str) -> str:
    return html.unescape(re.sub(r"<[^>]*>", "", markup))


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
    assert "The so [left out생략 …]up was not bad!" in [text_in(each) for each in shaded(render_decisions([seen]))]
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
    assert "and 28 less probable labels" in render_decisions([seen])


def test_a_page_shades_every_word() -> None:
    page = render_decisions([decision()], "regard view runs/x 'The soup'")
    attention, gradient = shaded(page)
    for markup in (attention, gradient):
        assert text_in(markup) == "The soup was not bad!"
    depths = [float(each) for each in re.findall(r"--depth: ([\d.]+)", gradient)]
    assert max(depths) == 1
    assert re.findall(r"class='(for|against)", gradient) == ["against", "against", "against", "for", "for", "for"]
    assert "against" not in attention
    assert "regard view runs/x &#x27;The soup&#x27;" in page
    assert "good: 90.0 %" in page
    assert page.count("<span lang='en'>") == page.count("<span lang='ko'>") >= 5
    assert not re.search(r"(src|href)\s*=|@import|url\(|https?://(?!www\.w3\.org)", page)


def test_a_page_holds_the_weights() -> None:
    seen = decision()
    (data,) = re.findall(r"<script type='application/json'>(.*?)</script>", render_decisions([seen]))
    content = json.loads(data)
    assert content["words"] == ["The", "soup", "was", "not", "bad", "!"]
    np.testing.assert_allclose(unpack(content["weights"]), seen.word_weights(), atol=1e-4)


def test_words_are_no_markup() -> None:
    seen = decision(
        tokens=["▁</script><b>", "▁&amp;", "'\""], label="<i>", probabilities={"<i>": 1.0}, ngram_contributions=[("<u>", 1.0)],
        ngrams=np.ones(3), title="<x>",
    )  # fmt: skip
    page = render_decisions([seen])
    assert not re.search(r"<(b|i|u|x)>", page)
    assert text_in(shaded(page)[0]) == "</script><b> &amp;'\""
    assert page.count("</script>") == 3  # of the weights, of what draws them, of the report


def test_ngrams_are_shown_where_there_are_any() -> None:
    seen = decision(
        ngrams=np.linspace(1, -1, len(TOKENS)), ngram_contributions=[("not bad", 0.8), ("soup", -0.4), ("", 0.0)]
    )
    page = render_decisions([seen])
    assert len(shaded(page)) == 3
    assert re.findall(r"<i class='(for|against)' style='--part: ([\d.]+)'", page)[:2] == [
        ("for", "1.000"),
        ("against", "0.500"),
    ]
    assert "n-grams: “not bad” +0.80, “soup” −0.40" in drawn(seen)
    assert len(shaded(render_decisions([decision()]))) == 2


def test_bars_are_aligned_whatever_the_script() -> None:
    told = drawn(decision(label="아주 좋다", probabilities={"아주 좋다": 0.6, "meh": 0.3, "b" * 40: 0.1})).splitlines()
    ends = {cell_len(line[: line.index("█")]) for line in told if "█" in line}
    assert len(ends) == 1


def test_windows_follow_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = [decision(window=number, windows=5) for number in (1, 2, 3)]
    page = render_decisions(seen)
    assert [f"Window {number} of 5" in page for number in (1, 2, 3, 4)] == [True, True, True, False]
    assert "2 more windows are not shown" in page
    monkeypatch.setattr(classification, "MOST_MAPPED", 2 * seen[0].weights.size)
    small = render_decisions(seen)
    assert (page.count("class='maps"), small.count("class='maps")) == (3, 2)
    assert "no room for the weights" in small
    assert "window 2 of 5" in drawn(seen[1])


def test_the_first_position_has_a_name() -> None:
    page = render_decisions([decision(tokens=["<s>", "▁a", "b"])])
    assert text_in(shaded(page)[0]) == "start시작 ab"


def test_numbers_as_people_read_them() -> None:
    assert [signed(value) for value in (0.5, -0.25, 0.001, -0.001)] == ["+0.50", "−0.25", "0.00", "0.00"]
    assert [percent(share) for share in (0.5, 0.99999, 1.0, 0.0)] == ["50.0 %", "99.9 %", "100 %", "0.0 %"]


def test_pages_are_written_whole(tmp_path: Path) -> None:
    write_decisions(tmp_path / "new" / "page.html", [decision(title="half \ud800 pair")])
    assert (tmp_path / "new" / "page.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    with pytest.raises(UsageError, match=r"should end in \.html"):
        write_decisions(tmp_path / "page.png", [decision()])
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot write the page"):
        write_decisions(tmp_path / "file" / "page.html", [decision()])
