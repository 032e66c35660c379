"""An image classifier for other engines: what the verb `export` does, and on what it is compared."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from regard.data.images import Pixels, Seen
from regard.data.pictures import find, read_examples
from regard.data.pixels import decode
from regard.errors import RegardError
from regard.export.agreement import ProbabilityAgreement, compare_probabilities
from regard.notes import note
from regard.tasks.data_folder import with_data_folder
from regard.tasks.exporting import NOT_AT_HAND, Exported, Order, Target
from regard.tasks.image_classification.recognizer import Recognizer
from regard.tasks.task import Trained
from regard.tasks.verbs import load

if TYPE_CHECKING:
    from regard.export.onnx_picture import OnnxPictureClassifier


def _to_onnx(trained: Trained, folder: Path, int8: bool, made_from: str) -> OnnxPictureClassifier:
    from regard.export.onnx_picture import OnnxPictureClassifier, export_picture_classifier

    export_picture_classifier(trained, folder, made_from=made_from)
    return OnnxPictureClassifier(folder)


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
    """Written, and the probabilities of both compared on pictures of the recipe's first test set, or of a folder or table."""
    order = Order.of(model, to, TARGETS, output, int8)
    recognizer = load(model, task="image-classification")
    pixels = sample_pictures(recognizer, model, file, data, samples) if samples else []
    trained = Trained(recognizer.model, recognizer.recipe, recognizer.assets, dict(recognizer.provenance))
    return order.carry_out(trained, pixels, "pictures", partial(compare, recognizer))


def sample_pictures(
    recognizer: Recognizer, model: str | Path, file: str | Path | None, data: str | Path | None, samples: int
) -> list[Pixels]:
    """So many pictures to compare on, if they are at hand."""
    settings = recognizer.recipe.data
    try:
        if file is not None:
            paths, name = [Path(file)], ""
        else:
            settings = with_data_folder(recognizer.recipe, model, data).data
            name, files = next(iter(settings.test.items()))
            paths = [find(each, settings) for each in files]
        examples = islice(read_examples(paths, settings, name), samples)
        return [seen.pixels for _, seen in decode(examples, settings) if isinstance(seen, Seen)]
    except (RegardError, StopIteration):
        if file is not None:
            raise
        note(NOT_AT_HAND.format("file"))
        return []


def compare(recognizer: Recognizer, exported: OnnxPictureClassifier, pixels: Sequence[Pixels]) -> ProbabilityAgreement:
    """What is probable by each, picture by picture."""
    ours, theirs = recognizer.logits(pixels), exported.logits(torch.from_numpy(np.stack(pixels)))
    ours, theirs = ((each / recognizer.temperature).softmax(-1) for each in (ours, theirs))
    return compare_probabilities([(ours, theirs)], len(pixels), "labels")
