"""What heads do across a corpus: laws of the sums, the strongest looks, and the ways to show them."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import regard
from regard.errors import UsageError
from regard.tasks.head_patterns import EXAMPLES, MOST_WORDS, WORDS, Gathered
from regard.tasks.head_patterns_page import NEAR, HeadPatterns, render_patterns
from regard.view.inside import side_of
from tests.view.pages import at_random, seen

MARKUP = "<b>&"


def gathered(*scenes: dict[str, Any]) -> Gathered:
    found = Gathered()
    for each in scenes:
        found.add(each)
    return found


def found_in(*scenes: dict[str, Any]) -> HeadPatterns:
    return HeadPatterns("m", "corpus", len(scenes), 0, list(gathered(*scenes).patterns()))


def one(tokens: list[str], weights: np.ndarray) -> dict[str, Any]:
    """A scene of self-attention with one layer and one head."""
    return seen(tokens, ["▁x", "</s>"], weights={"encoder": weights[None, None]}).to_dict(walk=False)


def test_shares_add_up_whatever_the_model() -> None:
    found = found_in(seen().to_dict(walk=False), seen(["▁Ein", "▁Satz", "</s>"], ["▁Gut", "</s>"], weights={
        "encoder": at_random(2, 2, 3, 3), "decoder": at_random(2, 2, 2, 2), "cross": at_random(2, 2, 2, 3),
    }).to_dict(walk=False))  # fmt: skip
    assert {(each.kind, each.layer, each.head) for each in found.heads} == {
        (kind, layer, head) for kind in ("cross", "encoder", "decoder") for layer in (0, 1) for head in (0, 1)
    }
    for each in found.heads:
        assert each.special + sum(each.distances) == pytest.approx(1, abs=1e-3)
        assert len(each.distances) == 2 * NEAR + 3
        assert len(each.words) <= WORDS
        assert sum(share for _, share in each.words) == pytest.approx(1, abs=1e-6)  # there are few words


def test_a_head_that_looks_at_the_token_before() -> None:
    tokens = [f"▁w{number}" for number in range(9)]
    weights = np.eye(9, k=-1)
    weights[0, 0] = 1
    pattern = found_in(one(tokens, weights)).find("encoder", 0, 0)
    assert pattern.distances[NEAR] == pytest.approx(8 / 9, abs=1e-4)  # −1
    assert pattern.distances[NEAR + 1] == pytest.approx(1 / 9, abs=1e-4)
    assert pattern.entropy == pytest.approx(0, abs=1e-3)
    assert pattern.mostly[0].startswith("−1: ")
    places = [(int(each.queries[each.query][1:]), int(each.keys[each.key][1:])) for each in pattern.examples]
    assert set(places) == {(0, 0), (1, 0)}  # the strongest two of a sentence; these come first


def test_begin_and_end_are_told_apart_and_are_no_examples() -> None:
    weights = np.zeros((3, 3))
    weights[:, 2] = 1
    pattern = found_in(one(["▁a", "▁b", "</s>"], weights)).find("encoder", 0, 0)
    assert pattern.special == pytest.approx(1)
    assert pattern.words == [("</s>", pytest.approx(1))]
    assert pattern.examples == []
    assert pattern.mostly[1].startswith("시작·끝")


def test_the_strongest_of_a_pair_of_words_is_kept_and_tokens_are_joined() -> None:
    tokens = ["▁interest", "ing", "▁book", "</s>"]
    scenes = []
    for strongest in (0.5, 0.9, 0.7):
        weights = np.full((4, 4), (1 - strongest) / 3)
        weights[:, 2] = strongest
        scenes.append(one(tokens, weights))
    pattern = found_in(*scenes).find("encoder", 0, 0)
    weights_of = {(each.queries[each.query], each.keys[each.key]): each.weight for each in pattern.examples}
    assert weights_of["interesting", "book"] == pytest.approx(0.9, abs=1e-3)
    assert len(pattern.examples) == len(weights_of)


def test_memory_stays_the_same_however_long_the_corpus_is() -> None:
    found = Gathered()
    for number in range(0, MOST_WORDS + 4_000, 100):
        tokens = [f"▁w{each}" for each in range(number, number + 100)]
        found.add(one(tokens, np.eye(100)))
    assert len(found.numbers["encoder"]) == MOST_WORDS
    sums = found.heads["encoder"]
    assert sums.words.shape[1] < 2 * MOST_WORDS
    assert len(sums.examples[0]) == EXAMPLES


def test_a_page_holds_no_markup_of_the_corpus_and_speaks_both_languages(tmp_path: Path) -> None:
    scene = one([f"▁{MARKUP}", "▁b", "</s>"], np.full((3, 3), 1 / 3))
    scene["source"] = side_of(MARKUP, [f"▁{MARKUP}", "▁b", "</s>"])
    found = HeadPatterns("<i>m", "<c>", 1, 2, list(gathered(scene).patterns()))
    page = render_patterns(found, "regard heads <m>")
    assert "<i>m" not in page
    assert MARKUP not in page.partition("</style>")[2]
    assert len(re.findall(r"<section class='head'", page)) == 1
    assert "헤드별 어텐션 패턴" in page
    assert "left out" in page
    with pytest.raises(UsageError, match=r"should end in \.html"):
        found.write(tmp_path / "page.png")
    out = io.StringIO()
    found.draw(Console(file=out, width=120))
    assert "mostly at" in out.getvalue()


def test_a_corpus_of_demo(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("Ich habe Hunger.\n\nWo ist Tom?\nDas ist gut.\n", encoding="utf-8")
    found = regard.head_patterns("demo", corpus, sentences=2, output=tmp_path / "page.html")
    assert found.sentences == 2  # blank lines are no texts
    assert len(found.heads) == 32
    told = json.loads(json.dumps(found.to_dict()))
    assert told["heads"][0]["layer"] == told["heads"][0]["head"] == 1
    again = regard.head_patterns("demo", ["Ich habe Hunger.", "Wo ist Tom?"])
    assert again.heads == found.heads
    assert (tmp_path / "page.html").stat().st_size < 500_000


def test_what_cannot_be_gathered_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="it has no text"):
        regard.head_patterns("demo", ["", "  "])
    with pytest.raises(UsageError, match="at least one is needed"):
        regard.head_patterns("demo", ["Hallo."], sentences=0)
    with pytest.raises(UsageError, match=r"should end in \.html"):
        regard.head_patterns("demo", tmp_path / "no.txt", output=tmp_path / "page.png")
