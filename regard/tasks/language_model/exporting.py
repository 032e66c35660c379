"""A language model for other engines: what the verb `export` does, and on what it is compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from regard.data.tokenizer import END
from regard.errors import RegardError
from regard.export.agreement import ProbabilityAgreement, compare_probabilities
from regard.notes import note
from regard.tasks.exporting import NOT_AT_HAND, Exported, Order, Target
from regard.tasks.language_model.assets import LanguageAssets
from regard.tasks.language_model.generator import TextGenerator
from regard.tasks.language_model.streaming import start_token
from regard.tasks.language_model.verbs import texts_of
from regard.tasks.task import Trained
from regard.tasks.verbs import load

if TYPE_CHECKING:
    from regard.export.onnx_text import OnnxLanguageModel

STEPS = 4  # tokens at the end of a text that are read one by one, what came before being remembered


def _to_onnx(trained: Trained, folder: Path, int8: bool, made_from: str) -> OnnxLanguageModel:
    from regard.export.onnx_text import OnnxLanguageModel, export_language_model

    export_language_model(trained, folder, made_from=made_from)
    return OnnxLanguageModel(folder)


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
    """Written, and the probabilities of both compared on lines of the recipe's first test set, or of a file."""
    order = Order.of(model, to, TARGETS, output, int8)
    writer = load(model, task="text-generation")
    place, lines = sample_lines(writer, model, file, data, samples) if samples else ("", [])
    trained = Trained(writer.model, writer.recipe, LanguageAssets(writer.tokenizer), dict(writer.provenance))
    return order.carry_out(trained, lines, f"lines of {place}", partial(compare, writer))


def sample_lines(
    writer: TextGenerator, model: str | Path, file: str | Path | None, data: str | Path | None, samples: int
) -> tuple[str, list[str]]:
    """Where lines to compare on are from, and so many that hold something, if they are at hand."""
    try:
        place, lines = next(texts_of(writer, model, file, data))
        return place, list(islice((line for line in lines if line.strip()), samples))
    except RegardError:
        if file is not None:
            raise
        note(NOT_AT_HAND.format("file"))
        return "", []


def compare(writer: TextGenerator, exported: OnnxLanguageModel, lines: Sequence[str]) -> ProbabilityAgreement:
    """What each expects after every token of a line: the graph reads most of it at once, and the end step by step."""

    def probabilities() -> Iterator[tuple[Tensor, Tensor]]:
        for line in lines:
            ids = torch.tensor([[start_token(writer.whole), *writer.tokenizer.encode(line), END][: writer.context]])
            states = writer.model(ids)
            ours = writer.model.project(states, writer.model.point(states, ids))
            whole = max(1, ids.size(1) - STEPS)
            memory, theirs = exported.start(1), []
            for part in torch.split(ids, [whole, *[1] * (ids.size(1) - whole)], 1):
                logits, memory = exported.read(part, memory)
                theirs.append(logits)
            yield ours[0].softmax(-1), torch.cat(theirs, 1)[0].softmax(-1)

    with torch.inference_mode():
        return compare_probabilities(probabilities(), len(lines), "next tokens")
