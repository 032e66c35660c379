"""`check("1.2", answer)`: is an exercise solved? If not, a hint for the mistake that was likely made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from regard.errors import UsageError, did_you_mean
from regard.learn.judging import Judge, NotAnswered, WrongKindError
from regard.learn.progress_file import language_of, read_progress, remember
from regard.view.report import Both

SOLVED: Both = ("✓ {name} is solved.", "✓ {name}번을 풀었습니다.")
OPEN: Both = (
    "○ {name} waits for your answer: write it in place of the three dots.",
    "○ {name}번은 아직 풀지 않았습니다. 점 세 개(...) 자리에 답을 쓰세요.",
)
BEFORE: Both = (" (You solved it before.)", " (전에 이미 풀었습니다.)")
WRONG: Both = ("✗ {name}: not yet. {hint}", "✗ {name}번: 아직 아닙니다. {hint}")
FAILED: Both = ("Your code stopped with {kind}: {error}", "코드가 {kind} 오류로 멈췄습니다: {error}")


def check(name: str, answer: Any) -> None:
    """Print whether an answer solves an exercise, and remember it if so; `...` counts as no answer yet."""
    print(verdict(str(name), answer)[1])


def told(texts: Both) -> str:
    """Of a sentence in English and Korean, such as a bench's `reading`, that in the language of the lesson."""
    return texts[language_of() == "ko"]


def verdict(name: str, answer: Any) -> tuple[bool, str]:
    """Whether it is solved, and what to say."""
    language = language_of() == "ko"
    judge = find_exercise(name)
    try:
        hint = judge(answer) if answer is not ... else None
        answered = answer is not ...
    except NotAnswered:
        answered, hint = False, None
    except WrongKindError as error:
        answered, hint = True, error.hint
    except Exception as error:  # the reader's own code, which may do anything
        answered = True
        hint = (
            FAILED[0].format(kind=type(error).__name__, error=error),
            FAILED[1].format(kind=type(error).__name__, error=error),
        )
    if not answered:
        return False, OPEN[language].format(name=name) + (BEFORE[language] if name in read_progress().solved else "")
    if hint is not None:
        return False, WRONG[language].format(name=name, hint=hint[language])
    said = SOLVED[language].format(name=name)
    try:
        remember(solved=name)
    except UsageError as error:
        said += f" ({error})"
    return True, said


def find_exercise(name: str) -> Judge:
    """What judges the answers of an exercise."""
    known = all_exercises()
    if name not in known:
        raise UsageError(
            f"there is no exercise {name!r}.{did_you_mean(name, known)} Exercises are named like 1.2: lesson 1, exercise 2"
        )
    return known[name]


def all_exercises() -> Mapping[str, Judge]:
    from regard.learn.exercises import (
        lesson_01,
        lesson_02,
        lesson_03,
        lesson_04,
        lesson_05,
        lesson_06,
        lesson_07,
        lesson_08,
        lesson_09,
        lesson_10,
    )

    lessons = (
        lesson_01,
        lesson_02,
        lesson_03,
        lesson_04,
        lesson_05,
        lesson_06,
        lesson_07,
        lesson_08,
        lesson_09,
        lesson_10,
    )
    return {name: judge for lesson in lessons for name, judge in lesson.EXERCISES.items()}
