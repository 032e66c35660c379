"""What judges of exercises share: reading an answer of any kind, and the hints that fit every exercise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from regard.view.report import Both

Judge: TypeAlias = Callable[[Any], Both | None]
"""An answer → None if it is right, else a hint in English and Korean."""
Mistake: TypeAlias = tuple[float, Both]
"""A wrong number that people come to, and what they did."""


IN_KOREAN = {
    "크로스": "cross", "크로스 어텐션": "cross-attention", "인코더": "encoder", "디코더": "decoder", "인과": "causal", "인과 마스크": "causal mask",
    "패딩": "padding", "같다": "same", "같음": "same", "같습니다": "same", "다르다": "different", "다름": "different", "다릅니다": "different",
}  # fmt: skip
"""Words that answer an exercise, as a Korean reader may write them."""


class NotAnswered(Exception):  # noqa: N818 - no error
    """There are still three dots where the answer should be."""


class WrongKindError(ValueError):
    """An answer of the wrong kind; it carries the hint that says which kind is wanted."""

    def __init__(self, hint: Both) -> None:
        super().__init__(hint[0])
        self.hint = hint


def numbers(answer: Any) -> list[float]:
    """A number, a tensor, an array or nested lists → all numbers in a row."""
    if answer is ...:
        raise NotAnswered
    if hasattr(answer, "tolist"):
        answer = answer.detach().tolist() if hasattr(answer, "detach") else answer.tolist()
    if isinstance(answer, Sequence) and not isinstance(answer, str):
        return [each for one in answer for each in numbers(one)]
    if isinstance(answer, str):
        raise WrongKindError(
            (
                f"Numbers are asked for, and {answer!r} is text. Write them without quotes or %, such as 0.5 or [1, 2].",
                f"숫자를 묻는 문제인데 {answer!r}은(는) 텍스트입니다. 0.5나 [1, 2]처럼 따옴표와 % 없이 쓰세요.",
            )
        )
    if isinstance(answer, bool | int | float):
        return [float(answer)]
    raise WrongKindError(
        (
            f"Numbers are asked for, and this is {type(answer).__name__}: {answer!r}",
            f"숫자를 묻는 문제입니다. 지금 답은 {type(answer).__name__}입니다: {answer!r}",
        )
    )


def near(one: float, other: float, tolerance: float = 0.01) -> bool:
    """As near as a rounded answer is: within the tolerance, of the number or of 1."""
    return abs(one - other) <= tolerance * max(1.0, abs(other)) if one == one else False


def all_near(found: Sequence[float], right: Sequence[float], tolerance: float = 0.01) -> bool:
    return len(found) == len(right) and all(near(a, b, tolerance) for a, b in zip(found, right, strict=True))


def number_is(right: float, *mistakes: Mistake, otherwise: Both, tolerance: float = 0.01) -> Judge:
    """A judge of one number."""

    def judge(answer: Any) -> Both | None:
        given = numbers(answer)
        if len(given) != 1:
            return (
                f"One number is asked for, not {len(given)}. A decimal has a point: 0.84, not 0,84.",
                f"숫자 하나를 묻는 문제입니다. 지금은 {len(given)}개입니다. 소수점은 쉼표가 아니라 점입니다: 0,84가 아니라 0.84.",
            )
        if near(given[0], right, tolerance):
            return None
        return next((hint for wrong, hint in mistakes if near(given[0], wrong, tolerance)), otherwise)

    return judge


def word_is(right: str | Sequence[str], mistakes: Mapping[str, Both], otherwise: Both) -> Judge:
    """A judge of one word out of few, in English or Korean; capitals do not matter."""
    rights = {right} if isinstance(right, str) else set(right)

    def judge(answer: Any) -> Both | None:
        word = str(answer).strip().lower()
        word = IN_KOREAN.get(word, word)
        return None if word in rights else mistakes.get(word, otherwise)

    return judge


def result_of(function: Any, *given: Any) -> Any:
    """What the reader's function returns; three dots mean that it is not written yet."""
    if not callable(function):
        raise WrongKindError(
            (
                f"A function is asked for: give check its name, not {function!r}",
                f"함수를 묻는 문제입니다. check에 함수 이름을 넘기세요. 지금 답: {function!r}",
            )
        )
    result = function(*given)
    if result is ...:
        raise NotAnswered
    if result is None:
        raise WrongKindError(
            (
                "Your function gives nothing back. Does it end with return?",
                "함수가 아무것도 돌려주지 않습니다. return으로 끝나는지 확인하세요.",
            )
        )
    return result
