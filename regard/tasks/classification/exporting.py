"""A classifier for other engines: what the verb `export` does, and on what it is compared."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from regard.errors import RegardError
from regard.export.agreement import ProbabilityAgreement, compare_probabilities
from regard.notes import note
from regard.tasks.classification.classifier import Classifier
from regard.tasks.classification.evaluation import file_labelled_set, recipe_labelled_sets
from regard.tasks.classification.training import windows_of
from regard.tasks.data_folder import with_data_folder
from regard.tasks.exporting import NOT_AT_HAND, Exported, Order, Target
from regard.tasks.task import Trained
from regard.tasks.vectors import BATCH_TOKENS
from regard.tasks.verbs import load

if TYPE_CHECKING:
    from regard.export.onnx_text import OnnxClassifier


def _to_onnx(trained: Trained, folder: Path, int8: bool, made_from: str) -> OnnxClassifier:
    from regard.export.onnx_text import OnnxClassifier, export_classifier

    export_classifier(trained, folder, made_from=made_from)
    return OnnxClassifier(folder)


TARGETS = {"onnx": Target(("onnx", "onnxruntime"), _to_onnx)}


def export(
    model: str | Path,
    to: str,
    output: str | Path | None,
    int8: bool,
    data: str | Path | None,
    samples: int,
    *,
    file: str | Path | None = None,
) -> Exported:
    """Written, and the probabilities of both compared on texts of the recipe's first test set, or of a labelled file."""
    order = Order.of(model, to, TARGETS, output, int8)
    classifier = load(model, task="text-classification")
    place, texts = sample_texts(classifier, model, file, data, samples) if samples else ("", [])
    trained = Trained(classifier.model, classifier.recipe, classifier.assets, dict(classifier.provenance))
    return order.carry_out(trained, texts, f"texts of {place}", partial(compare, classifier))


def sample_texts(
    classifier: Classifier, model: str | Path, file: str | Path | None, data: str | Path | None, samples: int
) -> tuple[str, list[str]]:
    """Where texts to compare on are from, and so many of them, if they are at hand."""
    if file is not None:
        chosen = file_labelled_set(Path(file), classifier.recipe)
        return chosen.name, [each.text for each in islice(chosen.examples(), samples)]
    try:
        chosen = recipe_labelled_sets(with_data_folder(classifier.recipe, model, data))[0]
        return chosen.name, [each.text for each in islice(chosen.examples(), samples)]
    except RegardError:
        note(NOT_AT_HAND.format("file"))
        return "", []


def compare(classifier: Classifier, exported: OnnxClassifier, texts: Sequence[str]) -> ProbabilityAgreement:
    """Both read the same windows; what is probable by each is compared window by window."""
    encoded = [ids for ids in classifier.encode(texts) if len(ids)]
    (ours, theirs), _ = windows_of(
        lambda ids: [classifier.model(ids), exported.logits(ids)],
        classifier.model,
        encoded,
        classifier.recipe.data,
        BATCH_TOKENS,
    )
    pair = ((each / classifier.temperature).softmax(-1) for each in (ours, theirs))
    return compare_probabilities([tuple(pair)], len(texts), "labels")
