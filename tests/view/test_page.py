"""The page holds the numbers it was given, executes nothing it was given, and asks nobody for anything."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from regard.errors import UsageError
from regard.view.page import AttentionPage, render, write_page

SOURCE = ["▁A", "▁dog", "▁run", "s", ".", "</s>"]
TARGET = ["▁Ein", "▁Hund", "▁renn", "t", "</s>"]


def attention(layers: int, heads: int, queries: int, keys: int, seed: int = 0) -> NDArray[np.float64]:
    scores = np.exp(2 * np.random.default_rng(seed).normal(size=(layers, heads, queries, keys)))
    return np.asarray(scores / scores.sum(-1, keepdims=True))


def page(source: list[str], target: list[str], layers: int = 2, heads: int = 2, **changes: Any) -> AttentionPage:
    settings: dict[str, Any] = {
        "title": "a run",
        "source_tokens": source,
        "target_tokens": target,
        "translation": "".join(target).replace("▁", " ").strip(),
        "source_text": "".join(source).replace("▁", " ").strip(),
        "attention": {
            "encoder": attention(layers, heads, len(source), len(source), seed=1),
            "decoder": attention(layers, heads, len(target), len(target), seed=2),
            "cross": attention(layers, heads, len(target), len(source), seed=3),
        },
        "model": {"parameters": "3.1 M"},
    }
    return AttentionPage(**{**settings, **changes})


class Scripts(HTMLParser):
    """What a browser takes for script elements, and for text outside of them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.scripts: list[tuple[str | None, str]] = []
        self.comments: list[str] = []
        self.open = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "script":
            self.scripts.append((dict(attrs).get("type"), ""))
        self.open = tag == "script"

    def handle_endtag(self, tag: str) -> None:
        self.open = False

    def handle_data(self, data: str) -> None:
        if self.open:
            kind, text = self.scripts[-1]
            self.scripts[-1] = kind, text + data

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)


def embedded(text: str) -> dict[str, Any]:
    found = [body for kind, body in Scripts(text).scripts if kind == "application/json"]
    assert len(found) == 1
    data: dict[str, Any] = json.loads(found[0])
    return data


def test_the_page_holds_the_numbers_it_was_given() -> None:
    given = page(SOURCE, TARGET, layers=3, heads=4)
    maps = embedded(render(given))["maps"]
    assert list(maps) == ["cross", "encoder", "decoder"]
    for kind, weights in given.attention.items():
        np.testing.assert_allclose(maps[kind]["weights"], np.asarray(weights), rtol=0, atol=0.5001e-4)


def test_lists_and_arrays_give_the_same_page() -> None:
    given = page(SOURCE, TARGET)
    lists = {kind: np.asarray(weights).tolist() for kind, weights in given.attention.items()}
    assert render(page(SOURCE, TARGET, attention=lists)) == render(given)
    single = {kind: np.asarray(weights, dtype=np.float32) for kind, weights in given.attention.items()}
    for kind, stored in embedded(render(page(SOURCE, TARGET, attention=single)))["maps"].items():
        np.testing.assert_allclose(stored["weights"], single[kind], rtol=0, atol=1e-4)


def test_rows_and_columns_are_named_by_their_pieces() -> None:
    maps = embedded(render(page(SOURCE, TARGET)))["maps"]
    assert (maps["cross"]["queries"], maps["cross"]["keys"]) == (TARGET, SOURCE)
    assert (maps["encoder"]["queries"], maps["encoder"]["keys"]) == (SOURCE, SOURCE)
    # When a decoder writes piece t it has read the pieces before t, after a start sign.
    assert (maps["decoder"]["queries"], maps["decoder"]["keys"]) == (TARGET, ["<s>", *TARGET[:-1]])


@pytest.mark.parametrize(
    "text",
    ["</script><script>alert(1)</script>", "<!--<script>", "]]>&lt;\u2028'\"\\", "</ScRiPt >", "__ATTENTION_DATA__"],
)
def test_a_sentence_stays_data(text: str) -> None:
    harmless = Scripts(render(page(SOURCE, TARGET)))
    given = page([text, "</s>"], [text, "</s>"], title=text, model={text: text})
    shown = render(given)
    parsed, data = Scripts(shown), embedded(shown)
    assert len(parsed.scripts) == len(harmless.scripts) == 2
    assert parsed.scripts[1] == harmless.scripts[1]
    assert parsed.comments == harmless.comments
    assert data["title"] == data["source_tokens"][0] == text
    assert data["model"] == {text: text}


def test_the_page_sets_text_only_as_text() -> None:
    shown = render(page(SOURCE, TARGET))
    for way_in in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function("):
        assert way_in not in shown


def test_the_page_asks_nobody() -> None:
    shown = render(page(SOURCE, TARGET))
    for way_out in ("http://", "https://", "src=", "href=", "@import", "url(", "fetch(", "XMLHttpRequest", "import("):
        assert way_out not in shown
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', shown)
    assert policy
    assert policy[1].startswith("default-src 'none'")
    assert shown.index("Content-Security-Policy") < shown.index("<style") < shown.index("<script")


def test_the_page_says_that_attention_is_no_explanation() -> None:
    assert "not by itself an explanation" in render(page(SOURCE, TARGET))


def test_a_sentence_of_twenty_pieces_stays_small() -> None:
    pieces = ["▁word"] * 20
    assert len(render(page(pieces, pieces, layers=3, heads=4)).encode()) < 300_000


def test_a_model_with_one_kind_of_attention_has_a_page() -> None:
    recurrent = page(SOURCE, TARGET, attention={"cross": attention(1, 1, len(TARGET), len(SOURCE))})
    assert list(embedded(render(recurrent))["maps"]) == ["cross"]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({}, "none"),
        ({"self": attention(1, 1, 5, 5)}, "kind self"),
        ({"cross": attention(1, 1, 6, 5)}, r"cross attention of shape \[1, 1, 6, 5\].*\[layers, heads, 5, 6\]"),
        ({"encoder": attention(1, 1, 6, 6)[0]}, r"encoder attention of shape \[1, 6, 6\]"),
        ({"cross": np.full((1, 1, 5, 6), np.nan)}, "NaN"),
    ],
)
def test_attention_that_does_not_fit_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        render(page(SOURCE, TARGET, attention=wrong))


def test_writing_makes_the_folder_and_keeps_every_letter(tmp_path: Path) -> None:
    given: AttentionPage = page(["▁갈색", "▁개", "</s>"], ["▁كلب", "</s>"])
    path = tmp_path / "new" / "page.html"
    write_page(given, path)
    assert path.read_text(encoding="utf-8") == render(given)
    assert embedded(path.read_text(encoding="utf-8"))["source_text"] == given.source_text


def test_a_page_that_cannot_be_written_names_the_path(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=re.escape(str(tmp_path))):
        write_page(page(SOURCE, TARGET), tmp_path)
