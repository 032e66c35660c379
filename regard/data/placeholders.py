"""Numbers, addresses and tags → placeholders that a model copies, and back: what must come out as it went in.

A placeholder is one character of a private plane of Unicode, which the tokenizer has a token for. In a text that happens to
hold such a character, it is protected like a number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random

PLACEHOLDERS = "".join(chr(0x10F100 + number) for number in range(10))
"""As many values of one sentence can be protected; the rest is left to the model."""

# How the name of a site or a file ends, where no www. begins it.
ENDINGS = (
    "com|org|net|edu|gov|info|example|io|eu|de|at|ch|fr|uk|es|it|nl|kr|jp|cn"
    "|pdf|docx?|xlsx?|pptx?|odt|txt|csv|tsv|jsonl?|xml|html?|md|srt|zip|png|jpe?g|gif|mp3|mp4|py|js|toml"
)

# Words go on behind an address in Korean: a.example에서, report.pdf를.
HANGUL = "가-힣"
HOST = rf"(?:[^\W{HANGUL}]|-)"
# What a number measures is kept with it: a model that has no token for it loses it. 1980s, 21st and 5th are words.
SIGN = "€$£¥₩"
UNIT = rf"""(?:[ \u00a0\u202f]?
    (?:[{SIGN}] | EUR|USD|GBP|CHF|KRW | °[CF]? | km/h | (?:[mck]?m|ha)[²³]? | [mk]?g | m?l | [kMGT]B | [kM]?Wh? | [kMG]Hz | h ))"""
CODE_ENDED = rf"(?![^\W{HANGUL}]|-|\.\w)"
ENDED = r"(?![A-Za-z\d]|[.,:/'’-]\d)"  # and not within 2026-05-03T08

# Every repetition is bounded or cannot match in two ways, so that a page of one kind of character takes linear time.
VALUE = re.compile(
    rf"""
    [{PLACEHOLDERS}]
    | (?:(?:https?|s?ftp|file)://|www\.)(?:[^\s/?\#<>"„“”»«{HANGUL}{PLACEHOLDERS}]|[{HANGUL}](?=[{HANGUL}-]{{0,62}}\.\w)){{0,300}}
      (?:[/?\#][^\s<>"„“”»«{PLACEHOLDERS}]{{0,2000}})?(?<![.,;:!?)\]'’])  # an address, without what ends the sentence
    | (?<![\w.+@-])[\w.+-]{{1,64}}@{HOST}{{1,63}}(?:\.{HOST}{{1,63}}){{1,8}}         # somebody's e-mail
    | (?<![\w.@/-])(?:[\w-]{{1,62}}\.){{1,4}}(?:{ENDINGS})(?:/[\w./?=&%\#-]{{0,200}}[\w/])?(?!@|{HOST})  # example.org/a, report.pdf
    | (?<![\w@\#&/])[@\#]\w{{1,60}} | &\#?\w{{1,10}};                                # @somebody, #something, &amp;
    | </?[A-Za-z][^<>]{{0,200}}> | [$%]?\{{{{1,3}}[\w.]{{0,40}}\}}{{1,3}}            # tags, and what programs fill in
    | %(?:\(\w{{1,40}}\)|\d\$)?[\d.]{{0,4}}[sdf](?!\w)
    | [\u2600-\u27bf\U0001f000-\U0001faff][\u200d\ufe0f\u2600-\u27bf\U0001f000-\U0001faff]{{0,40}}  # little pictures
    | (?<!\w)[A-Z]{{2}}\d\d[ ]?[A-Z\d]{{4}}(?:[ ]?\d[A-Z\d]{{3}}){{1,6}}(?:[ ]?\d[A-Z\d]{{0,2}})?(?!\w)  # an IBAN
    | (?<![\w.,])(?:\+\d{{1,4}}|\(0\d{{1,5}}\)|0\d{{1,5}})                          # a telephone: +49 (0)221 12-34
      (?:(?:[ \u00a0/-]|[ ][/–-][ ])(?:\(\d{{1,4}}\)[ ]?)?\d{{1,8}}){{1,6}}(?![A-Za-z\d])
    | (?<![\w.,])\d{{4}}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{{1,9}})?)?(?:Z|[+-]\d\d:?\d\d)?(?!\w)
    | (?<![\w.@/-])(?![A-Z\d-]{{0,60}}[A-Z]{{4}})(?=[A-Z-]{{0,20}}\d)(?=[\d-]{{0,60}}[A-Z])  # AB-1234-X, not MP3-PLAYER
      [A-Z\d]{{1,12}}(?:-[A-Z\d]{{1,12}}){{1,4}}{CODE_ENDED}
    | (?<![\w.@/-])[A-Z]{{1,4}}\d{{2,12}}[A-Z]{{0,3}}{CODE_ENDED}             # RTX4090, not A4
    | (?<![\w.,])(?:[{SIGN}][ ]?)?[+-]?(?:
        \d{{1,3}}(?:[ \u00a0\u202f]\d{{3}}){{1,4}}(?:[.,]\d{{1,40}})?{UNIT}?{ENDED}    # 1 000 000
      | \d{{1,40}}(?:[.,:/'’-]\d{{1,40}}){{0,20}}{UNIT}?{ENDED})                        # 7, 8:45, 1.000,50 €, 2026-11-18; not 21st
    """,
    re.VERBOSE,
)


def protect(text: str) -> tuple[str, list[str]]:
    """The text with placeholders in place of its values, and the values; what occurs twice has one placeholder."""
    values: list[str] = []

    def replaced(found: re.Match[str]) -> str:
        value = found[0]
        if value not in values:
            if len(values) == len(PLACEHOLDERS):
                return "" if value in PLACEHOLDERS else value  # it would be taken for another's
            values.append(value)
        return PLACEHOLDERS[values.index(value)]

    return VALUE.sub(replaced, text), values


def restore(text: str, values: Sequence[str]) -> str:
    """The values in their places; a placeholder that stands for nothing is left out."""
    if not any(character in PLACEHOLDERS for character in text):
        return text
    return "".join(
        (values[place] if place < len(values) else "") if (place := PLACEHOLDERS.find(character)) >= 0 else character
        for character in text
    )


def lost(text: str, values: Sequence[str]) -> list[str]:
    """Of a text with placeholders, the values that it lacks."""
    return [value for placeholder, value in zip(PLACEHOLDERS, values, strict=False) if placeholder not in text]


def outside_values(text: str, change: Callable[[str], str]) -> str:
    """A text of which all is changed but its values."""
    pieces, end = [], 0
    for found in VALUE.finditer(text):
        pieces += [change(text[end : found.start()]), found[0]]
        end = found.end()
    return "".join((*pieces, change(text[end:])))


def protect_pair(source: str, target: str, random: Random) -> tuple[str, str]:
    """A training pair with placeholders for the values that both sides have, drawn at random, so that all are learned."""
    common = {found[0] for found in VALUE.finditer(source)} & {found[0] for found in VALUE.finditer(target)}
    chosen = sorted(common)[: len(PLACEHOLDERS)]
    names = dict(zip(chosen, random.sample(PLACEHOLDERS, len(chosen)), strict=True))

    def replaced(found: re.Match[str]) -> str:
        return names.get(found[0], found[0])

    return VALUE.sub(replaced, source), VALUE.sub(replaced, target)
