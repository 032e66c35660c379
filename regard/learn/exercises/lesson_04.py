"""Lesson 4: many heads."""

from __future__ import annotations

from typing import Any

import torch

from regard.learn.judging import Judge, all_near, number_is, numbers, result_of
from regard.view.report import Both

head_width = number_is(
    64.0,
    (512.0, ("That is the width of all heads together.", "그것은 모든 헤드를 합친 폭입니다.")),
    (8.0, ("That is the number of heads. Divide the width by it.", "그것은 헤드 수입니다. 폭을 헤드 수로 나누세요.")),
    (4096.0, ("The heads share the width: divide, do not multiply.", "헤드들은 폭을 나누어 씁니다. 곱하지 말고 나누세요.")),
    otherwise=("E = D / H.", "E = D / H입니다."),
)  # fmt: skip


def outputs_shape(answer: Any) -> Both | None:
    """[B, H, T, E] = [2, 8, 10, 64]."""
    given = numbers(list(answer) if not isinstance(answer, int | float) else answer)
    if given == [2, 8, 10, 64]:
        return None
    if given == [2, 10, 8, 64]:
        return ("That is `rearranged`. In `head_outputs` the heads come before the words.", "그것은 `rearranged`입니다. `head_outputs`에서는 헤드가 단어보다 앞에 옵니다.")  # fmt: skip
    if given == [2, 10, 512]:
        return ("That is `merged`. Before, there is an axis for the heads.", "그것은 `merged`입니다. 그 전에는 헤드의 축이 있습니다.")  # fmt: skip
    if given == [2, 8, 10, 10]:
        return ("That is the shape of the weights. The mix has the width of a value: 64.", "그것은 가중치의 모양입니다. 혼합 결과의 폭은 값의 폭 64입니다.")  # fmt: skip
    if given == [2, 8, 10, 512]:
        return ("Each head has only 512 / 8 numbers.", "헤드마다 숫자는 512 / 8개뿐입니다.")
    return ("Give four numbers in a list: [batch, heads, words, width of a head].", "숫자 네 개를 리스트로 쓰세요: [배치, 헤드, 단어, 헤드의 폭].")  # fmt: skip


parameters = number_is(
    4 * (64 * 64 + 64),
    (4 * 64 * 64, ("The biases are missing: 64 for each of the four matrices.", "편향이 빠졌습니다. 행렬 네 개마다 64개씩입니다.")),
    (3 * (64 * 64 + 64), ("There is a fourth matrix: the output projection.", "행렬이 하나 더 있습니다. 출력 투영입니다.")),
    (8 * 4 * (64 * 64 + 64), ("The heads share the matrices. Do not multiply by 8.", "헤드들이 행렬을 나누어 씁니다. 8을 곱하지 마세요.")),
    (64 * 64 + 64, ("That is one of the four projections.", "투영 네 개 가운데 하나의 값입니다.")),
    otherwise=("Four projections (query, key, value, output), each 64 × 64 with 64 biases.", "투영이 네 개(쿼리, 키, 값, 출력)이고, 각각 64 × 64와 편향 64개입니다."),
    tolerance=1e-6,
)  # fmt: skip


def merged(answer: Any) -> Both | None:
    """Words first, then heads side by side."""
    mixed = torch.arange(2 * 3 * 4 * 5, dtype=torch.float32).view(2, 3, 4, 5)  # [B, H, T, E]
    result = torch.as_tensor(result_of(answer, mixed))
    right = mixed.transpose(1, 2).reshape(2, 4, 15)
    if tuple(result.shape) != (2, 4, 15):
        return (f"From [2, 3, 4, 5] it should come to [2, 4, 15], and yours is {list(result.shape)}.", f"[2, 3, 4, 5]에서 [2, 4, 15]가 되어야 합니다. 지금은 {list(result.shape)}입니다.")  # fmt: skip
    if all_near(numbers(result), numbers(right), 1e-6):
        return None
    if all_near(numbers(result), numbers(mixed.reshape(2, 4, 15)), 1e-6):
        return ("The shape is right, but the words are mixed up. Put the words before the heads first: transpose(1, 2).", "모양은 맞지만 단어들이 뒤섞였습니다. 먼저 단어를 헤드 앞으로 옮기세요: transpose(1, 2).")  # fmt: skip
    if all_near(numbers(result), numbers(mixed.permute(0, 2, 3, 1).reshape(2, 4, 15)), 1e-6):
        return ("The numbers of the heads alternate. Head 0 should come first, whole: [B, T, H, E].", "헤드의 숫자들이 번갈아 나옵니다. 0번 헤드가 통째로 먼저 와야 합니다: [B, T, H, E].")  # fmt: skip
    return ("mixed.transpose(1, 2) is [B, T, H, E]; then reshape(batch, words, -1).", "mixed.transpose(1, 2)는 [B, T, H, E]입니다. 그다음 reshape(배치, 단어, -1)을 하세요.")  # fmt: skip


EXERCISES: dict[str, Judge] = {
    "4.1": head_width,
    "4.2": outputs_shape,
    "4.3": parameters,
    "4.4": merged,
}
