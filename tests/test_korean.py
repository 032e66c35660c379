"""Korean, one word per idea: on the pages, in the docs and in the course the same thing has the same name."""

from __future__ import annotations

import re

import pytest

from tests.test_imports import PACKAGE

ROOT = PACKAGE.parent
FILES = sorted(
    path
    for pattern in (
        "regard/**/*.py",
        "regard/**/*.js",
        "regard/**/*.html",
        "regard/**/*.md",
        "docs/**/*.md",
        "site/*.md",
        "*.ko.md",
    )
    for path in ROOT.glob(pattern)
    if PACKAGE / "bundled" not in path.parents  # sentences to learn from may say anything
)
WORDS = {
    "파라미터": "매개변수",
    "교차 어텐션": "크로스 어텐션",
    "자기 어텐션": "셀프 어텐션",
    "(?<![가-힣])질의": "쿼리",
    "혼란도": "퍼플렉서티",
    "갱신": "업데이트",
    r"(?<!토큰\(단어 )조각": "토큰",  # once, where a learner meets it first: 토큰(단어 조각)
    "단어로 묶기": "단어로 합치기",
    "표집": "샘플링",
    "시험 문장": "테스트 세트",
    "대응 부트스트랩": "쌍체 부트스트랩(paired bootstrap)",
    "배율": "스케일 γ",
    "이동 β": "시프트 β",
    "되돌리기": "초기화",
    "test의 BLEU": "테스트 BLEU",
    "어텐션의 종류": "어텐션 종류",
    "보이는 쪽": "주목받는 쪽",
    "(?<![가-힣])보는 쪽": "주목하는 쪽",
    "받은 합(?!계)": "받은 어텐션 합계",
    "가장 강한 곳": "가장 큰 가중치",
    "이것을 보는 곳": "이 단어를 보는 곳",
    "Escape로": "Esc로",
    "실제 수로": "실제 값으로",
    "주의의 몫": "어텐션을 나누어 주는 비율",
    "찬성과 반대": "라벨에 유리한 단어와 불리한 단어",
    "묶음의 투표": "연속한 토큰(n-gram)별 기여",
    "헤드 하나하나의 값어치": "헤드별 기여도",
    "선택 하나하나의 값어치": "설정별 효과",
    "어휘가 정함": "어휘 분포가 결정",
}
"""What not to write, and what to write."""


def findings(text: str) -> list[str]:
    return [
        f"line {number}: {found[0]} → {better}"
        for number, line in enumerate(text.splitlines(), start=1)
        for pattern, better in WORDS.items()
        if (found := re.search(pattern, line))
    ]


def test_one_word_per_idea() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in FILES}
    korean = {path: text for path, text in texts.items() if re.search("[가-힣]", text)}
    assert len(korean) > 10  # or nothing is looked at
    found = [f"{path.relative_to(ROOT)}, {each}" for path, text in korean.items() for each in findings(text)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(("text", "wrong"), [
    ("파라미터 수", True), ("질의와 키", True), ("성질의 차이", False), ("토큰(단어 조각) 10개", False), ("세 조각", True),
    ("받은 합", True), ("받은 합계", False), ("바라보는 쪽", False), ("k만큼의 이동", False), ("학습된 이동 β", True),
])  # fmt: skip
def test_the_words_are_found(text: str, wrong: bool) -> None:
    assert bool(findings(text)) == wrong


def test_what_to_write_is_not_forbidden() -> None:
    assert not findings("\n".join(WORDS.values()))
