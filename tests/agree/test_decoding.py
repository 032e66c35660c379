"""Different ways to decode that must give the same: cached or not, together or alone, a beam of one or greedy."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import pytest
import torch
from torch import Tensor

from regard import config
from regard.attention.multi_head import MultiHead
from regard.attention.scaled_dot import attend_fused
from regard.decoding.candidates import Constraints, likeliest
from regard.decoding.options import Hypothesis, Search
from regard.decoding.search import search, search_loop
from regard.models.encoder_decoder import EncoderDecoder as Model
from regard.tasks.translation.native import SPECIAL, decode
from regard.tasks.translation.training import translation_loss
from regard.tasks.translation.translator import Translator
from tests.conftest import made_up_sentences
from tests.models.small import ragged, small_model

GREEDY = Search(beam=1)
BEAM = Search(beam=4, nbest=3)
SAMPLE = Search(sample=True, nbest=3, seed=5)
KINDS = pytest.mark.parametrize("options", [GREEDY, BEAM, SAMPLE], ids=["greedy", "beam", "sample"])


def sources(translator: Translator) -> list[list[int]]:
    """Known and unknown sentences of many lengths, and an empty one."""
    lines = [*made_up_sentences(1, 8), *made_up_sentences(3, 12), ""]
    return translator.tokenizer.encode_all(lines, "source")


def assert_same(found: list[list[Hypothesis]], expected: list[list[Hypothesis]]) -> None:
    assert [[one.tokens for one in each] for each in found] == [[one.tokens for one in each] for each in expected]
    for one, other in zip(chain(*found), chain(*expected), strict=True):
        assert one.score == pytest.approx(other.score, abs=1e-4)
        assert one.token_log_probabilities == pytest.approx(other.token_log_probabilities, abs=1e-4)
        assert one.finish_reason == other.finish_reason


@KINDS
def test_batched_is_single(tiny_translator: Translator, options: Search) -> None:
    """Whatever the company and the order, and however small the batches."""
    model, settings, given = tiny_translator.model, tiny_translator.recipe.decoding, sources(tiny_translator)
    together = decode(model, given, options, settings)
    assert len({each[0].tokens for each in together}) > len(given) / 2  # else this test could not fail
    assert_same([decode(model, [each], options, settings)[0] for each in given], together)
    order = list(range(len(given)))
    random.Random(1).shuffle(order)
    shuffled = decode(model, [given[place] for place in order], options, replace(settings, batch_tokens=60))
    assert_same(shuffled, [together[place] for place in order])


@dataclass
class Written:
    """The state of a model without caches: the sources and all ids so far, once per row."""

    source: Tensor  # [N, K]
    ids: Tensor  # [N, T]

    def select(self, rows: Tensor) -> Written:
        return Written(self.source[rows.flatten()], self.ids[rows.flatten()])


@dataclass
class Uncached:
    """The same model, reading the whole prefix again at every step."""

    model: Model

    def start(self, source: Tensor) -> Written:
        return Written(source, torch.empty(len(source), 0, dtype=torch.long))

    def step(self, last: Tensor, state: Written) -> tuple[Tensor, Written]:
        state = Written(state.source, torch.cat([state.ids, last[:, None]], 1))
        return self.model.project(self.model(state.source, state.ids)[:, -1]), state


@KINDS
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_cached_is_uncached(options: Search, norm: str) -> None:
    model, source = small_model(seed=3, norm=norm), ragged([5, 9, 1, 3, 7, 2], seed=1)
    limits = torch.tensor([12, 20, 3, 36, 8, 20])
    found, expected = (search(each, source, limits, options, SPECIAL) for each in (model, Uncached(model)))
    assert_same(found, expected)


def test_a_beam_of_one_is_greedy(tiny_translator: Translator) -> None:
    model = tiny_translator.model
    source, limits = ragged([5, 9, 1, 3], seed=1), torch.tensor([12, 20, 3, 30])
    with torch.inference_mode():
        beam = search_loop(
            model, source, limits, GREEDY, Constraints(SPECIAL, 0, [()] * 4, source.device), 1, likeliest(1)
        )
    assert_same(beam, search(model, source, limits, GREEDY, SPECIAL))


def test_a_wider_beam_hardly_ever_finds_worse_on_known_sentences(tiny_translator: Translator) -> None:
    given = tiny_translator.tokenizer.encode_all(made_up_sentences(1, 16), "source")
    settings = config.Decoding(max_ratio=3.0)
    narrow, wide = (decode(tiny_translator.model, given, Search(beam=beam), settings) for beam in (1, 6))
    worse = [one[0].score < other[0].score - 1e-4 for one, other in zip(wide, narrow, strict=True)]
    assert sum(worse) <= 2, "a beam may lose the path that greedy search walks, but rarely"


def test_limits_are_a_function_of_the_sentence_and_of_the_position_table(tiny_translator: Translator) -> None:
    model, given = tiny_translator.model, sources(tiny_translator)
    settings = config.Decoding(max_ratio=0.5, max_extra=1)
    for source, each in zip(given, decode(model, given, BEAM, settings), strict=True):
        assert all(len(one.token_log_probabilities) <= len(source) // 2 + 1 for one in each)
    endless = config.Decoding(max_ratio=0.0, max_extra=10_000)
    flat = Search(sample=True, temperature=50.0)  # rarely ends by itself
    assert max(len(each[0].tokens) for each in decode(model, given, flat, endless)) == model.max_positions


@pytest.mark.parametrize("changes", [{}, {"norm": "pre"}, {"scale": False}], ids=str)
def test_a_whole_model_on_the_fused_kernel_is_the_same(
    changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Outputs and gradients in single precision, with padded sources and a target that pads too."""
    model, source = small_model(**changes).float(), ragged([7, 2, 5], seed=1)
    read, wanted = ragged([6, 3, 4], seed=2), ragged([6, 3, 4], seed=3)

    def run() -> tuple[Tensor, dict[str, Tensor]]:
        model.zero_grad()
        loss = translation_loss(model, source, read, wanted, smoothing=0.1).smoothed / 13
        loss.backward()
        gradients = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
        return model(source, read).detach(), gradients

    plain = run()
    taken = []

    def fused(self: MultiHead, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        taken.append(self)
        return attend_fused(query, key, value, mask, scale=self.scale)

    monkeypatch.setattr(MultiHead, "attend", fused)
    torch.testing.assert_close(run(), plain, atol=1e-5, rtol=1e-5)
    assert len(taken) == 2 * (2 + 2 * 3)
