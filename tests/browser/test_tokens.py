"""The pages' own SentencePiece against the original: the same ids of 1,000 hostile lines, and the same text of any ids."""

from __future__ import annotations

import base64
import lzma
import random
import unicodedata
from functools import cache
from itertools import islice
from pathlib import Path

import pytest
from playwright.sync_api import Page

import regard
from regard import config
from regard.bundled import __file__ as bundled
from regard.data.placeholders import PLACEHOLDERS
from regard.data.sentences import rules_of
from regard.data.tokenizer import Tokenizer, add_tokens, train_text_tokenizer
from regard.tasks.translation.reading import Reader
from regard.view.document import document
from tests.browser.conftest import Open
from tests.browser.hostile_lines import WORDS, hostile_lines

LINES = hostile_lines(1_000)


@cache
def corpus() -> list[str]:
    """German and English, with hostile words between, so that some of their characters have tokens."""
    with lzma.open(Path(bundled).parent / "tatoeba-de-en.tsv.xz", "rt", encoding="utf-8") as lines:
        found = [" ".join(line.split("\t")[1:]) for line in islice(lines, 1_500)]
    return [*found, *(" ".join(WORDS) for _ in range(20))]


@pytest.fixture(scope="module")
def blank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tokens") / "tokens.html"
    path.write_text(document("tokens", "", [], ["sentencepiece", "sentences", "part_reading"]), encoding="utf-8")
    return path


@pytest.fixture
def blank_page(open_page: Open, blank: Path) -> Page:
    return open_page(blank)


@cache
def learned(kind: str, normalization: str = "nmt_nfkc") -> Tokenizer:
    settings = config.Tokenizer(kind=kind, vocabulary=1_000, normalization=normalization)
    return train_text_tokenizer(corpus(), settings)


def agree(page: Page, tokenizer: Tokenizer, lines: list[str]) -> None:
    model = base64.b64encode(tokenizer._models[0]).decode()
    draw = random.Random(1)
    size = tokenizer.size("source")
    mixed = [
        [draw.randrange(size) if draw.random() < 0.5 else draw.randrange(4, 260) for _ in range(12)] for _ in LINES
    ]
    found = page.evaluate(
        """([model, lines, mixed]) => {
            const pieces = new SentencePiece(Uint8Array.from(atob(model), (each) => each.charCodeAt(0)));
            return [lines.map((line) => pieces.encode(line)), mixed.map((ids) => pieces.line(ids.filter((id) => id > 3)))];
        }""",
        [model, lines, mixed],
    )
    expected = [tokenizer.encode(line) for line in lines]
    assert sum(map(len, expected)) > 10 * len(lines)
    odd = [(line, want, got) for line, want, got in zip(lines, expected, found[0], strict=True) if want != got]
    assert not odd, odd[:3]
    assert found[1] == [tokenizer.line(ids) for ids in mixed]


def test_the_demo_reads_hostile_lines_as_it_does_in_python(blank_page: Page, demo: regard.Translator) -> None:
    agree(blank_page, demo.tokenizer, LINES)


@pytest.mark.parametrize("kind", ["bpe", "unigram", "characters"])
@pytest.mark.parametrize("normalization", ["nmt_nfkc", "nmt_nfkc_cf", "identity"])
def test_every_kind_and_normal_form(blank_page: Page, kind: str, normalization: str) -> None:
    agree(blank_page, learned(kind, normalization), LINES)


def test_whole_words(blank_page: Page) -> None:
    tokenizer = learned("words")
    known = [" ".join(line.split()[:3] * 20) for line in corpus()[:200]]
    agree(blank_page, tokenizer, known)


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_placeholders_stay_whole(blank_page: Page, kind: str) -> None:
    tokenizer = Tokenizer(add_tokens(learned(kind)._models[0], PLACEHOLDERS))
    draw = random.Random(2)
    parts = [*PLACEHOLDERS, "Haus ", "ab", " ", "ä", "안녕"]
    agree(blank_page, tokenizer, ["".join(draw.choices(parts, k=30)) for _ in range(200)])


def test_parts_are_read_and_written_as_in_python(blank_page: Page, demo: regard.Translator) -> None:
    """Values behind placeholders, and text in one case."""
    values = (
        "UM 8:45 AN A@B.EXAMPLE, <b>{x}</b> %s; 1.000,50 https://a.example/B? VOM 3. MAI, 5 KM, 5 km, 3.5kg €5 -5 °C {{y}} %1$s"
        " www.가.kr에서 a@b.kr로 2026-05-03T08:45Z AB-1234-X를 7-X9-44A RTX4090, MP3-PLAYER U-20-Team"
    )
    assigned = [line for line in hostile_lines(300) if all(unicodedata.category(each) != "Cn" for each in line)]
    assert len(assigned) > 100  # a browser may know letters that Python does not know yet
    some = [values, values.lower(), *corpus()[:60], *assigned]
    lines = [changed for line in some for changed in (line, line.upper(), line.lower(), f"{line} {line[::-1]}")]
    with_placeholders = Tokenizer(add_tokens(learned("unigram")._models[0], PLACEHOLDERS))
    for tokenizer in (demo.tokenizer, learned("bpe"), with_placeholders):
        reader = Reader(tokenizer, "de", tokenizer.has_placeholders, truecases=True)
        found = blank_page.evaluate(
            """([model, rules, lines]) => {
                const pieces = new SentencePiece(Uint8Array.from(atob(model), (each) => each.charCodeAt(0)));
                const reader = new PartReader(pieces, rules);
                return lines.map((line) => {
                    const read = reader.read(line);
                    const written = writtenOf(read, pieces.encode(read.text), pieces);
                    return [read.text, read.values, read.original, read.capitals, read.copied, reader.plain(read).text, written];
                });
            }""",
            [base64.b64encode(tokenizer._models[0]).decode(), rules_of("de"), lines],
        )
        read = reader.read(lines)
        expected = [
            [
                *each._replace(values=list(each.values)),
                reader.plain(each).text,
                each.written(tokenizer.encode(each.text), tokenizer),
            ]
            for each in read
        ]
        odd = [pair for pair in zip(expected, found, strict=True) if pair[0] != pair[1]]
        assert not odd, odd[:3]
        assert sum(each.capitals for each in read) > 50
