"""Recurrent and convolutional classifiers do all that the Transformer does, as far as they have attention."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from rich.console import Console

import regard
from regard.errors import UsageError
from regard.tasks.classification.attribution import attribute, log_odds
from regard.tasks.classification.classifier import Classifier
from regard.tasks.classification.verbs import SeenClassification
from regard.tasks.heads import head_importance
from regard.tasks.task import Examples
from regard.tasks.trained import save_trained
from tests.tasks.labelled import LABELS, texts, untrained

RIVALS = ("rnn", "rnn-attention", "conv")


@pytest.fixture(scope="module", params=RIVALS)
def rival(request: pytest.FixtureRequest) -> Classifier:
    return untrained(architecture=request.param, data={"max_tokens": 12, "long": "windows"})


def test_it_comes_back_from_its_file(rival: Classifier, tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    weights = {name: each.float() for name, each in rival.model.named_parameters()}
    save_trained(path, weights, rival.recipe, rival.assets, {})
    again = regard.load(path)
    assert isinstance(again, Classifier)
    assert type(again.model) is type(rival.model)
    for one, other in zip(again.classify(texts()[:8]), rival.classify(texts()[:8]), strict=True):
        assert dict(one.probabilities) == pytest.approx(dict(other.probabilities), abs=1e-4)


def test_company_changes_nothing(rival: Classifier) -> None:
    together = rival.classify(texts()[:8])
    assert len({each.probabilities["neutral"] for each in together}) == 8
    for text, wanted in zip(texts()[:8], together, strict=True):
        alone = rival.classify(text)
        assert dict(alone.probabilities) == pytest.approx(dict(wanted.probabilities))
    assert rival.classify("").label == ""


def test_a_look_shows_what_there_is(rival: Classifier, tmp_path: Path) -> None:
    seen = rival.look(texts()[0])
    assert seen.weights is None
    assert (seen.attention is None) == (rival.recipe.model.architecture != "rnn-attention")
    assert np.abs(seen.gradient).max() > 0
    with pytest.raises(UsageError, match="no word looks at others"):
        seen.word_weights()
    seen.save(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    (found,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    (scene,) = json.loads(found)["scenes"]
    assert (scene["attention"], scene["stacks"], scene["decision"]["mapped"]) == ({}, [], True)
    told = io.StringIO()
    SeenClassification([seen]).draw(Console(file=told, width=300))
    assert ("no attention" in told.getvalue()) == (seen.attention is None)
    if seen.attention is not None:
        assert seen.attention.sum() == pytest.approx(1)
        assert set(scene["decision"]["words"]) == {"attention", "gradient"}
    else:
        assert set(scene["decision"]["words"]) == {"gradient"}


def test_the_gradient_tells_what_a_word_does(rival: Classifier) -> None:
    """Gradient × input of all words is how fast the log-odds grow with all vectors, as a small step shows."""
    (ids,) = rival.encode([texts()[1]])
    rows = torch.from_numpy(ids[:12])[None]
    vectors, label = rival.model.embed(rows), 1

    def odds(times: float) -> float:
        logits = rival.model.classify(rival.model.encode(rows, vectors * times), rows)
        return log_odds(logits[0], label).item()

    found = attribute(rival.model, rows, label, 1.0)
    assert found.gradient.sum() == pytest.approx((odds(1 + 1e-5) - odds(1 - 1e-5)) / 2e-5, rel=1e-4)


def test_heads_are_switched_where_there_are_any(rival: Classifier) -> None:
    examples = Examples("test", texts()[:6], [LABELS[place % 3] for place in range(6)])
    if rival.recipe.model.architecture != "rnn-attention":
        with pytest.raises(UsageError, match="has no attention"):
            head_importance(rival, examples)
        with pytest.raises(UsageError, match="no attention that could be changed"), rival.changed(hard=True):
            pass
        return
    assert head_importance(rival, examples).differences["pooling"].shape == (1, 1)
    before = rival.classify(texts()[0]).probabilities
    with rival.changed(off={"attention": [0]}):
        assert rival.classify(texts()[0]).probabilities != before
    assert rival.classify(texts()[0]).probabilities == before


def test_it_embeds(rival: Classifier) -> None:
    vectors = rival.embed(texts()[:4])
    assert vectors.shape == (4, 16)
    np.testing.assert_allclose(rival.embed(texts()[2]), vectors[2], rtol=1e-5, atol=1e-6)
    assert rival.usual_pool == {"rnn": "last", "rnn-attention": "mean", "conv": "max"}[rival.recipe.model.architecture]
