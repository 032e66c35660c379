"""The page holds the numbers it was given, executes nothing it was given, and asks nobody for anything."""

from __future__ import annotations

import json
import os
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from regard.errors import UsageError
from regard.tasks.translation.attention import Attention
from regard.tasks.translation.translator import Translator
from regard.view.arrays import unpack
from regard.view.document import document
from regard.view.portable import PROGRAM
from regard.view.scenes import SCRIPTS, VIEWS, in_a_frame, render, scenes_of, write_page
from tests.conftest import made_up_sentences
from tests.view.pages import SOURCE, TARGET, at_random, seen


def page(*given: Attention) -> str:
    return render([each.to_dict() for each in given])


class Elements(HTMLParser):
    """What a browser takes for elements, for comments, and for the text of scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {"script": [], "style": []}
        self.comments: list[str] = []
        self.open = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.open = tag
        if tag in self.texts:
            self.texts[tag].append("")

    def handle_endtag(self, tag: str) -> None:
        self.open = ""

    def handle_data(self, data: str) -> None:
        if self.open in self.texts:
            self.texts[self.open][-1] += data

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)


def embedded(text: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(Elements(text).texts["script"][0])
    return data


def test_the_page_holds_the_numbers_it_was_given() -> None:
    given = seen()
    data = embedded(page(given))
    assert (data["movie"], data["live"]) == (None, None)
    (scene,) = data["scenes"]
    assert scene == given.to_dict()
    assert list(scene["attention"]) == ["cross", "encoder", "decoder"]
    for kind, weights in given.weights.items():
        np.testing.assert_allclose(unpack(scene["attention"][kind]["weights"]), weights, rtol=0, atol=1e-5)


def test_parts_movies_and_servers_go_with_it() -> None:
    scenes = [seen(text=text).to_dict() for text in ("one", "two")]
    data = embedded(render(scenes, movie={"frames": [1]}, live={"models": ["a"]}))
    assert data == {"scenes": scenes, "movie": {"frames": [1]}, "live": {"models": ["a"]}}


def test_rows_and_columns_are_named_by_their_tokens() -> None:
    (scene,) = embedded(page(seen()))["scenes"]
    assert [scene[side]["tokens"] for side in ("source", "target", "read")] == [SOURCE, TARGET, ["<s>", *TARGET[:-1]]]


SENTENCES = [
    "</script><script>alert(1)</script>", "<!--<script>", "-->", "]]>&lt;\u2028\u2029'\"\\", "</ScRiPt >",
    "/*SCRIPT*/", "/*STYLE*/", "/*DATA*/ /*DATA*/", "{0} {1} $& $1 \\1", "\x00\x1b[31m", "&quot; &#39;", "개 كلب 😀",
    "half a pair \ud83d",
]  # fmt: skip


@pytest.mark.parametrize("text", SENTENCES)
def test_a_sentence_stays_data(text: str) -> None:
    given = seen([text, "</s>"], [text, "</s>"], title=text, text=text, translation=text, facts={text: text})
    harmless, shown = page(seen()), page(given)
    one, other = Elements(harmless), Elements(shown)
    assert one.tags == other.tags
    assert one.comments == other.comments
    assert one.texts["style"] == other.texts["style"]
    assert one.texts["script"][1:] == other.texts["script"][1:]
    shown.encode("utf-8")
    (scene,) = embedded(shown)["scenes"]
    assert scene["title"] == scene["source"]["tokens"][0] == scene["target"]["text"] == text
    assert scene["facts"] == {text: text}


def test_every_asset_is_in_it_and_every_mark_is_filled() -> None:
    found = Elements(page(seen()))
    assets = Path(document.__code__.co_filename).parent / "assets"
    for kind, names in (("style", ("page", *VIEWS)), ("script", SCRIPTS)):
        inlined = found.texts[kind][-1]
        places = [
            inlined.index((assets / f"{name}.{'css' if kind == 'style' else 'js'}").read_text()) for name in names
        ]
        assert places == sorted(places)
        assert len(found.texts[kind]) == (1 if kind == "style" else 2)
        assert not re.search(r"/\*[A-Z]+\*/", inlined)
    # Pages of their own:
    others = {
        "report",
        "heads",
        "ablation",
        "layers",
        "race",
        "chart",
        "ask",
        "ask_pictures",
        "curve",
        "bench",
        "lesson",
        "map",
        "painter",
        "painter_worker",
        "painting",
        "painting_inside",
        "patterns",
        "picture",
        "picture_decoder",
        "attend",
        "playground",
        "playground_text",
        *PROGRAM,
    }
    assert {path.stem for path in assets.iterdir()} - others == {"page", *VIEWS, *SCRIPTS}


def test_the_page_sets_text_only_as_text() -> None:
    shown = page(seen())
    for way_in in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(", "srcdoc"):
        assert way_in not in shown


def test_the_page_asks_nobody() -> None:
    shown = page(seen()).replace("http://www.w3.org/2000/svg", "")  # a name, not an address
    for way_out in ("http://", "https://", "@import", "XMLHttpRequest", "WebSocket", "import(", "sendBeacon"):
        assert way_out not in shown
    for tag, attributes in Elements(shown).tags:
        assert tag not in {"link", "img", "iframe", "object", "embed", "base", "form"}
        assert not {"src", "href", "action", "data", "style"}.intersection(attributes)
        assert not any(name.startswith("on") for name in attributes)
    assert all(address.startswith("data:") for address in re.findall(r"url\(['\"]?([^)]*)", shown))


def test_the_policy_forbids_the_rest() -> None:
    shown = page(seen())
    found = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', shown)
    assert found
    policy = dict(rule.strip().split(" ", 1) for rule in found[1].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["img-src"] == "data:"
    assert "connect-src" not in policy  # a file asks nobody; only a live page asks its own server
    assert "connect-src 'self';" in render([], live={})
    assert "'unsafe-eval'" not in found[1]
    assert "http" not in found[1]
    assert shown.index("Content-Security-Policy") < shown.index("<style") < shown.index("<script")


def test_the_page_says_that_attention_is_no_explanation() -> None:
    assert "not by itself an explanation" in page(seen())
    assert "설명하지는 않습니다" in page(seen())


def test_a_sentence_of_twenty_tokens_stays_small() -> None:
    tokens = ["▁word"] * 20
    weights = {kind: at_random(6, 8, 20, 20) for kind in ("cross", "encoder", "decoder")}
    assert len(page(seen(tokens, tokens, weights=weights)).encode()) < 600_000


def test_numbers_that_json_lacks_are_refused() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        render([{"x": float("nan")}])


def test_writing_makes_the_folder_and_keeps_every_letter(tmp_path: Path) -> None:
    given = seen(["▁갈색", "▁개", "</s>"], ["▁كلب", "</s>"])
    path = tmp_path / "new" / "page.html"
    write_page(path, [given])
    assert path.read_text(encoding="utf-8") == page(given)
    assert embedded(path.read_text(encoding="utf-8"))["scenes"][0]["source"]["text"] == "갈색 개"


def test_saving_is_writing(tmp_path: Path) -> None:
    given = seen()
    given.save(str(tmp_path / "page.html"))
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page(given)


def test_a_page_that_cannot_be_written_names_the_path(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    locked = tmp_path / "locked"
    locked.mkdir()
    locked.chmod(0o500)
    (tmp_path / "folder.html").mkdir()
    places = [tmp_path / "folder.html", file / "page.html"] + ([] if os.geteuid() == 0 else [locked / "page.html"])
    for path in places:
        with pytest.raises(UsageError, match=rf"cannot write the page to {re.escape(str(path))}: \w"):
            write_page(path, [seen()])
    assert file.read_text() == "x"


@pytest.mark.parametrize("name", ["page.png", "-", "page"])
def test_a_page_is_not_written_under_the_name_of_something_else(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"should end in \.html"):
        write_page(tmp_path / name, [seen()])
    assert not list(tmp_path.iterdir())


def test_parts_share_the_room_for_walks(monkeypatch: pytest.MonkeyPatch, tiny_translator: Translator) -> None:
    parts = [tiny_translator.attention(sentence) for sentence in made_up_sentences(1, 3)]
    monkeypatch.setattr("regard.view.scenes.MOST_WALKED", parts[0].walk_size + parts[1].walk_size)
    assert [scene["walk"] is not None for scene in scenes_of(parts)] == [True, True, False]
    assert all(scene["walk"] is None for scene in scenes_of(parts, walk=False))


@pytest.mark.parametrize("text", SENTENCES)
def test_a_notebook_gets_the_page_in_a_frame(text: str) -> None:
    given = seen([text, "</s>"], ["▁x", "</s>"], text=text)
    (tag, attributes), *others = Elements(given._repr_html_()).tags
    assert (tag, others) == ("iframe", [])
    assert given._repr_html_() == in_a_frame(given)
    assert attributes["srcdoc"] == page(given)
    assert Elements(str(attributes["srcdoc"])).tags == Elements(page(seen())).tags
