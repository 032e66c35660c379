"""What is shown of a text that a language model reads."""

from __future__ import annotations

import io
import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from regard.errors import UsageError
from regard.tasks.alternatives import Alternatives
from regard.tasks.language_model.page import TextAttention, draw_text, share
from regard.view.arrays import unpack
from regard.view.scenes import render, scenes_of
from tests.view.pages import at_random

TOKENS = ["▁A", "▁wh", "ale", "</s>"]


def look_at(tokens: list[str] = TOKENS, shares: list[float] | None = None, **changes: Any) -> TextAttention:
    shares = shares or [0.5 ** (place + 1) for place in range(len(tokens))]
    alternatives = [
        Alternatives([token, "▁other"], [max(own, 0.1), 0.01], [1.0, 0.0], own, rank)
        for rank, (token, own) in enumerate(zip(tokens, shares, strict=True), start=1)
    ]
    count = len(tokens)
    settings: dict[str, Any] = {
        "title": "a run", "text": "A whale", "read": ["</s>", *tokens[:-1]], "tokens": tokens, "words": 3,
        "alternatives": alternatives, "weights": at_random(2, 3, count, count), "facts": {"parameters": "7"}, **changes,
    }  # fmt: skip
    return TextAttention(**settings)


def data_of(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found
    data: dict[str, Any] = json.loads(found[1])
    return data


def render_text(look: TextAttention) -> str:
    return render(scenes_of([look]))


def scene_of(look: TextAttention) -> dict[str, Any]:
    scene: dict[str, Any] = data_of(render_text(look))["scenes"][0]
    return scene


def test_surprise_is_in_bits() -> None:
    look = look_at()
    assert look.surprisals == pytest.approx([1, 2, 3, 4])
    assert look.perplexity == pytest.approx(2 ** (10 / 3))
    assert math.isfinite(look_at(shares=[0.0] * 4).perplexity)


def test_the_page_carries_its_numbers() -> None:
    look = look_at()
    data = scene_of(look)
    assert data["target"]["tokens"] == TOKENS
    assert data["read"]["tokens"] == ["<s>", *TOKENS[:-1]], "nothing has ended where a text begins"
    assert [each["probability"] for each in data["alternatives"]] == [0.5, 0.25, 0.125, 0.0625]
    assert unpack(data["attention"]["decoder"]["weights"]) == pytest.approx(look.weights, abs=1e-4)
    assert scene_of(look_at(weights=None))["attention"] == {}
    assert data["surprise"]["pointed"] is None
    assert data["surprise"]["perplexity"] == pytest.approx(look.perplexity)
    pointed = at_random(1, 1, 4, 5)[0, 0]
    assert unpack(scene_of(look_at(pointed=pointed))["surprise"]["pointed"]) == pytest.approx(pointed, abs=1e-4)


def test_the_page_needs_nothing_else() -> None:
    page = render_text(look_at())
    assert not re.search(r"(src|href)\s*=|url\(|https?://(?!www\.w3\.org)|@import", page)
    assert "default-src 'none'" in page
    assert "prefers-color-scheme: dark" in page
    assert "한국어" in page


@pytest.mark.parametrize("text", ["</script><b>", "<!--", "\ud800", "' \" &", "고래 🐳"])
def test_any_text_is_only_text(text: str) -> None:
    page = render_text(look_at(tokens=[text, "</s>"], text=text, title=text))
    expected = text.replace("\ud800", "\\ud800") if text == "\ud800" else text
    assert data_of(page)["scenes"][0]["target"]["tokens"][0] in (text, expected)
    assert page.count("</script>") == 2
    page.encode("utf-8")


@pytest.mark.parametrize("text", ["A whale", "고래는 바다에", "\x1b[31mred", "[bold]x[/bold]"])
def test_the_terminal(text: str) -> None:
    out = io.StringIO()
    tokens = [f"▁{word}" for word in text.split()] + ["</s>"]
    draw_text(look_at(tokens=tokens, text=text), Console(file=out, width=100, no_color=True))
    told = out.getvalue()
    assert text.replace("\x1b", "�") in told.splitlines()[0]
    assert "\x1b[31m" not in told
    assert "perplexity" in told
    assert "rank" in told


def test_shades_follow_surprise() -> None:
    out = io.StringIO()
    draw_text(
        look_at(shares=[0.9, 1e-5, 0.9, 0.9]), Console(file=out, width=100, force_terminal=True, color_system="256")
    )
    first = out.getvalue().splitlines()[0]
    assert re.search(r"\x1b\[30;48;5;203m wh\x1b", first)
    assert first.startswith("A")


@pytest.mark.parametrize(
    ("probability", "text"),
    [(1, "100 %"), (0.9961, "99.6 %"), (0.99999, "99.9 %"), (0.123, "12 %"), (0.0123, "1.2 %"), (0.000012, "0.001 %")],
)
def test_shares(probability: float, text: str) -> None:
    assert share(probability) == text


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not as many"):
        look_at(read=["<s>"])
    with pytest.raises(UsageError, match=r"shape \[1, 1, 2, 2\]"):
        look_at(weights=at_random(1, 1, 2, 2))
    with pytest.raises(UsageError, match=r"pointer of shape \[4, 4\]: the text asks for \[4, 5\]"):
        look_at(pointed=at_random(1, 1, 4, 4)[0, 0])
    with pytest.raises(UsageError, match=r"should end in \.html"):
        look_at().save(tmp_path / "page.txt")
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot write the page"):
        look_at().save(tmp_path / "file" / "page.html")
    look_at().save(tmp_path / "new" / "page.html")
    assert (tmp_path / "new" / "page.html").stat().st_size > 10_000
