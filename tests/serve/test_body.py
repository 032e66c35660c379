"""The JSON of a body: what is read, and what is refused because two readers would not agree on it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from regard.serve.body import DIGITS, NAMES, read_json
from regard.serve.limits import Refusal


@pytest.mark.parametrize(
    "content",
    [
        {},
        [],
        "",
        3,
        None,
        {"a": [1, {"b": "😀 안녕 \u2028"}]},
        {str(each): each for each in range(NAMES)},
        int("9" * DIGITS),
    ],
    ids=lambda content: str(content)[:10],
)
def test_json_is_read(content: Any) -> None:
    assert read_json(json.dumps(content).encode()) == content


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (b'{"a": 1, "a": 2}', 400, "The body names 'a' twice; say each field once."),
        (b'{"b": {"\\ud800": 1, "\\ud800": 2}}', 400, "names '\\ud800' twice"),
        (b'[{"a": 1}, {"a": 2, "a": 2}]', 400, "names 'a' twice"),
        (b"NaN", 400, "NaN is no JSON number"),
        (b"[-Infinity]", 400, "-Infinity is no JSON number"),
        (b"9" * (DIGITS + 1), 400, "a number of 4,001 digits; at most 4,000 can be read"),
        (b"[" * 200_000 + b"]" * 200_000, 400, "nested too deeply"),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, 400, "nested too deeply"),
        (b"\xff", 400, "byte 1 (0xff) cannot be read"),
        (b'"a\xed\xa0\x80"', 400, "byte 3 (0xed) cannot be read"),
        ('"a"'.encode("utf-16"), 400, "is not UTF-8"),
        (b"\xef\xbb\xbf1", 400, "byte order mark"),
        (b'"a\\udc00"', 422, "The body holds \\udc00 as character 2, half of a surrogate pair"),
        (b'{"a": [{"b": "\\ud83d"}]}', 422, "a.0.b holds \\ud83d as character 1"),
        (b'{"a": {"\\ud83d": 1}}', 422, "A name in a holds \\ud83d"),
        (json.dumps({str(each): each for each in range(NAMES + 1)}).encode(), 400, "of 1,001 names; at most 1,000"),
        (json.dumps({"a" * 300_000: ["b"] * 200_000 + ["\ud800"]}).encode(), 422, " holds \\ud800 as character 1"),
    ],
    ids=range(17),
)
def test_what_is_unclear_is_refused_in_a_sentence(body: bytes, status: int, said: str) -> None:
    with pytest.raises(Refusal) as refused:
        read_json(body)
    assert refused.value.status == status
    assert said in refused.value.detail
    assert len(refused.value.detail) < 300


def test_what_is_no_json_says_where() -> None:
    with pytest.raises(json.JSONDecodeError) as error:
        read_json(b'{"a": }')
    assert error.value.pos == 6
