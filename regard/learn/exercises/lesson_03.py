"""Lesson 3: who looks at whom."""

from __future__ import annotations

from typing import Any

import torch

from regard.learn.judging import Judge, all_near, number_is, numbers, result_of, word_is
from regard.view.report import Both

place = word_is(
    ("cross", "cross-attention"),
    {
        "encoder": (
            "In the encoder queries and keys both come from the sentence that was read.",
            "인코더에서는 쿼리와 키가 모두 읽은 문장에서 나옵니다.",
        ),
        "decoder": (
            "In the decoder's self-attention the keys, too, come from the sentence that is being written.",
            "디코더 셀프 어텐션에서는 키도 쓰고 있는 문장에서 나옵니다.",
        ),
    },
    ("Answer with 'encoder', 'decoder' or 'cross'.", "'encoder', 'decoder', 'cross' 가운데 하나로 답하세요."),
)

allowed = number_is(
    21.0,
    (15.0, ("You left out the diagonal. Each position may look at itself.", "대각선을 빠뜨렸습니다. 각 위치는 자기 자신을 볼 수 있습니다.")),
    (36.0, ("That is the whole square. Later positions are hidden.", "그것은 전체 칸 수입니다. 뒤의 위치는 가려집니다.")),
    (6.0, ("That is one field for each row. Row 3 may look at three keys.", "그것은 행마다 한 칸씩 센 수입니다. 3행은 키 세 개를 볼 수 있습니다.")),
    (18.0, ("It is more than half, because the diagonal is True.", "대각선이 True이므로 절반보다 많습니다.")),
    otherwise=("Count row by row: 1 + 2 + 3 + …", "행마다 세어 보세요: 1 + 2 + 3 + …"),
)  # fmt: skip


def cross_shape(answer: Any) -> Both | None:
    """[heads, queries, keys] = [4, 5, 7]."""
    given = numbers(answer)
    if given == [4, 5, 7]:
        return None
    if given == [4, 7, 5]:
        return (
            "Rows are queries, and in cross-attention the target asks: 5 queries, 7 keys.",
            "행이 쿼리입니다. 크로스 어텐션에서는 번역문이 묻습니다: 쿼리 5개, 키 7개.",
        )
    if given in ([4, 5, 5], [4, 7, 7]):
        return (
            "A square is self-attention. Cross-attention has target × source.",
            "정사각형은 셀프 어텐션입니다. 크로스 어텐션은 번역문 × 원문입니다.",
        )
    return ("Give three numbers in a list: [heads, queries, keys].", "숫자 세 개를 리스트로 쓰세요: [헤드, 쿼리, 키].")


late_mask = number_is(
    0.75,
    (1.0, ("It would be 1 if the mask came before softmax.", "마스크가 소프트맥스보다 먼저일 때 1이 됩니다.")),
    (0.25, ("That is one weight. Three of the four are left.", "그것은 가중치 하나입니다. 네 개 중 세 개가 남습니다.")),
    (3.0, ("The weights are 1/4 each, not 1.", "가중치는 1이 아니라 각각 1/4입니다.")),
    otherwise=("Softmax of four equal scores is 1/4 each. Then the last one becomes 0.", "같은 점수 네 개의 소프트맥스는 각각 1/4입니다. 그다음 마지막이 0이 됩니다."),
)  # fmt: skip


def own_mask(answer: Any) -> Both | None:
    """The diagonal and the one below it."""
    right = torch.ones(5, 5).tril() - torch.ones(5, 5).tril(-2)
    result = result_of(answer, 5)
    numbers(result)  # or it says what is wrong
    mask = torch.as_tensor(result).float()
    if tuple(mask.shape) != (5, 5):
        return (f"For n = 5 the mask must be [5, 5], and yours is {list(mask.shape)}.", f"n = 5일 때 마스크는 [5, 5]여야 합니다. 지금은 {list(mask.shape)}입니다.")  # fmt: skip
    given = numbers(mask)
    wrong: list[tuple[torch.Tensor, Both]] = [
        (1 - right, ("It is the other way round: True = may look.", "반대로 되었습니다. True는 보아도 된다는 뜻입니다.")),
        (right.T, ("Your positions look at the one after them. Rows are queries.", "다음 위치를 보고 있습니다. 행이 쿼리입니다.")),
        (torch.ones(5, 5).tril(), ("That is the whole causal mask. Hide what is two or more positions before.", "인과 마스크 전체입니다. 두 칸 이상 앞은 가리세요.")),
        (torch.eye(5), ("Each position sees only itself. The one before is missing.", "자기 자신만 봅니다. 바로 앞 위치가 빠졌습니다.")),
        (torch.ones(5, 5).tril(-1) - torch.ones(5, 5).tril(-2), ("The diagonal is missing: each position looks at itself, too.", "대각선이 없습니다. 자기 자신도 보아야 합니다.")),
    ]  # fmt: skip
    if all_near(given, numbers(right)):
        return None
    for other, hint in wrong:
        if all_near(given, numbers(other)):
            return hint
    return (
        "Start with torch.ones(n, n, dtype=torch.bool).tril(), and take away what lies two or more below the diagonal: .triu(-1).",
        "torch.ones(n, n, dtype=torch.bool).tril()에서 시작해, 대각선보다 두 칸 이상 아래를 없애세요: .triu(-1).",
    )


EXERCISES: dict[str, Judge] = {
    "3.1": place,
    "3.2": allowed,
    "3.3": cross_shape,
    "3.4": late_mask,
    "3.5": own_mask,
}
