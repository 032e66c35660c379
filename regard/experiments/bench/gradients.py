"""How much of the gradient reaches the first word (Bengio et al. 1994): what `regard bench gradients` measures.

S sequences · N words of each · D width
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from regard.config.field import setting
from regard.data.progress import progress
from regard.experiments.bench.panel import (
    Found,
    Line,
    Measured,
    Panel,
    check,
    check_memory,
    measured,
    number,
    series,
    settings_of,
)
from regard.experiments.bench.toy import NAMES, Copying, build, copy_loss, sequences, teach
from regard.models.encoder_decoder import EncoderDecoder
from regard.view.report import Both

VANISHED = 1e-3
"""The claim holds if the rnn's share falls below, also after training, and untrained nobody else's does."""
WORDS = 16
AXIS: Both = ("n, words between the first and the end", "n, 첫 단어부터 끝까지의 단어 수")


@dataclass(frozen=True)
class Reaching:
    """What is measured."""

    lengths: tuple[int, ...] = setting((4, 8, 16, 32, 60), least=2, most=1_024)
    width: int = setting(32, least=4, most=1_024)
    updates: int = setting(200, most=100_000)
    sequences: int = setting(16, least=1, most=1_024)
    seed: int = setting(1, most=2**31)


USUAL = Reaching()


def bench_gradients(
    lengths: Sequence[int] = USUAL.lengths,
    *,
    width: int = USUAL.width,
    updates: int = USUAL.updates,
    sequences: int = USUAL.sequences,
    seed: int = USUAL.seed,
    output: str | Path | None = None,
    numbers: str | Path | None = None,
    command: str = "",
) -> Measured:
    """How much of the gradient reaches the first word: rnn, rnn-attention, conv and Transformer, untrained and trained to copy.

    It is the size of the loss's gradient at the first word, as a multiple of that at the last. With `updates=0` nothing is
    trained. `output` is a page to write (and `command` what it says made it), `numbers` a file for all that was measured, as JSON.
    """
    asked = Reaching(tuple(lengths), width, updates, sequences, seed)
    check(asked)
    check_memory(
        4 * max(sequences, 32) * asked.lengths[-1] ** 2 * width,
        "fewer `sequences`, shorter `lengths` or a smaller `width`",
    )
    toy = toy_of(asked)
    return measured(lambda: measure(asked, toy), output, numbers, command)


def toy_of(asked: Reaching) -> Copying:
    """What learns to copy."""
    longest = asked.lengths[-1]
    return Copying(asked.width, WORDS, min(24, longest), longest, asked.updates, 32, 5e-3, asked.seed)


def measure(asked: Reaching, toy: Copying) -> Measured:
    found = series(("untrained", "trained") if asked.updates else ("untrained",), NAMES)
    with progress() as bar:
        task = bar.add_task("Following gradients", total=len(NAMES) * (asked.updates + len(found) * len(asked.lengths)))
        for name in NAMES:
            model = build(name, toy).eval()
            for state, values in found.items():
                if state == "trained":
                    teach(model, toy, lambda: bar.advance(task))
                for length in asked.lengths:
                    values[name].append(reach(model, length, asked))
                    bar.advance(task)
    return _told(asked, found)


def reach(model: EncoderDecoder, length: int, asked: Reaching) -> float:
    """Size of the gradient at the first word over that at the last: the geometric mean of the sequences.

    In 64 bits, so that what is left of it is not rounding.
    """
    generator = torch.Generator().manual_seed(asked.seed)
    embedded: list[Tensor] = []

    def keep(module: nn.Module, given: object, output: Tensor) -> None:
        output.retain_grad()
        embedded.append(output)

    handle = model.source_embedding.register_forward_hook(keep)
    try:
        copy_loss(model.double(), sequences(asked.sequences, length, WORDS, generator)).backward()  # type: ignore[no-untyped-call]
    finally:
        handle.remove()
        model.zero_grad()
        model.float()
    assert embedded[0].grad is not None, "the loss depends on what was read"
    sizes = embedded[0].grad.norm(dim=-1).clamp_min(torch.finfo(torch.double).tiny)  # [S, N]
    return float((sizes[:, 0].log() - sizes[:, -1].log()).mean().exp())


HEADING: Both = ("How much of the gradient reaches the first word", "기울기가 첫 단어까지 얼마나 도달하는가")
CLAIM: Both = (
    "In a recurrent network the gradient vanishes with distance; attention gives it a short way to every word.",
    "순환 신경망에서는 거리가 멀수록 기울기가 소실되지만, 어텐션은 모든 단어로 가는 짧은 길을 줍니다.",
)
STATES: dict[str, Both] = {"untrained": ("untrained", "학습 전"), "trained": ("trained to copy", "복사 학습 후")}


def _told(asked: Reaching, found: Found) -> Measured:
    longest = asked.lengths[-1]
    at_end = {state: {name: values[-1] for name, values in of.items()} for state, of in found.items()}
    before, after = at_end["untrained"], at_end.get("trained", {})
    others = min(value for name, value in before.items() if name != "rnn")
    vanishes = before["rnn"] < VANISHED <= others
    still = not after or after["rnn"] < VANISHED
    panels = tuple(
        Panel(
            state, (f"Gradient at the first word over that at the last, {STATES[state][0]}", f"마지막 단어 대비 첫 단어의 기울기, {STATES[state][1]}"),
            AXIS, asked.lengths, tuple(Line(name, NAMES[name], tuple(values), colour) for colour, (name, values) in enumerate(of.items())),
            (f"At {longest} words: " + _list(of, 0) + ".", f"단어 {longest}개에서 " + _list(of, 1) + "입니다."),
            logarithmic=(True, True),
        )
        for state, of in found.items()
    )  # fmt: skip
    first = (
        ("Untrained, the rnn's gradient vanishes and the others' does not", "학습 전에는 rnn의 기울기만 소실됩니다")
        if vanishes
        else ("Untrained, it is not the rnn's gradient alone that vanishes at this distance", "학습 전, 이 거리에서는 rnn의 기울기만 소실된다고 할 수 없습니다")
    )  # fmt: skip
    more: Both = ("", "")
    if after:
        learned = after["rnn"] >= VANISHED
        more = (
            f"; after {asked.updates} updates of copying, {'the rnn has learned to let it through' if learned else 'it still does'} ({number(after['rnn'])})",
            f" 복사를 {asked.updates}번 업데이트한 뒤에는 {'rnn도 기울기를 통과시키는 법을 배웠습니다' if learned else '여전히 소실됩니다'}({number(after['rnn'])}).",
        )
    seen: Both = (
        f"{first[0]}: {number(before['rnn'])} of it is left over {longest} words, against at least {number(others)}{more[0]}.",
        f"{first[1]}: 단어 {longest}개 거리에서 {number(before['rnn'])}배가 남고, 나머지는 적어도 {number(others)}배입니다.{more[1]}",
    )
    return Measured("gradients", HEADING, CLAIM, panels, seen, vanishes and still, settings_of(asked), vanishes)


def _list(of: dict[str, list[float]], language: int) -> str:
    return ", ".join(f"{NAMES[name][language]} {number(values[-1])}" for name, values in of.items())
