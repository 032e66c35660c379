"""Lesson 2: the scaled dot product."""

from __future__ import annotations

from typing import Any

import torch

from regard.learn.judging import Judge, all_near, number_is, numbers, result_of
from regard.view.report import Both

variance = number_is(
    256.0,
    (16.0, ("16 is the standard deviation, √256.", "16은 표준편차 √256입니다.")),
    (1.0, ("It is 1 only after scaling. Here nothing is scaled yet.", "1이 되는 것은 스케일한 다음입니다. 여기서는 아직 스케일하지 않았습니다.")),
    (65_536.0, ("Variances add up: 256 of them, each 1.", "분산은 더합니다. 1이 256개입니다.")),
    otherwise=("Each of the 256 products has variance 1. Variances add up.", "곱 256개의 분산이 각각 1입니다. 분산은 더하면 됩니다."),
)  # fmt: skip

divided_too_much = number_is(
    0.125,
    (1.0, ("That is after dividing by √64 = 8. Here somebody divides by 64.", "√64 = 8로 나누었을 때의 값입니다. 여기서는 64로 나눕니다.")),
    (1 / 64, ("That is the variance. Take its root.", "그것은 분산입니다. 제곱근을 구하세요.")),
    (8.0, ("8 is the standard deviation before dividing. Divide it by 64.", "8은 나누기 전의 표준편차입니다. 64로 나누세요.")),
    otherwise=("The standard deviation is √64 = 8 before dividing, and dividing by 64 divides it by 64.", "나누기 전의 표준편차는 √64 = 8입니다. 64로 나누면 표준편차도 64로 나뉩니다."),
    tolerance=0.002,
)  # fmt: skip

larger_coordinates = number_is(
    16.0,
    (4.0, ("One product has variance 4 · 4, because both the query and the key have variance 4. (Or you gave the standard deviation.)",
           "쿼리와 키의 분산이 모두 4이므로 곱 하나의 분산은 4 · 4입니다. (또는 표준편차를 답했습니다.)")),
    (256.0, ("That is before dividing. Dividing by √16 divides the variance by 16.", "나누기 전의 값입니다. √16으로 나누면 분산은 16으로 나뉩니다.")),
    (64.0, ("Dividing the scores by 4 divides the variance by 4² = 16, not by 4.", "점수를 4로 나누면 분산은 4가 아니라 4² = 16으로 나뉩니다.")),
    (1.0, ("That would be so with variance 1. The scale knows only the width.", "분산이 1일 때의 답입니다. 스케일은 폭만 압니다.")),
    otherwise=("One product has variance 4 · 4 = 16. There are 16 of them, and √16 divides the variance by 16.", "곱 하나의 분산은 4 · 4 = 16입니다. 곱이 16개 있고, √16으로 나누면 분산은 16으로 나뉩니다."),
)  # fmt: skip

reaction = number_is(
    0.09,
    (0.9, ("That is the weight itself. Multiply it by 1 − 0.9.", "그것은 가중치 자체입니다. 1 − 0.9를 곱하세요.")),
    (0.1, ("That is 1 − a. Multiply it by a.", "그것은 1 − a입니다. a를 곱하세요.")),
    (0.81, ("That is a². The formula is a · (1 − a).", "그것은 a²입니다. 식은 a · (1 − a)입니다.")),
    otherwise=("0.9 · (1 − 0.9) = ?", "0.9 · (1 − 0.9) = ?"),
    tolerance=0.002,
)  # fmt: skip


def scores(answer: Any) -> Both | None:
    """Scaled by the width of a query, which is neither the number of queries nor of keys here."""
    generator = torch.Generator().manual_seed(2)
    query, key = torch.randn(3, 16, generator=generator), torch.randn(5, 16, generator=generator)
    result = result_of(answer, query, key)
    given, products = numbers(result), query @ key.T
    if all_near(given, numbers(products / 4), 1e-4):
        return None
    wrong: dict[float, Both] = {
        1.0: ("The scale is missing: divide by √E, the width of a query.", "스케일이 없습니다. 쿼리의 폭 E의 제곱근으로 나누세요."),
        16.0: ("You divided by E. Take its root: query.size(-1) ** 0.5.", "E로 나누었습니다. 제곱근으로 나누세요: query.size(-1) ** 0.5."),
        3**0.5: ("You took the root of the number of queries. The width is the last axis: query.size(-1).", "쿼리 수의 제곱근으로 나누었습니다. 폭은 마지막 축입니다: query.size(-1)."),
        5**0.5: ("You took the root of the number of keys. The width is the last axis: key.size(-1).", "키 수의 제곱근으로 나누었습니다. 폭은 마지막 축입니다: key.size(-1)."),
    }  # fmt: skip
    for divisor, hint in wrong.items():
        if all_near(given, numbers(products / divisor), 1e-4):
            return hint
    if all_near(given, numbers((products / 4).softmax(-1)), 1e-4):
        return (
            "These are the weights. The scores come before softmax.",
            "그것은 가중치입니다. 점수는 소프트맥스 이전의 값입니다.",
        )
    return (
        "query @ key.T has the shape [Q, K]. Divide it by query.size(-1) ** 0.5.",
        "query @ key.T의 모양이 [Q, K]입니다. query.size(-1) ** 0.5로 나누세요.",
    )


EXERCISES: dict[str, Judge] = {
    "2.1": variance,
    "2.2": divided_too_much,
    "2.3": larger_coordinates,
    "2.4": reaction,
    "2.5": scores,
}
