"""Lesson 5: order."""

from __future__ import annotations

import math
from typing import Any

from regard.attention.positions import sinusoidal_positions
from regard.learn.judging import Judge, all_near, number_is, numbers, result_of, word_is
from regard.view.report import Both

without_positions = word_is(
    "same",
    {
        "different": (
            "Shuffled words give shuffled outputs, and a mean does not see the order.",
            "단어를 섞으면 출력도 섞일 뿐이고, 평균은 순서를 보지 못합니다.",
        )
    },
    ("Answer with 'same' or 'different'.", "'same'이나 'different'로 답하세요."),
)


def first_numbers(answer: Any) -> Both | None:
    """Sines and cosines of 0, in turn."""
    given = numbers(answer)
    if all_near(given, [0, 1, 0, 1]):
        return None
    if all_near(given, [0, 0, 1, 1]):
        return ("Sines and cosines take turns here: sin, cos, sin, cos.", "여기서는 사인과 코사인이 번갈아 나옵니다: sin, cos, sin, cos.")  # fmt: skip
    if all_near(given, [1, 0, 1, 0]):
        return ("The sine comes first, and sin(0) = 0.", "사인이 먼저입니다. sin(0) = 0입니다.")
    if all_near(given, [0, 0, 0, 0]):
        return ("cos(0) is 1.", "cos(0)은 1입니다.")
    if len(given) != 4:
        return ("Give four numbers in a list.", "숫자 네 개를 리스트로 쓰세요.")
    return ("Position 0 means sin(0), cos(0), sin(0), cos(0).", "위치가 0이면 sin(0), cos(0), sin(0), cos(0)입니다.")


same_distance = number_is(
    87.0,
    (90.0, ("The distance between 3 and 10 is 7.", "3과 10 사이의 거리는 7입니다."), ),
    (73.0, ("The product is the same, but the question asks for a later position.", "내적은 같지만, 문제는 뒤의 위치를 묻고 있습니다.")),
    (93.0, ("Add the distance, 10 − 3, not the sum.", "합이 아니라 거리 10 − 3을 더하세요.")),
    otherwise=("Only the distance matters: 10 − 3.", "거리만 중요합니다: 10 − 3."),
    tolerance=1e-6,
)  # fmt: skip

PLACES = [(position, coordinate) for position in (0, 1, 5, 12) for coordinate in range(8)]


def own_encoding(answer: Any) -> Both | None:
    """Compared with the paper's at some places."""
    given = [numbers(result_of(answer, *place, 8))[0] for place in PLACES]
    table = sinusoidal_positions(13, 8)
    if all_near(given, [float(table[place]) for place in PLACES], 1e-4):
        return None

    def angle(position: int, power: float) -> float:
        return position / math.pow(10_000, power)

    wrong: list[tuple[list[float], Both]] = [
        ([(math.cos, math.sin)[i % 2](angle(p, 2 * (i // 2) / 8)) for p, i in PLACES],
         ("Sine and cosine are exchanged: even coordinates have the sine.", "사인과 코사인이 바뀌었습니다. 짝수 좌표가 사인입니다.")),
        ([(math.sin, math.cos)[i % 2](angle(p, i / 8)) for p, i in PLACES],
         ("A pair shares its angle: use 2 · (coordinate // 2), not the coordinate itself.", "한 쌍은 각도가 같습니다. 좌표 번호가 아니라 2 · (coordinate // 2)를 쓰세요.")),
        ([(math.sin, math.cos)[i % 2](angle(p, 2 * i / 8)) for p, i in PLACES],
         ("In the formula 2i is the coordinate already: use 2 · (coordinate // 2).", "식의 2i가 이미 좌표 번호입니다. 2 · (coordinate // 2)를 쓰세요.")),
        ([(math.sin, math.cos)[i % 2](p) for p, i in PLACES],
         ("Divide the position by 10000^(2i/D) first.", "먼저 위치를 10000^(2i/D)로 나누세요.")),
    ]  # fmt: skip
    for values, hint in wrong:
        if all_near(given, values, 1e-4):
            return hint
    return (
        "angle = position / 10000 ** (2 * (coordinate // 2) / width); even coordinates: sin(angle), odd ones: cos(angle).",
        "angle = position / 10000 ** (2 * (coordinate // 2) / width)입니다. 짝수 좌표는 sin(angle), 홀수 좌표는 cos(angle)입니다.",
    )


EXERCISES: dict[str, Judge] = {
    "5.1": without_positions,
    "5.2": first_numbers,
    "5.3": same_distance,
    "5.4": own_encoding,
}
