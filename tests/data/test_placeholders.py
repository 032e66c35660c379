"""Values are found, kept and put back; nothing else is."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard import config
from regard.data.placeholders import PLACEHOLDERS, lost, protect, protect_pair, restore
from regard.data.tokenizer import BYTES, Tokenizer, train_tokenizer
from regard.errors import DataError


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("Der Zug fährt um 8:45 Uhr.", ["8:45"]),
        ("Das kostet 1.299,95 €, also 20 % weniger.", ["1.299,95 €", "20"]),
        ("Am 3. Mai 2026, 2026-11-18, 12/3/2020", ["3", "2026", "2026-11-18", "12/3/2020"]),
        ("Siehe https://a.example/b?c=1&d=ü, oder (www.b.example).", ["https://a.example/b?c=1&d=ü", "www.b.example"]),
        ("Schreib an tom.b+x@mail.a-b.example.", ["tom.b+x@mail.a-b.example"]),
        ('<a href="x">Hallo</a> {name}, %s und {0}', ['<a href="x">', "</a>", "{name}", "%s", "{0}"]),
        ("오전 7시 30분에 만나요.", ["7", "30"]),
        ("Zimmer 7 und 7", ["7"]),
        ("the 21st, A4, mp3, x2y, 3D, 1 < 2 > 0, 100% sure", ["1", "2", "0", "100"]),
        (
            "IBAN DE89 3704 0044 0532 0130 00, GB29NWBK60161331926819.",
            ["DE89 3704 0044 0532 0130 00", "GB29NWBK60161331926819"],
        ),
        ("Ruf +49 221 123456 oder (0221) 12-34 56 an!", ["+49 221 123456", "(0221) 12-34 56"]),
        ("전화는 010-1234-5678이고 (Tel. 02 123 4567)", ["010-1234-5678", "02 123 4567"]),
        ("+49 (0)30 / 1234, 0171 / 98 76", ["+49 (0)30 / 1234", "0171 / 98 76"]),
        ("1 000 000 Einwohner, 12\u00a0345,67 km, Zimmer 12 14", ["1 000 000", "12\u00a0345,67 km", "12", "14"]),
        (
            "5 km, 3.5kg, $5, 10€, -5 °C, 60 m² und 90er, 5mal, 2,5x, 1.5e3",
            ["5 km", "3.5kg", "$5", "10€", "-5 °C", "60 m²"],
        ),
        ("2026-05-03T08:45:00Z, 2026-05-03Text, 5-mal", ["2026-05-03T08:45:00Z", "5"]),
        ("{{count}}, ${price}, %(user)s, %1$s, %.2f", ["{{count}}", "${price}", "%(user)s", "%1$s", "%.2f"]),
        (
            "https://a.kr에서, www.한국.kr/역/으로, a@b.kr로, report.pdf를, ftp://a.b/c",
            ["https://a.kr", "www.한국.kr/역/으로", "a@b.kr", "report.pdf", "ftp://a.b/c"],
        ),
        ("Siehe example.org/a, bericht.pdf und config.toml.", ["example.org/a", "bericht.pdf", "config.toml"]),
        ("Danke @anna_b für #regard &amp; C#!", ["@anna_b", "#regard", "&amp;"]),
        ("Hallo 😀👍🏽 und ❤️!", ["😀👍🏽", "❤️"]),
        ("Teil AB-1234-X, RTX4090, F-16: B2B-1.", ["AB-1234-X", "RTX4090", "F-16", "B2B-1"]),
        ("AB-1234-X를 XR500으로, 7-X9-44A", ["AB-1234-X", "XR500", "7-X9-44A"]),
        ("MP3-PLAYER, U-20-Team, U-BAHN, Covid-19, AB12x, COVID-19", ["20", "19"]),
        ("z.B. Dr.Müller, HAUS, Nr. 5a und/oder # & @", []),
        ("kein Wert. Ende!", []),
        ("", []),
    ],
)
def test_values(text: str, values: list[str]) -> None:
    masked, found = protect(text)
    assert found == values
    assert restore(masked, found) == text
    assert not any(value in masked for value in values if len(value) > 2)


@given(st.text(alphabet=[*PLACEHOLDERS, *"a7 .:/@<>{}%"], max_size=60))
def test_whatever_is_written_comes_back(text: str) -> None:
    masked, values = protect(text)
    if len(values) < len(PLACEHOLDERS):
        assert restore(masked, values) == text
    assert len(values) <= len(PLACEHOLDERS)


def test_what_a_model_leaves_out_or_makes_up() -> None:
    first, second, third = PLACEHOLDERS[:3]
    assert lost(f"at {second}", ["7", "8:45"]) == ["7"]
    assert restore(f"{second} and {first}, {third}!", ["7", "8:45"]) == "8:45 and 7, !"


def test_only_what_both_sides_have_is_replaced_in_training() -> None:
    pairs = {protect_pair("Um 8:45, nicht um 9.", "At 8:45, not at nine.", Random(seed)) for seed in range(60)}
    assert pairs == {(f"Um {each}, nicht um 9.", f"At {each}, not at nine.") for each in PLACEHOLDERS}
    source, target = protect_pair("7 von 9", "9 and 7", Random(1))
    assert (source[0], source[-1]) == (target[-1], target[0])
    assert source[0] != source[-1]


@pytest.mark.parametrize(
    "page",
    [
        "7",
        "7.",
        "a@",
        "@",
        "<a",
        "{",
        "{{a}",
        "% (",
        "€ 1",
        "1.",
        "5 k",
        "www.가",
        "www.가-",
        "2026-05-03T",
        "http://",
        ".a",
        "%",
        "-",
        "a.",
        "0 ",
        "@a",
        "😀",
        "+1 (2)",
        "AB12 3456 ",
        PLACEHOLDERS[0],
    ],
)
def test_a_page_of_one_thing_is_read_before_the_test_is_ended(page: str) -> None:
    masked, values = protect(page * 100_000)
    assert len(masked) <= len(page) * 100_000
    assert len(values) <= len(PLACEHOLDERS)


@pytest.mark.parametrize("joint", [True, False])
def test_a_tokenizer_has_a_token_for_each_and_is_as_large_as_asked(joint: bool) -> None:
    lines = ["Der Zug kommt um acht.", "The train comes at eight."] * 3
    settings = config.Tokenizer(vocabulary=300, coverage=1.0, joint=joint)
    tokenizer = train_tokenizer(lines, lines, settings, PLACEHOLDERS)
    assert tokenizer.size("source") == tokenizer.size("target") == 300
    assert tokenizer.has_placeholders
    assert not train_tokenizer(lines, lines, settings).has_placeholders
    stored = Tokenizer.from_dict(tokenizer.to_dict())
    text = f"Der {PLACEHOLDERS[0]}. Zug{PLACEHOLDERS[9]}kommt"
    ids = stored.encode(text)
    assert stored.decode(ids, "source") == text
    assert [each for each in ids if each >= 290] == [290, 299]
    assert stored.encode("ß")[-1] in BYTES  # where they were
    shown = stored.showing(["8:45"])
    assert shown.tokens([290, 299], "target") == ["8:45", ""]
    assert shown.line([290]) == "8:45"
    with pytest.raises(DataError, match="too few"):
        train_tokenizer(lines, lines, config.Tokenizer(vocabulary=262), PLACEHOLDERS)
