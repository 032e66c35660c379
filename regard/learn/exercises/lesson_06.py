"""Lesson 6: the bottleneck."""

from __future__ import annotations

from regard.learn.judging import Judge, number_is

context_size = number_is(
    512.0,
    (2560.0, ("It does not grow with the sentence: that is the bottleneck.", "문장이 길어져도 늘지 않습니다. 그것이 병목입니다.")),
    (25600.0, ("That would be one vector for each word. The RNN has only one for all.", "단어마다 벡터가 하나씩 있을 때의 값입니다. RNN에는 전체에 하나뿐입니다.")),
    otherwise=("The context vector has a fixed size.", "컨텍스트 벡터는 크기가 고정되어 있습니다."),
    tolerance=1e-6,
)  # fmt: skip

memory_size = number_is(
    25_600.0,
    (512.0, ("That is one state. There is one for each of the 50 words.", "그것은 상태 하나입니다. 단어 50개마다 하나씩 있습니다.")),
    (50.0, ("Each of the 50 states has 512 numbers.", "상태 50개마다 숫자가 512개씩 있습니다.")),
    otherwise=("50 states with 512 numbers each.", "상태 50개에 숫자가 512개씩입니다."),
    tolerance=1e-6,
)  # fmt: skip

left_over = number_is(
    0.9**50,
    (45.0, ("Each step multiplies: 0.9 ** 50, not 0.9 * 50.", "단계마다 곱합니다: 0.9 * 50이 아니라 0.9 ** 50입니다.")),
    (0.1**50, ("0.9 is kept at each step, not 0.1.", "단계마다 남는 것은 0.1이 아니라 0.9입니다.")),
    (1 - 0.9**50, ("That is what is lost.", "그것은 사라진 양입니다.")),
    otherwise=("Multiply 0.9 fifty times: 0.9 ** 50.", "0.9를 50번 곱하세요: 0.9 ** 50."),
    tolerance=2e-4,
)  # fmt: skip

steps = number_is(
    19.0,
    (20.0, ("20 words, but only 19 steps between the first and the last.", "단어는 20개이지만 첫 단어와 마지막 단어 사이는 19단계입니다.")),
    (1.0, ("One step is what attention needs. An RNN passes every word between.", "한 걸음이면 되는 것은 어텐션입니다. RNN은 사이의 단어를 모두 지나갑니다.")),
    (18.0, ("18 words lie between, but the way to the last word is one step longer.", "사이에 있는 단어는 18개이지만, 마지막 단어까지는 한 단계 더 갑니다.")),
    otherwise=("From word 1 to word 2 is one step. And to word 20?", "1번 단어에서 2번 단어까지 한 단계입니다. 20번 단어까지는 몇 단계일까요?"),
    tolerance=1e-6,
)  # fmt: skip

EXERCISES: dict[str, Judge] = {"6.1": context_size, "6.2": memory_size, "6.3": left_over, "6.4": steps}
