"""A translator for other engines, and the proof that it writes the same there: what the verb `export` does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.checkpoint import find_model
from regard.data.corpus import read_lines
from regard.errors import RegardError, UsageError, did_you_mean
from regard.export.agreement import Agreement, Decode, compare
from regard.export.folder import default_folder, fingerprint, need, require_ours
from regard.notes import note
from regard.tasks.data_folder import with_data_folder
from regard.tasks.task import Trained
from regard.tasks.translation.assets import TranslationAssets
from regard.tasks.translation.evaluation import recipe_test_sets
from regard.tasks.translation.native import Native
from regard.tasks.translation.translator import Translator
from regard.tasks.verbs import load

BAR = 0.99  # of the texts must be identical where numbers have 32 bits


def _to_ctranslate2(trained: Trained, folder: Path, int8: bool, made_from: str) -> Decode:
    from regard.export.ctranslate2 import export_ctranslate2
    from regard.export.ctranslate2_engine import CTranslate2Engine

    export_ctranslate2(trained, folder, int8=int8, made_from=made_from)
    return CTranslate2Engine(folder, int8).decode


def _to_onnx(trained: Trained, folder: Path, int8: bool, made_from: str) -> Decode:
    from regard.export.onnx import OnnxModel, export_onnx

    export_onnx(trained, folder, made_from=made_from)
    return Native(OnnxModel(folder)).decode


@dataclass(frozen=True)
class Target:
    """An engine to export to."""

    packages: tuple[str, ...]
    """That it needs."""
    write: Callable[[Trained, Path, bool, str], Decode]
    """Export, and load what was written."""
    int8: bool
    """Whether it can be given matrices in 8 bits."""


TARGETS = {
    "ctranslate2": Target(("ctranslate2",), _to_ctranslate2, int8=True),
    "onnx": Target(("onnx", "onnxruntime"), _to_onnx, int8=False),
}


@dataclass(frozen=True)
class Exported:
    """What was written, and whether it does the same as the original."""

    folder: Path
    engine: str
    int8: bool
    megabytes: float
    agreement: Agreement | None
    """None if nothing was compared."""

    @property
    def trusted(self) -> bool:
        """Whether nearly all texts were the same; 8 bits may write a few differently."""
        return self.agreement is None or self.int8 or self.agreement.share >= BAR

    def lines(self) -> list[str]:
        """For people: how the two compare."""
        return [] if self.agreement is None else self.agreement.lines(self.engine)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        facts = {"folder": str(self.folder), "engine": self.engine, "int8": self.int8, "megabytes": self.megabytes}
        return {**facts, **({} if self.agreement is None else self.agreement.to_dict())}


def export(
    model: str | Path,
    to: str,
    *,
    output: str | Path | None = None,
    int8: bool = False,
    source: str | Path | None = None,
    data: str | Path | None = None,
    samples: int = 1_000,
    beam: int | None = None,
) -> Exported:
    """Write a translator for another engine (ctranslate2 or onnx), then translate with both and see whether they agree.

    `output` is the folder to write; else it is beside the model. `int8` is matrices in 8 bits, for CTranslate2. They are
    compared on `samples` sentences (0: none) of the file `source`, or of the recipe's test set (in the folder `data`).
    """
    if to not in TARGETS:
        raise UsageError(f"no engine {to!r} to export to.{did_you_mean(to, TARGETS)} There are {', '.join(TARGETS)}")
    target = TARGETS[to]
    if int8 and not target.int8:
        raise UsageError("`int8` is for CTranslate2; onnxruntime.quantization makes 8 bits of an exported graph")
    need(*target.packages)
    file = find_model(model)
    folder = Path(output) if output is not None else default_folder(file, f"{to}-int8" if int8 else to)
    require_ours(folder)
    made_from = fingerprint(file)  # before loading: a model that changes meanwhile is taken for a stale export
    translator = load(model, task="translation")
    place, texts = sample_texts(translator, model, source, data, samples) if samples else ("", [])
    assets, origin = TranslationAssets(translator.tokenizer), dict(translator.provenance)
    exported = target.write(Trained(translator.model, translator.recipe, assets, origin), folder, int8, made_from)
    megabytes = sum(each.stat().st_size for each in folder.iterdir()) / 1e6
    note(f"wrote {folder}, {megabytes:.1f} MB")
    agreement = None
    if texts:
        search, settings = translator.search_options(beam=beam)
        note(f"comparing on {len(texts):,} sentences of {place}, beam {search.beam} …")
        agreement = compare(
            Native(translator.model).decode, exported, translator.tokenizer, texts, search, settings
        )  # fmt: skip
    return Exported(folder, to, int8, megabytes, agreement)


def sample_texts(
    translator: Translator, model: str | Path, source: str | Path | None, data: str | Path | None, samples: int
) -> tuple[str, list[str]]:
    """Where sentences to compare on are from, and so many of them: given ones, or the recipe's tests if at hand."""
    if source is not None:
        place, texts = Path(source).name, list(read_lines(source))
    else:
        try:
            sets = recipe_test_sets(with_data_folder(translator.recipe, model, data))
        except RegardError:
            note(
                "the model's test text is not at hand, so the export is not compared with the original; "
                "give `source` or `data`"
            )
            return "", []
        place, texts = sets[0].name, sets[0].sources
    return place, [part.text for text in texts[:samples] for part in translator.split(text)]
