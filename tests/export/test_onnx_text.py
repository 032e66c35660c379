"""What onnxruntime makes of a classifier or a language model is what the model makes of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.data.batching import pad
from regard.data.tokenizer import Tokenizer
from regard.errors import CheckpointError
from regard.export.onnx_text import OnnxClassifier, OnnxLanguageModel, export_classifier, export_language_model
from regard.tasks.language_model.generator import TextGenerator
from regard.tasks.task import Trained
from tests.tasks.labelled import LABELS, texts, untrained
from tests.tasks.writers import mixed_tokenizer, recipe_of, untaught

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

CLASSIFIERS: list[dict[str, Any]] = [
    {},
    {"pooling": "mean", "norm": "pre", "positions": "learned"},
    {"pooling": "first", "key_width": 3, "value_width": 5},
    {"ngrams": 3, "buckets": 900, "activation": "gelu"},
    {"norm": "none", "residual": False, "positions": "none", "feed_forward": 0},
    {"architecture": "rnn", "ngrams": 2, "buckets": 90},
    {"architecture": "rnn", "cell": "gru", "pooling": "max"},
    {"architecture": "rnn-attention"},
    {"architecture": "rnn-attention", "cell": "gru", "score": "dot", "layers": 1},
    {"architecture": "conv", "kernel": 5},
]
WRITERS: list[dict[str, Any]] = [
    {},
    {"norm": "pre", "cutoffs": (50, 200), "value_width": 5, "key_width": 3},
    {"architecture": "transformer-pointer", "positions": "learned"},
    {"architecture": "transformer-pointer", "cutoffs": (50, 200), "adaptive_factor": 2},
    {"architecture": "rnn"},
    {"architecture": "rnn", "cutoffs": (50, 200), "adaptive_factor": 3, "tied": False},
    {"architecture": "rnn", "cell": "gru", "layers": 1, "tied": False},
]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return mixed_tokenizer()


@pytest.mark.parametrize("settings", CLASSIFIERS, ids=str)
def test_a_classifier_gives_the_same_logits(settings: dict[str, Any], tmp_path: Path) -> None:
    """In any number of texts of any length, also one of a single token, and whatever stands where nothing is real."""
    made = untrained(temperature=1.5, **settings)
    made.model.float()
    export_classifier(Trained(made.model, made.recipe, made.assets, {}), tmp_path / "out")
    assert not made.model.training
    exported = OnnxClassifier(tmp_path / "out")
    assert (exported.labels, exported.temperature) == (LABELS, 1.5)
    encoded = [ids for ids in made.encode(texts()[:12]) if len(ids)]
    for batch in (encoded, encoded[:1], [encoded[0][:1]], [encoded[0][:1], encoded[1]]):
        ids = torch.from_numpy(pad(batch, start=made.model.pooling == "first"))
        with torch.inference_mode():
            torch.testing.assert_close(exported.logits(ids), made.model(ids), atol=1e-3, rtol=1e-4)


@pytest.mark.parametrize("settings", WRITERS, ids=str)
def test_a_language_model_gives_the_same_logits_whole_and_step_by_step(
    settings: dict[str, Any], tokenizer: Tokenizer, tmp_path: Path
) -> None:
    made = untaught(tokenizer, recipe_of(**settings))
    made.model.float()
    export_language_model(Trained(made.model, made.recipe, Assets(tokenizer), {}), tmp_path / "out")
    exported = OnnxLanguageModel(tmp_path / "out")
    ids = torch.randint(4, tokenizer.size("source"), (3, 9), generator=torch.Generator().manual_seed(2))
    wanted = original(made, ids)
    for parts in ([9], [1] * 9, [4, 1, 4]):
        memory, found = exported.start(len(ids)), []
        for part in ids.split(parts, 1):
            logits, memory = exported.read(part, memory)
            found.append(logits)
        torch.testing.assert_close(torch.cat(found, 1), wanted, atol=1e-3, rtol=1e-4)


def test_what_is_no_such_export_is_refused(tokenizer: Tokenizer, tmp_path: Path) -> None:
    made = untrained()
    made.model.float()
    export_classifier(Trained(made.model, made.recipe, made.assets, {}), tmp_path / "out")
    (tmp_path / "out" / "model.onnx").write_bytes(b"nothing")
    with pytest.raises(CheckpointError, match="onnxruntime cannot load"):
        OnnxClassifier(tmp_path / "out")
    with pytest.raises(CheckpointError, match="no export of regard for onnxruntime"):
        OnnxClassifier(tmp_path)


class Assets:
    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer


def original(made: TextGenerator, ids: Tensor) -> Tensor:
    with torch.inference_mode():
        states = made.model(ids)
        return made.model.project(states, made.model.point(states, ids))
