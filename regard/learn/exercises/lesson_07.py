"""Lesson 7: what it costs."""

from __future__ import annotations

from typing import Any

from regard.learn.judging import Judge, number_is, numbers
from regard.view.report import Both

longer = number_is(
    9.0,
    (3.0, ("Every word is compared with every word: the length counts twice, n².", "모든 단어를 모든 단어와 비교하므로 길이가 두 번 들어갑니다: n².")),
    (27.0, ("n² and not n³: the width does not grow.", "n³이 아니라 n²입니다. 폭은 그대로입니다.")),
    (6.0, ("3² is 9.", "3²은 9입니다.")),
    otherwise=("(3 n)² · d compared with n² · d.", "(3 n)² · d를 n² · d와 비교하세요."),
    tolerance=1e-6,
)  # fmt: skip

balance = number_is(
    512.0,
    (262_144.0, ("That is d². Divide n² · d = n · d² by n · d.", "그것은 d²입니다. n² · d = n · d²의 양변을 n · d로 나누세요.")),
    (1.0, ("Set n² · d = n · d² and solve for n.", "n² · d = n · d²으로 놓고 n을 구하세요.")),
    otherwise=("Set n² · d = n · d² and solve for n.", "n² · d = n · d²으로 놓고 n을 구하세요."),
    tolerance=1e-6,
)  # fmt: skip

depth = number_is(
    8.0,
    (3.0, ("Each layer reaches only one word further to each side, and not three.", "층마다 양쪽으로 세 단어가 아니라 한 단어씩만 더 멀리 닿습니다.")),
    (9.0, ("Word 9 is 8 words away from word 1.", "9번 단어는 1번 단어에서 8칸 떨어져 있습니다.")),
    (4.0, ("Kernel 3 looks one word to the left and one to the right. To one side it is one word per layer.", "커널 3은 왼쪽 한 단어, 오른쪽 한 단어를 봅니다. 한쪽으로는 층마다 한 단어입니다.")),
    (1.0, ("One layer is enough for attention, but not for this convolution.", "한 층이면 되는 것은 어텐션이지 이 합성곱이 아닙니다.")),
    otherwise=("Look at the figure: how many positions more does each layer reach?", "그림을 보세요. 층마다 몇 자리씩 더 멀리 닿습니까?"),
    tolerance=1e-6,
)  # fmt: skip


def waiting(answer: Any) -> Both | None:
    """[1, 100]."""
    given = numbers(answer)
    if given == [1, 100]:
        return None
    if given == [100, 1]:
        return ("The other way round: self-attention first.", "순서가 반대입니다. 셀프 어텐션을 먼저 쓰세요.")
    if given == [100, 100]:
        return (
            "Self-attention computes all words at once: nothing waits.",
            "셀프 어텐션은 모든 단어를 한꺼번에 계산합니다. 기다릴 것이 없습니다.",
        )
    if len(given) != 2:
        return ("Give two numbers in a list: [self-attention, recurrence].", "숫자 두 개를 리스트로 쓰세요: [셀프 어텐션, 순환].")  # fmt: skip
    return ("See the column 'sequential steps' of the table.", "표의 '순차 단계' 열을 보세요.")


EXERCISES: dict[str, Judge] = {"7.1": longer, "7.2": balance, "7.3": depth, "7.4": waiting}
