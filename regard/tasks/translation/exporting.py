"""A translator for other engines, and the proof that it writes the same there: what the verb `export` does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from regard.data.corpus import read_lines
from regard.errors import RegardError
from regard.export.agreement import Agreement, Decode, compare
from regard.notes import note
from regard.tasks.data_folder import with_data_folder
from regard.tasks.exporting import NOT_AT_HAND, Exported, Order, Target
from regard.tasks.task import Trained
from regard.tasks.translation.assets import TranslationAssets
from regard.tasks.translation.evaluation import recipe_test_sets
from regard.tasks.translation.native import Native
from regard.tasks.translation.translator import Translator
from regard.tasks.verbs import load


def _to_ctranslate2(trained: Trained, folder: Path, int8: bool, made_from: str) -> Decode:
    from regard.export.ctranslate2 import export_ctranslate2
    from regard.export.ctranslate2_engine import CTranslate2Engine

    export_ctranslate2(trained, folder, int8=int8, made_from=made_from)
    return CTranslate2Engine(folder, int8).decode


def _to_onnx(trained: Trained, folder: Path, int8: bool, made_from: str) -> Decode:
    from regard.export.onnx import OnnxModel, export_onnx

    export_onnx(trained, folder, made_from=made_from)
    return Native(OnnxModel(folder)).decode


TARGETS = {
    "ctranslate2": Target(("ctranslate2",), _to_ctranslate2, int8=True),
    "onnx": Target(("onnx", "onnxruntime"), _to_onnx, int8=False),
}


def export(
    model: str | Path,
    to: str,
    output: str | Path | None,
    int8: bool,
    data: str | Path | None,
    samples: int,
    *,
    source: str | Path | None = None,
    beam: int | None = None,
) -> Exported:
    """Written, and what both write compared on sentences of the file `source`, or of the recipe's first test set."""
    order = Order.of(model, to, TARGETS, output, int8)
    translator = load(model, task="translation", engine="native")
    place, texts = sample_texts(translator, model, source, data, samples) if samples else ("", [])
    assets, origin = TranslationAssets(translator.tokenizer), dict(translator.provenance)
    search, settings = translator.search_options(beam=beam)

    def compared(decode: Decode, texts: Sequence[str]) -> Agreement:
        sources = translator.encode(texts)
        return compare(Native(translator.model).decode, decode, translator.tokenizer, texts, sources, search, settings)

    trained = Trained(translator.model, replace(translator.recipe, data=translator.data), assets, origin)
    return order.carry_out(trained, texts, f"sentences of {place}, beam {search.beam}", compared)


def sample_texts(
    translator: Translator, model: str | Path, source: str | Path | None, data: str | Path | None, samples: int
) -> tuple[str, list[str]]:
    """Where sentences to compare on are from, and so many of them: given ones, or the recipe's tests if at hand."""
    if source is not None:
        place, texts = Path(source).name, list(read_lines(source))
    else:
        try:
            sets = recipe_test_sets(with_data_folder(replace(translator.recipe, data=translator.data), model, data))
        except RegardError:
            note(NOT_AT_HAND.format("source"))
            return "", []
        place, texts = sets[0].name, sets[0].sources
    return place, [part.text for text in texts[:samples] for part in translator.split(text)]
