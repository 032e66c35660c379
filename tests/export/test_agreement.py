"""The comparison of an export with its original."""

from __future__ import annotations

import pytest

from regard.decoding.options import Hypothesis, Search
from regard.export.agreement import compare
from regard.tasks.translation.translator import Translator
from tests.conftest import made_up_sentences

for package in ("ctranslate2", "onnx", "onnxruntime"):
    pytest.importorskip(package)


def test_differences_are_counted_and_shown(tiny_translator: Translator) -> None:
    texts = made_up_sentences(1, 4)
    answers = [tuple(tiny_translator.tokenizer.encode(text, "target")) for text in made_up_sentences(2, 4)]
    ours = [[Hypothesis(tokens, -1.0, -1.0, (), "end")] for tokens in answers]
    theirs = [[Hypothesis(tokens, -1.25, -1.0, (), "end")] for tokens in answers]
    theirs[2] = [Hypothesis(answers[0], -9.0, -9.0, (), "end")]
    found = compare(
        lambda *_: ours, lambda *_: theirs, tiny_translator.tokenizer, texts, tiny_translator.encode(texts), Search(),
        tiny_translator.recipe.decoding,
    )  # fmt: skip
    assert (found.sentences, found.identical, found.share, found.score_difference) == (4, 3, 0.75, 0.25)
    (difference,) = found.differences
    assert (difference.source, difference.exported_score) == (texts[2], -9.0)
    lines = "\n".join(found.lines("there"))
    assert all(part in lines for part in ("75.0%", texts[2], difference.original, difference.exported))
