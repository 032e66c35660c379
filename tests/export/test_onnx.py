"""What onnxruntime makes of a model is what the model makes of it, under the very same search."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from regard import config
from regard.data.tokenizer import END, START
from regard.decoding.options import Search
from regard.errors import CheckpointError, UsageError
from regard.export.onnx import OnnxModel, export_onnx
from regard.models.transformer import Transformer
from regard.tasks.translation.native import Native
from tests.export.variants import LACKING, each_variant, require_agreement, source_ids, trained

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")


@each_variant
def test_every_kind_of_model_writes_the_same(
    variant: str, tiny_recipe: config.TranslationRecipe, tmp_path: Path
) -> None:
    model = trained(variant, tiny_recipe)
    export_onnx(model, tmp_path / "out")
    assert not model.model.training
    exported, sources = Native(OnnxModel(tmp_path / "out")), source_ids(model)
    if variant in LACKING:  # at random, hardly anything that it writes is steady: compared step by step
        require_same_logits(model.model, OnnxModel(tmp_path / "out"))
        return
    for search in (Search(beam=1), Search(beam=4, nbest=3, no_repeat_ngram=2), Search(sample=True, nbest=2, seed=3)):
        require_agreement(model, exported, sources, search)


def require_same_logits(ours: Transformer, theirs: OnnxModel) -> None:
    source = torch.tensor([[9, 8, 7, END], [6, END, 0, 0]])
    states: list[Any] = [ours.start(source), theirs.start(source)]
    with torch.inference_mode():
        for last in (torch.tensor([START, START]), torch.tensor([30, 40]), torch.tensor([50, 11])):
            logits, states[0] = ours.step(last, states[0])
            found, states[1] = theirs.step(last, states[1])
            torch.testing.assert_close(found, logits, atol=1e-3, rtol=1e-4)


def test_prefixes_batches_and_shapes(tiny_recipe: config.TranslationRecipe, tmp_path: Path) -> None:
    """Graphs are traced with two sentences of three positions; any other number must do as well."""
    model = trained("paper", tiny_recipe)
    export_onnx(model, tmp_path / "out")
    exported, sources = Native(OnnxModel(tmp_path / "out")), source_ids(model, 5)
    prefixes = [source[: number % 3] for number, source in enumerate(sources)]
    for tokens in (1, 10_000):
        settings = replace(model.recipe.decoding, batch_tokens=tokens)
        require_agreement(model, exported, sources, Search(), settings, prefixes)


def test_finished_sentences_leave(tiny_recipe: config.TranslationRecipe, tmp_path: Path) -> None:
    model = trained("paper", tiny_recipe)
    export_onnx(model, tmp_path / "out")
    stepping, plain = OnnxModel(tmp_path / "out"), model.model
    source = torch.tensor([[9, 8, 7, 2], [6, 2, 0, 0], [5, 4, 2, 0]])
    rows = torch.tensor([[1, 1], [2, 2]])  # the first sentence is over; of each other there are two hypotheses
    last, then = torch.tensor([1, 1, 1]), torch.tensor([10, 11, 12, 13])
    with torch.inference_mode():
        _, ours = plain.step(last, plain.start(source))
        _, theirs = stepping.step(last, stepping.start(source))
        for selected in (rows, torch.tensor([[2, 3], [1, 0]])[1:]):
            ours, theirs = ours.select(selected), theirs.select(selected)
            left, ours = plain.step(then[: selected.numel()], ours)
            right, theirs = stepping.step(then[: selected.numel()], theirs)
            torch.testing.assert_close(right, left, atol=1e-4, rtol=0)


def test_other_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="regard export"):
        OnnxModel(tmp_path)


def test_without_the_extra(
    tiny_recipe: config.TranslationRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(UsageError, match=r"onnx: pip install -e '.\[export\]'"):
        export_onnx(trained("paper", tiny_recipe), tmp_path / "out")
