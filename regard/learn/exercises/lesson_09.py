"""Lesson 9: encoder alone, decoder alone."""

from __future__ import annotations

import math
from typing import Any

import torch

from regard.learn.judging import Judge, near, number_is, numbers, result_of, word_is
from regard.view.report import Both

equal_words = number_is(
    8.0,
    (1 / 8, ("That is the probability. Perplexity is its inverse.", "그것은 확률입니다. 퍼플렉서티는 그 역수입니다.")),
    (math.log(8), ("That is the loss. Take e to its power.", "그것은 손실입니다. e의 거듭제곱을 구하세요.")),
    (3.0, ("3 bits, but the perplexity is 2³.", "3비트이지만, 퍼플렉서티는 2³입니다.")),
    (1.0, ("1 would be a model that is always sure, and right.", "1은 언제나 확신하고 언제나 맞히는 모델입니다.")),
    otherwise=("The loss is −log(1/8), and e to that power is …", "손실은 −log(1/8)입니다. e를 그만큼 거듭제곱하면 …"),
)  # fmt: skip

from_loss = number_is(
    math.exp(2),
    (4.0, ("The logarithm is natural: take e², not 2².", "자연로그이므로 2²이 아니라 e²입니다.")),
    (2.0, ("That is the loss itself.", "그것은 손실 자체입니다.")),
    (100.0, ("The logarithm is natural: take e², not 10².", "자연로그이므로 10²이 아니라 e²입니다.")),
    (math.exp(-2), ("That is the probability. Perplexity is its inverse.", "그것은 확률입니다. 퍼플렉서티는 그 역수입니다.")),
    otherwise=("exp(2.0)", "exp(2.0)입니다."),
    tolerance=0.02,
)  # fmt: skip

mask = word_is(
    ("causal", "causal mask", "causal_mask"),
    {
        "padding": (
            "Both need to hide padding. Which one hides the future?",
            "패딩은 둘 다 가려야 합니다. 미래를 가리는 마스크는 무엇입니까?",
        )
    },
    ("It hides all later words; see lesson 3.", "뒤의 단어를 모두 가리는 마스크입니다. 3강을 보세요."),
)


def own_cosine(answer: Any) -> Both | None:
    """Of vectors with lengths other than 1."""
    one, other = torch.tensor([3.0, 4.0, 0.0]), torch.tensor([1.0, 2.0, 2.0])
    given = numbers(result_of(answer, one, other))
    product = 11.0  # and the lengths are 5 and 3
    if len(given) != 1:
        return ("The cosine is one number.", "코사인은 숫자 하나입니다.")
    if near(given[0], product / 15, 1e-4):
        return None
    wrong: dict[float, Both] = {
        product: ("That is the dot product. Divide it by both lengths.", "그것은 내적입니다. 두 벡터의 길이로 나누세요."),
        product / 5: ("You divided by one length only.", "길이 하나로만 나누었습니다."),
        product / 3: ("You divided by one length only.", "길이 하나로만 나누었습니다."),
        product / 225: ("The length is the root: use .norm().", "길이는 제곱근입니다. .norm()을 쓰세요."),
        1 - product / 15: ("That is the distance, 1 − cosine.", "그것은 거리, 곧 1 − 코사인입니다."),
    }  # fmt: skip
    for value, hint in wrong.items():
        if near(given[0], value, 1e-4):
            return hint
    return ("(one @ other) / (one.norm() * other.norm())", "(one @ other) / (one.norm() * other.norm())입니다.")


EXERCISES: dict[str, Judge] = {"9.1": equal_words, "9.2": from_loss, "9.3": mask, "9.4": own_cosine}
