"""The page of a race carries its numbers, executes nothing it was given, and says who won and how surely."""

from __future__ import annotations

import io
import json
from copy import deepcopy
from pathlib import Path

import pytest
from rich.console import Console

from regard.errors import UsageError
from regard.experiments.race.page import draw_race, headline, render_race, write_race
from tests.view.races import comparison
from tests.view.test_page import Elements


def test_the_page_carries_all_numbers_and_asks_nobody() -> None:
    given = comparison()
    page = Elements(render_race(given))
    data = json.loads(page.texts["script"][0])
    english, korean = headline(given)
    assert data.pop("headline") == {"en": english, "ko": korean}
    assert data == given
    assert not [tag for tag, attributes in page.tags if {"src", "href"} & attributes.keys()]


def test_texts_stay_texts() -> None:
    given = comparison(name="</title><script>hacked()</script>")
    for place, text in enumerate(
        ["</script><script>hacked()</script>", "/*SCRIPT*/ <!--TITLE--> /*DATA*/ half \ud83d"]
    ):
        given["samples"][place]["source"] = text
        given["samples"][place]["answers"]["conv"] = text
    harmless = Elements(render_race(comparison()))
    page = Elements(render_race(given).encode("utf-8").decode("utf-8"))
    assert [tag for tag, _ in page.tags] == [tag for tag, _ in harmless.tags]
    data = json.loads(page.texts["script"][0])
    del data["headline"]
    assert data == given
    assert page.texts["script"][1:] == harmless.texts["script"][1:]


def test_the_headline_says_who_won_and_how_surely() -> None:
    given = comparison()
    assert headline(given) == (
        "transformer is ahead: BLEU 26.00, 3.00 more than conv (p = 0.001)",
        "transformer 1위: BLEU 26.00, conv보다 3.00 높습니다(p = 0.001).",
    )
    given["pairs"][-1]["metrics"][0]["p_value"] = 0.3
    assert headline(given)[0].startswith("transformer is ahead, though chance could have done it: BLEU 26.00")
    assert headline(given)[1].endswith("다만 우연히 생길 수 있는 차이입니다.")
    assert headline(comparison(("conv",)))[0] == "conv: BLEU 20.00"


def test_less_may_be_better() -> None:
    given = comparison(lower=True)
    english, korean = headline(given)
    assert english == "rnn is ahead: BLEU 20.00, 3.00 less than conv (p = 0.001)"
    assert "conv보다 3.00 낮습니다" in korean


def test_the_order_of_the_entrants_does_not_matter() -> None:
    """The last pair compares the two best either way round; its difference changes sign, the words do not."""
    given = comparison()
    turned = deepcopy(given)
    turned["entrants"].reverse()
    for pair in turned["pairs"]:
        pair["a"], pair["b"] = pair["b"], pair["a"]
    assert headline(turned) == headline(given)


def test_the_table_in_the_terminal_puts_the_best_first() -> None:
    said = io.StringIO()
    given = comparison()
    given["entrants"][0]["trained_per_second"] = None
    draw_race(given, Console(file=said, width=80))
    lines = said.getvalue().splitlines()
    for mark in ("MB", "["):
        assert [line.split()[0] for line in lines if mark in line] == ["transformer", "conv", "rnn"]
    assert "26.00 [25.0, 27.0]" in said.getvalue()
    assert "–" in next(line for line in lines if line.startswith("rnn") and "MB" in line)
    assert "…" not in said.getvalue(), "it fits an old terminal"
    for score in given["entrants"][0]["scores"]:
        assert f"{score['name']}: {score['signature']}" in lines


def test_only_html_and_only_where_one_can_write(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"race\.pdf should end in \.html"):
        write_race(tmp_path / "race.pdf", comparison())
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot write the page to"):
        write_race(tmp_path / "file" / "race.html", comparison())
    write_race(tmp_path / "new" / "race.html", comparison())
    assert (tmp_path / "new" / "race.html").read_text(encoding="utf-8") == render_race(comparison())
