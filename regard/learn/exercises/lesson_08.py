"""Lesson 8: train it."""

from __future__ import annotations

from typing import Any

import torch

from regard.learn.judging import Judge, all_near, number_is, numbers, result_of
from regard.view.report import Both

smoothed = number_is(
    0.92,
    (0.9, ("ε is spread over all 5 words, the right one too: 0.1 / 5 comes back to it.", "ε은 정답을 포함해 단어 5개 모두에 나누어집니다. 0.1 / 5가 정답에도 돌아옵니다.")),
    (0.1, ("That is what is taken away.", "그것은 떼어 낸 양입니다.")),
    (0.02, ("That is the share of each wrong word.", "그것은 틀린 단어 하나의 몫입니다.")),
    (0.925, ("That is for 4 words. Here there are 5.", "단어가 4개일 때의 답입니다. 여기서는 5개입니다.")),
    otherwise=("1 − ε stays, and ε / 5 is added.", "1 − ε이 남고, 거기에 ε / 5가 더해집니다."),
    tolerance=0.002,
)  # fmt: skip

later_rate = number_is(
    0.5,
    (0.25, ("Take the root: √(4,000 / 16,000).", "제곱근을 구하세요: √(4,000 / 16,000).")),
    (2.0, ("After the warm-up the rate falls.", "워밍업 뒤에는 학습률이 낮아집니다.")),
    (1.0, ("The peak is at update 4,000. After it the rate falls.", "최고값은 업데이트 4,000번째입니다. 그 뒤로는 낮아집니다.")),
    otherwise=("After the warm-up the rate is peak · √(warm-up / update).", "워밍업 뒤의 학습률은 최고값 · √(워밍업 / 업데이트)입니다."),
)  # fmt: skip

beam = number_is(
    0.36,
    (0.3, ("That is what greedy finds. B begins less well, but ends better.", "탐욕 탐색이 찾는 문장입니다. B는 시작이 덜 좋지만 끝이 더 좋습니다.")),
    (0.9, ("Multiply by the probability of B.", "B의 확률도 곱하세요.")),
    (0.54, ("0.9 comes after B, which has 0.4.", "0.9는 확률이 0.4인 B 다음에 옵니다.")),
    (0.66, ("The beam finds one sentence, not both.", "빔이 찾는 문장은 둘이 아니라 하나입니다.")),
    otherwise=("Compare 0.6 · 0.5 and 0.4 · 0.9.", "0.6 · 0.5와 0.4 · 0.9를 비교하세요."),
    tolerance=0.004,
)  # fmt: skip


def own_average(answer: Any) -> Both | None:
    """Of three checkpoints with two tensors each."""
    generator = torch.Generator().manual_seed(8)
    checkpoints = [
        {"weight": torch.randn(2, 3, generator=generator), "bias": torch.randn(3, generator=generator)}
        for _ in range(3)
    ]
    result = result_of(answer, checkpoints)
    if not isinstance(result, dict) or set(result) != {"weight", "bias"}:
        return (
            "The answer is a dictionary with the same names as each checkpoint.",
            "답은 체크포인트와 이름이 같은 딕셔너리입니다.",
        )
    given = [number for name in ("weight", "bias") for number in numbers(result[name])]
    total = [
        number
        for name in ("weight", "bias")
        for number in numbers(torch.stack([each[name] for each in checkpoints]).sum(0))
    ]
    if all_near(given, [each / 3 for each in total], 1e-4):
        return None
    if all_near(given, total, 1e-4):
        return (
            "That is the sum. Divide it by the number of checkpoints.",
            "그것은 합입니다. 체크포인트 수로 나누세요.",
        )
    if all_near(given, [each / 2 for each in total], 1e-4):
        return ("You divided by 2. There may be any number of checkpoints.", "2로 나누었습니다. 체크포인트는 몇 개든 될 수 있습니다.")  # fmt: skip
    return (
        "For each name: torch.stack([each[name] for each in checkpoints]).mean(0).",
        "이름마다 torch.stack([each[name] for each in checkpoints]).mean(0)을 계산하세요.",
    )


EXERCISES: dict[str, Judge] = {"8.1": smoothed, "8.2": later_rate, "8.3": beam, "8.4": own_average}
