"""What one vector still knows of a long sentence (Cho et al. 2014, Bahdanau et al. 2015): what `regard bench context` measures.

S sequences · N words of each · D width
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from regard.config.field import setting
from regard.data.progress import progress
from regard.experiments.bench.panel import (
    Found,
    Measured,
    Panel,
    check,
    check_memory,
    lines_of,
    measured,
    series,
    settings_of,
)
from regard.experiments.bench.probe import read_linearly
from regard.experiments.bench.toy import FIRST_WORD, Copying, build, first_logits, sequences, teach
from regard.models.rnn import Recurrent
from regard.view.report import Both

NAMES: dict[str, Both] = {
    "rnn": ("rnn, one context vector", "rnn(고정 컨텍스트 벡터)"),
    "rnn-attention": ("rnn-attention, every state in reach", "rnn-attention(모든 상태를 봄)"),
}
FORGOTTEN = 0.8
"""The claim holds if the rnn has at most this share of what it had of the shortest, and rnn-attention more than it."""


@dataclass(frozen=True)
class Remembering:
    """What is measured."""

    lengths: tuple[int, ...] = setting((2, 4, 8, 12, 16, 24), least=1, most=1_024)
    width: int = setting(32, least=4, most=1_024)
    words: int = setting(16, least=2, most=10_000)
    updates: int = setting(300, least=1, most=100_000)
    sequences: int = setting(1_000, least=50, most=100_000)
    seed: int = setting(1, most=2**31)


USUAL = Remembering()


def bench_context(
    lengths: Sequence[int] = USUAL.lengths,
    *,
    width: int = USUAL.width,
    words: int = USUAL.words,
    updates: int = USUAL.updates,
    sequences: int = USUAL.sequences,
    seed: int = USUAL.seed,
    output: str | Path | None = None,
    numbers: str | Path | None = None,
    command: str = "",
) -> Measured:
    """What a fixed context vector still knows of the first word, over length: an rnn that learned to copy, beside rnn-attention.

    Both learn from sequences up to the longest length. `output` is a page to write (and `command` what it says made it), `numbers`
    a file for all that was measured, as JSON.
    """
    asked = Remembering(tuple(lengths), width, words, updates, sequences, seed)
    check(asked)
    check_memory(
        max(4 * 32 * asked.lengths[-1] ** 2, sequences * asked.lengths[-1]) * width,
        "shorter `lengths` or a smaller `width`",
    )
    toy = toy_of(asked)
    return measured(lambda: measure(asked, toy), output, numbers, command)


def toy_of(asked: Remembering) -> Copying:
    """What learns to copy."""
    longest = asked.lengths[-1]
    return Copying(asked.width, asked.words, longest, longest, asked.updates, 32, 5e-3, asked.seed)


def measure(asked: Remembering, toy: Copying) -> Measured:
    found = series(("copied", "probe"), NAMES)
    with progress() as bar:
        task = bar.add_task("Learning to copy", total=len(NAMES) * (asked.updates + len(asked.lengths)))
        for name in NAMES:
            model = build(name, toy)
            assert isinstance(model, Recurrent)
            teach(model, toy, lambda: bar.advance(task))
            for length in asked.lengths:
                copied, known = remembered(model, length, asked)
                found["copied"][name].append(copied)
                found["probe"][name].append(known)
                bar.advance(task)
    return _told(asked, found)


@torch.no_grad()
def remembered(model: Recurrent, length: int, asked: Remembering) -> tuple[float, float]:
    """How often the first word is written right, and how often a linear probe reads it from what the decoder is given."""
    generator = torch.Generator().manual_seed(asked.seed)
    ids = sequences(asked.sequences, length, asked.words, generator)  # [S, N]
    written = first_logits(model, ids).argmax(-1)  # [S]
    given = context(model, ids)
    return (
        float((written == ids[:, 0]).double().mean()),
        read_linearly(given, ids[:, 0] - FIRST_WORD, asked.words),
    )


def context(model: Recurrent, ids: Tensor) -> Tensor:
    """Ids [S, N] → what the decoder is given of them: one state, or that of the first word, which attention can look at."""
    state = model.start(ids)
    return state.hidden.flatten(1) if state.memory is None else state.memory.value[:, 0]  # [S, ..]


HEADING: Both = ("What the context vector still knows of the first word", "컨텍스트 벡터가 첫 단어를 얼마나 기억하는가")
CLAIM: Both = (
    "A context vector of fixed size forgets the beginning of a long sentence; attention looks at it again.",
    "크기가 고정된 컨텍스트 벡터는 긴 문장의 앞부분을 잊지만, 어텐션은 그 부분을 다시 볼 수 있습니다.",
)
AXIS: Both = ("n, words", "n, 단어 수")


def _told(asked: Remembering, found: Found) -> Measured:
    short, long, chance = asked.lengths[0], asked.lengths[-1], 1 / asked.words
    fixed, seen = found["copied"]["rnn"], found["copied"]["rnn-attention"]
    probe, attended = found["probe"]["rnn"], found["probe"]["rnn-attention"]
    holds = fixed[-1] <= FORGOTTEN * fixed[0] and seen[-1] > FORGOTTEN * seen[0] and seen[-1] > fixed[-1]
    panels = (
        Panel(
            "copied", ("First word copied right, share", "첫 단어를 바르게 복사한 비율"), AXIS, asked.lengths, lines_of(NAMES, found["copied"], ("rnn",)),
            (
                f"Of {asked.words} words a guess would be right {chance:.0%} of the time; over {long} words the rnn is right {fixed[-1]:.0%} of the time, "
                f"rnn-attention {seen[-1]:.0%}.",
                f"단어 {asked.words}개 중 찍어서 맞힐 확률은 {chance:.0%}입니다. 단어 {long}개 길이에서 rnn은 {fixed[-1]:.0%}, rnn-attention은 "
                f"{seen[-1]:.0%}를 맞힙니다.",
            ),
            form=".2f",
        ),
        Panel(
            "probe", ("First word that a linear probe reads, share", "선형 프로브가 알아내는 첫 단어의 비율"), AXIS, asked.lengths,
            lines_of(NAMES, found["probe"], ("rnn",)),
            (
                f"From the one vector that the rnn's decoder is given, a probe reads the first of {short} words {probe[0]:.0%} of the time and of {long} words "
                f"{probe[-1]:.0%}; from the first state that rnn-attention may look at, {attended[0]:.0%} and {attended[-1]:.0%}.",
                f"rnn의 디코더가 받는 벡터 하나에서 프로브는 단어 {short}개일 때 {probe[0]:.0%}, {long}개일 때 {probe[-1]:.0%}를 읽고, rnn-attention이 볼 수 있는 "
                f"첫 상태에서는 {attended[0]:.0%}, {attended[-1]:.0%}를 읽습니다.",
            ),
            form=".2f",
        ),
    )  # fmt: skip
    verdict: Both = (
        ("The fixed vector forgets, attention does not", "고정된 벡터는 잊지만 어텐션은 잊지 않습니다")
        if holds
        else ("Forgetting with length in the rnn alone is not what was measured", "rnn만 길이에 따라 잊는다는 결과는 나오지 않았습니다")
    )  # fmt: skip
    reading: Both = (
        f"{verdict[0]}: from {short} to {long} words the share of first words copied right goes from {fixed[0]:.0%} to {fixed[-1]:.0%} with one context "
        f"vector, and from {seen[0]:.0%} to {seen[-1]:.0%} with attention.",
        f"{verdict[1]}: 단어 {short}개에서 {long}개까지 첫 단어를 바르게 복사하는 비율이 고정 벡터에서는 {fixed[0]:.0%}에서 {fixed[-1]:.0%}까지, "
        f"어텐션에서는 {seen[0]:.0%}에서 {seen[-1]:.0%}까지 변합니다.",
    )  # fmt: skip
    return Measured("context", HEADING, CLAIM, panels, reading, holds, settings_of(asked))
