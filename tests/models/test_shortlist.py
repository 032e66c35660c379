"""A shortlist of the whole vocabulary changes nothing; a real one only bars what is not on it."""

from __future__ import annotations

import torch

from regard.models.shortlist import Shortlisted
from tests.models.small import VOCABULARY, assert_same, ragged, small_model

SOURCE = ragged([5, 2, 7])


def test_the_whole_vocabulary_is_no_shortlist() -> None:
    model = small_model()
    everything = [torch.arange(VOCABULARY)] * 3
    listed = Shortlisted(model, everything, model.output.weight)
    last = torch.tensor([1, 1, 1])
    with torch.inference_mode():
        wanted, _ = model.step(last, model.start(SOURCE))
        found, _ = listed.step(last, listed.start(SOURCE))
    assert_same(found, wanted)


def test_only_a_sentences_own_tokens_and_the_special_ones_are_possible() -> None:
    model = small_model()
    lists = [torch.tensor([7, 5]), torch.tensor([30]), torch.tensor([5, 9, 9])]
    listed = Shortlisted(model, lists, model.output.weight)
    assert listed.ids.tolist() == [0, 1, 2, 3, 5, 7, 9, 30]
    with torch.inference_mode():
        logits, state = listed.step(torch.tensor([1, 1, 1]), listed.start(SOURCE))
        full, _ = model.step(torch.tensor([1, 1, 1]), model.start(SOURCE))
    for row, own in enumerate(lists):
        possible = {*range(4), *own.tolist()}
        assert {listed.ids[each].item() for each in logits[row].isfinite().nonzero()} == possible
        known = logits[row].isfinite()
        assert_same(logits[row][known], full[row][listed.ids][known])
    # The second sentence alone goes on, along two paths, and is still barred from the others' tokens.
    alone = state.select(torch.tensor([[1, 1]]))
    with torch.inference_mode():
        logits, _ = listed.step(torch.tensor([2, 7]), alone)
    assert logits.isfinite().sum(1).tolist() == [5, 5]


def test_numbers_and_meanings_undo_each_other() -> None:
    listed = Shortlisted(small_model(), [torch.tensor([20, 11])], small_model().output.weight)
    assert listed.to_shortlist([2, 20, 11]) == [2, 5, 4]
    assert listed.to_vocabulary(listed.to_shortlist([20, 2, 11])) == (20, 2, 11)
