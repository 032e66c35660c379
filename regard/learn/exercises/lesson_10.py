"""Lesson 10: pictures."""

from __future__ import annotations

from typing import Any

import torch

from regard.learn.judging import Judge, all_near, number_is, numbers, result_of
from regard.view.report import Both

patches = number_is(
    196.0,
    (14.0, ("That is one row of patches. There are as many rows.", "그것은 패치 한 줄입니다. 줄도 그만큼 있습니다.")),
    (256.0, ("That is the number of pixels in a patch.", "그것은 패치 하나의 픽셀 수입니다.")),
    (3136.0, ("Divide both sides of the picture by 16: 14 × 14.", "그림의 가로와 세로를 모두 16으로 나누세요: 14 × 14.")),
    (197.0, ("The class token is no patch.", "클래스 토큰은 패치가 아닙니다.")),
    otherwise=("224 / 16 patches in a row, and as many rows.", "한 줄에 224 / 16개이고, 줄도 그만큼 있습니다."),
    tolerance=1e-6,
)  # fmt: skip

patch_numbers = number_is(
    768.0,
    (256.0, ("That is one colour. There are three.", "그것은 색 하나입니다. 색은 셋입니다.")),
    (48.0, ("A patch has 16 rows of 16 pixels.", "패치에는 픽셀 16개짜리 줄이 16개 있습니다.")),
    otherwise=("16 · 16 · 3", "16 · 16 · 3입니다."),
    tolerance=1e-6,
)  # fmt: skip

more_scores = number_is(
    16.0,
    (4.0, ("There are 4 times as many patches. Scores are patches × patches.", "패치가 4배가 됩니다. 점수는 패치 × 패치입니다.")),
    (2.0, ("Both sides are halved: 4 times as many patches, and scores grow with their square.", "가로와 세로가 모두 절반이므로 패치는 4배가 되고, 점수는 그 제곱으로 늘어납니다.")),
    (8.0, ("The square of 4 is 16.", "4의 제곱은 16입니다.")),
    otherwise=("4 times as many patches, and n² scores (lesson 7).", "패치가 4배이고 점수는 n²입니다(7강)."),
    tolerance=1e-6,
)  # fmt: skip


def own_patches(answer: Any) -> Both | None:
    """Of a picture that is wider than high."""
    image = torch.arange(4 * 6, dtype=torch.float32).view(4, 6)
    result = torch.as_tensor(result_of(answer, image, 2))
    right = image.view(2, 2, 3, 2).transpose(1, 2).reshape(6, 4)
    if tuple(result.shape) != (6, 4):
        return (
            f"A picture of 4 × 6 with size 2 should come to [6, 4], and yours is {list(result.shape)}.",
            f"4 × 6 그림에서 size가 2이면 [6, 4]가 되어야 합니다. 지금은 {list(result.shape)}입니다.",
        )
    if all_near(numbers(result), numbers(right), 1e-6):
        return None
    if all_near(numbers(result), numbers(image.reshape(6, 4)), 1e-6):
        return ("Your patches are pieces of rows. Split both sides first: view(H/s, s, W/s, s), then transpose(1, 2).", "패치가 아니라 가로줄을 자른 것입니다. 먼저 두 변을 나누세요: view(H/s, s, W/s, s), 그다음 transpose(1, 2).")  # fmt: skip
    if all_near(numbers(result), numbers(right.view(2, 3, 4).transpose(0, 1).reshape(6, 4)), 1e-6):
        return ("The patches are right, but go column by column.", "패치는 맞지만 세로줄 순서로 되어 있습니다.")
    return (
        "view(H // size, size, W // size, size), transpose(1, 2), then reshape(-1, size * size).",
        "view(H // size, size, W // size, size), transpose(1, 2), 그다음 reshape(-1, size * size)입니다.",
    )


EXERCISES: dict[str, Judge] = {"10.1": patches, "10.2": patch_numbers, "10.3": more_scores, "10.4": own_patches}
