"""Lesson 1: a store that answers softly."""

from __future__ import annotations

import math
from typing import Any

import torch

from regard.learn.judging import Judge, all_near, number_is, numbers, result_of
from regard.view.report import Both

FIRST_WEIGHT = math.exp(3) / (math.exp(3) + math.exp(1) + 1)
BETA = math.log(198)  # e^β / (e^β + 2) = 0.99

first_weight = number_is(
    FIRST_WEIGHT,
    (
        0.75,
        (
            "You divided the scores by their sum. Softmax takes e to the power of each score first.",
            "점수를 합으로 나누었습니다. 소프트맥스는 먼저 e의 점수 제곱을 계산합니다.",
        ),
    ),
    (
        math.exp(3),
        (
            "That is exp(3). Divide it by the sum of all three powers.",
            "그것은 exp(3)입니다. 세 거듭제곱의 합으로 나누세요.",
        ),
    ),
    (
        math.exp(3) / (math.exp(3) + math.exp(1)),
        ("You left out exp(0). It is 1, not 0.", "exp(0)을 빠뜨렸습니다. 0이 아니라 1입니다."),
    ),
    (
        100 * FIRST_WEIGHT,
        (
            "That is in per cent. A weight is a share between 0 and 1.",
            "그것은 퍼센트입니다. 가중치는 0과 1 사이의 비율입니다.",
        ),
    ),
    (
        1 / 3,
        ("All weights would be 1/3 only if all scores were equal.", "점수가 모두 같을 때만 가중치가 1/3이 됩니다."),
    ),
    otherwise=(
        "Compute exp(3) / (exp(3) + exp(1) + exp(0)): import math, math.exp(3) …",
        "exp(3) / (exp(3) + exp(1) + exp(0))을 계산하세요. math.exp(3)처럼 쓰면 됩니다.",
    ),
    tolerance=0.006,
)

hot_mix = number_is(
    30.0,
    (
        60.0,
        (
            "60 is the largest value. Values never decide about weights; and at high temperature all keys count alike.",
            "60은 가장 큰 값입니다. 값의 크기는 가중치를 정하지 않습니다. 온도가 높으면 모든 키의 가중치가 같아집니다.",
        ),
    ),
    (20.0, ("20 is the middle value. Take the mean.", "20은 중앙값입니다. 평균을 구하세요.")),
    (
        0.0,
        (
            "The scores go to 0, but not the weights: softmax of 0, 0, 0 is 1/3 each.",
            "점수는 0에 가까워지지만 가중치는 아닙니다. 0, 0, 0의 소프트맥스는 각각 1/3입니다.",
        ),
    ),
    (90.0, ("That is the sum. The weights sum to 1, so the answer is the mean.", "그것은 합입니다. 가중치의 합이 1이므로 답은 평균입니다.")),
    otherwise=(
        "With β = 0 all scores are 0. Which weights does softmax give then?",
        "β = 0이면 점수가 모두 0입니다. 그때 소프트맥스는 어떤 가중치를 줄까요?",
    ),
)  # fmt: skip


def hard_weights(answer: Any) -> Both | None:
    """All on the first of the two best."""
    given = numbers(answer)
    if all_near(given, [0, 1, 0, 0]):
        return None
    if all_near(given, [0, 0.5, 0.5, 0]):
        return (
            "Hard attention chooses exactly one key, also among equals: the first.",
            "하드 어텐션은 점수가 같아도 키를 정확히 하나, 첫 번째를 고릅니다.",
        )
    if all_near(given, [0, 1, 1, 0]):
        return (
            "These weights sum to 2. Of equals only the first is chosen.",
            "합이 2입니다. 점수가 같으면 첫 번째만 고릅니다.",
        )
    if len(given) != 4:
        return (
            "Give four weights as a list, such as [1, 0, 0, 0], not the place of the best key.",
            "가장 좋은 키의 번호가 아니라 [1, 0, 0, 0]처럼 가중치 네 개를 쓰세요.",
        )
    return (
        "One weight is 1, the others are 0. Which key has the best score first?",
        "가중치 하나가 1이고 나머지는 0입니다. 최고 점수가 처음 나오는 키는 어느 것일까요?",
    )


sharp_beta = number_is(
    BETA,
    (
        1 / BETA,
        ("That is the temperature. β is 1 / temperature.", "그것은 온도입니다. β는 1 / 온도입니다."),
    ),
    (
        math.log(99),
        ("There are two other keys, not one: exp(β) / (exp(β) + 2).", "다른 키는 하나가 아니라 둘입니다: exp(β) / (exp(β) + 2)."),
    ),
    (
        198.0,
        ("That is exp(β). Take its logarithm.", "그것은 exp(β)입니다. 로그를 취하세요."),
    ),
    otherwise=(
        "The scores are β, 0 and 0, so the weight is exp(β) / (exp(β) + 2). Set it to 0.99 and solve for β.",
        "점수는 β, 0, 0이므로 가중치는 exp(β) / (exp(β) + 2)입니다. 0.99와 같다고 놓고 β를 구하세요.",
    ),
)  # fmt: skip


def own_store(answer: Any) -> Both | None:
    """A store of the reader's, tried on drawn vectors."""
    generator = torch.Generator().manual_seed(1)
    query, keys, values = (torch.randn(*shape, generator=generator) for shape in ((4,), (5, 4), (5, 2)))
    scores = keys @ query
    weights = scores.softmax(0)
    given = numbers(result_of(answer, query, keys, values))
    found: dict[str, Both] = {
        "scores": ("These are the scores. Softmax and the mix are still missing.", "점수까지 구했습니다. 소프트맥스와 값의 혼합이 아직 없습니다."),
        "weights": ("These are the weights. Multiply them with the values: weights @ values.", "가중치까지 구했습니다. 값과 곱하세요: weights @ values."),
        "raw": ("You mixed by the scores themselves. Softmax comes first.", "점수로 바로 섞었습니다. 먼저 소프트맥스를 적용하세요."),
        "scaled": ("You divided by √D. Here nothing is scaled; that is lesson 2.", "√D로 나누었습니다. 여기서는 스케일하지 않습니다. 그것은 2강의 주제입니다."),
        "exp": ("You mixed by exp(scores) without dividing by their sum.", "exp(점수)로 섞고 합으로 나누지 않았습니다."),
    }  # fmt: skip
    wrong = {
        "scores": scores, "weights": weights, "raw": scores @ values, "scaled": (scores / 2).softmax(0) @ values,
        "exp": scores.exp() @ values,
    }  # fmt: skip
    if all_near(given, numbers(weights @ values), 1e-4):
        return None
    for name, tensor in wrong.items():
        if all_near(given, numbers(tensor), 1e-4):
            return found[name]
    return (
        "Three lines: scores = keys @ query, weights = scores.softmax(0), return weights @ values.",
        "세 줄이면 됩니다: scores = keys @ query, weights = scores.softmax(0), return weights @ values.",
    )


EXERCISES: dict[str, Judge] = {
    "1.1": first_weight,
    "1.2": hot_mix,
    "1.3": hard_weights,
    "1.4": sharp_beta,
    "1.5": own_store,
}
