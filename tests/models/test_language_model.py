"""The laws of a language model: it sees only the past, and writing step by step is the same as reading at once."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import Tensor

from regard import config
from regard.attention.record import record
from regard.decoding.options import Search, SpecialTokens
from regard.decoding.search import search
from regard.models.adaptive import Output
from regard.models.language_model import LanguageModel, RecurrentLanguageModel
from regard.tasks.registry import build
from tests.models.small import TAKEN_OUT

VOCABULARY = 31
KINDS: list[dict[str, Any]] = [
    {},
    {"norm": "pre", "positions": "learned", "tied": False},
    {"cutoffs": (8, 20)},
    {"norm": "pre", "cutoffs": (5,), "tied": False},
    {"pointer": True},
    {"pointer": True, "norm": "pre", "cutoffs": (8, 20)},
    {"cutoffs": (8, 20), "adaptive_factor": 4},
    {"pointer": True, "norm": "pre", "cutoffs": (5,), "adaptive_factor": 2, "tied": False},
    *TAKEN_OUT,
    {"architecture": "rnn"},
    {"architecture": "rnn", "cell": "gru", "tied": False, "cutoffs": (8, 20)},
    {"architecture": "rnn", "cutoffs": (8, 20), "adaptive_factor": 3},
]
EVERY = pytest.mark.parametrize("changes", KINDS, ids=str)
SPECIAL = SpecialTokens(start=1, end=2, pad=0, unknown=3)


def small(seed: int = 0, **changes: Any) -> LanguageModel:
    """In double precision, so that a law holds to ten digits or is broken."""
    kind = config.TASKS["text-generation"].architectures[changes.get("architecture", "transformer")].settings
    settings: dict[str, Any] = dict(width=16, layers=2, dropout=0.1, max_positions=40)
    if kind is config.TextDecoder:
        settings |= dict(feed_forward=24, heads=4)
    torch.manual_seed(seed)
    model: Any = build(kind(**{**settings, **changes}), VOCABULARY)
    for parameter in model.parameters():  # biases start at 0 and norms at 1, which could hide a mistake
        if parameter.ndim == 1:
            torch.nn.init.normal_(parameter, mean=parameter.mean().item(), std=0.2)
    found: LanguageModel = model.double().eval()
    return found


def some_ids(rows: int = 3, length: int = 12, seed: int = 0) -> Tensor:
    return torch.randint(4, VOCABULARY, (rows, length), generator=torch.Generator().manual_seed(seed))


def probabilities(model: LanguageModel, ids: Tensor) -> Tensor:
    with torch.inference_mode():
        states = model(ids)
        return model.project(states, model.point(states, ids)).log_softmax(-1)  # [S, T, V]


def close(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, atol=1e-10, rtol=1e-10)


@EVERY
def test_the_future_cannot_change_the_past(changes: dict[str, Any]) -> None:
    model, ids = small(**changes), some_ids()
    before = probabilities(model, ids)
    for place in range(1, ids.size(1)):
        other = ids.clone()
        other[:, place:] = some_ids(seed=1)[:, place:]
        after = probabilities(model, other)
        close(after[:, :place], before[:, :place])
        assert not torch.allclose(after[:, place:], before[:, place:])


@EVERY
@pytest.mark.parametrize("prompt", [0, 1, 5, 11])
def test_a_prompt_read_at_once_is_one_read_step_by_step(changes: dict[str, Any], prompt: int) -> None:
    model, ids = small(**changes), some_ids()
    expected = probabilities(model, ids)
    with torch.inference_mode():
        state = model.start(ids[:, :prompt])
        for place in range(prompt, ids.size(1)):
            logits, state = model.step(ids[:, place], state)
            close(logits.log_softmax(-1), expected[:, place])


@EVERY
def test_neighbours_and_padding_change_nothing(changes: dict[str, Any]) -> None:
    model, ids = small(**changes), some_ids()
    lengths = [12, 4, 7]
    for row, length in zip(ids, lengths, strict=True):
        row[length:] = SPECIAL.pad
    with torch.inference_mode():
        packed, padded = model(ids, packed=True), model(ids)
    alone = torch.cat([model(row[None, :length])[0] for row, length in zip(ids, lengths, strict=True)]).detach()
    close(packed, alone)
    close(padded[ids != SPECIAL.pad], alone)


@EVERY
def test_a_state_follows_its_rows(changes: dict[str, Any]) -> None:
    model, ids = small(**changes), some_ids()
    order = torch.tensor([[2], [0]])
    with torch.inference_mode():
        _, state = model.step(ids[:, 5], model.start(ids[:, :5]))
        logits, _ = model.step(ids[order[:, 0], 6], state.select(order))
    close(logits.log_softmax(-1), probabilities(model, ids[order[:, 0]])[:, 6])


@EVERY
@pytest.mark.parametrize("beam", [1, 4])
def test_the_search_goes_on_from_a_prompt(changes: dict[str, Any], beam: int) -> None:
    """What it says of its finds is what reading prompt and find together says."""
    model, prompts = small(**changes), some_ids()
    options = Search(beam=beam, nbest=beam, length_penalty="none")
    limits = torch.tensor([6, 6, 3])
    found = search(model, prompts[:, :-1], limits, options, SPECIAL, first_tokens=prompts[:, -1])
    for prompt, hypotheses in zip(prompts.tolist(), found, strict=True):
        for each in hypotheses:
            written = [*each.tokens, *[SPECIAL.end] * (each.finish_reason == "end")]
            ids = torch.tensor([[*prompt, *written]])
            own = probabilities(model, ids)[0, len(prompt) - 1 : -1].gather(-1, torch.tensor(written)[:, None])
            assert each.token_log_probabilities == pytest.approx(own.squeeze(-1).tolist(), abs=1e-5)
    if beam == 1:
        best = probabilities(model, prompts)[:, -1].index_fill(1, torch.tensor([0, 1, 3]), float("-inf")).argmax(-1)
        assert [(*each[0].tokens, SPECIAL.end)[0] for each in found] == best.tolist()


@EVERY
def test_probabilities_sum_to_one(changes: dict[str, Any]) -> None:
    found = probabilities(small(**changes), some_ids()).exp()
    close(found.sum(-1), torch.ones(found.shape[:-1], dtype=torch.double))


@pytest.mark.parametrize("cutoffs", [(3,), (8, 20), (1, 2, 30)])
def test_a_cut_vocabulary_gives_log_probabilities(cutoffs: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    output, states = Output(torch.randn(VOCABULARY, 16), cutoffs), torch.randn(5, 16)
    torch.testing.assert_close(output(states).exp().sum(-1), torch.ones(5))
    clusters = (states @ output.head().t()).softmax(-1)[:, cutoffs[0] :]  # [N, clusters]
    for number, (begin, end) in enumerate(output.tails()):  # a cluster is as probable as its row in the head
        torch.testing.assert_close(output(states)[:, begin:end].exp().sum(-1), clusters[:, number])


@pytest.mark.parametrize("cutoffs", [(), (VOCABULARY,), (VOCABULARY + 5,)])
def test_without_a_cut_it_is_a_plain_product(cutoffs: tuple[int, ...]) -> None:
    weight, states = torch.randn(VOCABULARY, 16), torch.randn(5, 16)
    output = Output(weight, cutoffs)
    torch.testing.assert_close(output(states), states @ weight.t())
    assert not list(output.parameters())


def test_tied_is_one_matrix_and_untied_are_two() -> None:
    tied, untied = small(), small(tied=False)
    assert tied.output.weight is tied.embedding.table.weight
    assert untied.output.weight is not untied.embedding.table.weight
    assert len(list(untied.parameters())) == len(list(tied.parameters())) + 1
    assert copy.deepcopy(tied).state_dict().keys() == tied.state_dict().keys()


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_every_layer_shows_where_it_looked(norm: str) -> None:
    model, ids = small(norm=norm), some_ids()
    with torch.inference_mode(), record(model) as seen:
        model(ids)
    names = model.attention_names()["decoder"]
    assert len(names) == 2
    for name in names:
        weights = seen[name]["weights"]
        assert weights.shape == (3, 4, 12, 12)
        close(weights.sum(-1), torch.ones(3, 4, 12, dtype=torch.double))
        assert not weights.triu(1).any()
    assert isinstance(small(architecture="rnn"), RecurrentLanguageModel)
    assert small(architecture="rnn").attention_names() == {}


@pytest.mark.parametrize("architecture", ["transformer", "rnn"])
def test_words_may_enter_and_leave_with_dropouts_of_their_own(architecture: str) -> None:
    def dropouts(**settings: float) -> tuple[float, float]:
        model: Any = small(architecture=architecture, dropout=0.2, **settings)
        return model.embedding.drop.probability, model.drop.probability

    assert dropouts() == (0.2, 0.2)
    assert dropouts(embedding_dropout=0.5) == (0.5, 0.2)
    assert dropouts(embedding_dropout=0.0, output_dropout=0.4) == (0.0, 0.4)


def test_a_dropout_drops_only_where_it_stands() -> None:
    model: Any = small(dropout=0.0, embedding_dropout=0.5).train()
    torch.manual_seed(1)
    assert 0.3 < (model.embedding(torch.randint(4, VOCABULARY, (3, 8))) == 0).double().mean() < 0.7
    assert (model.drop(torch.ones(3, 8)) == 1).all()
