"""`regard export`: a model for other engines, and the proof that it writes the same there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.commands.app import Beam, DataFolder, Json, ModelName, SourceFile, app, errors
from regard.commands.evaluating import with_data_folder
from regard.errors import RegardError, UsageError, did_you_mean

if TYPE_CHECKING:
    from regard import Translator
    from regard.export.agreement import Decode
    from regard.tasks.task import Trained

NEEDED = {"ctranslate2": ("ctranslate2",), "onnx": ("onnx", "onnxruntime")}
BAR = 0.99  # of the texts must be identical where numbers have 32 bits


@app.command(epilog="Example: `regard export runs/x --to ctranslate2`")
def export(
    model: ModelName,
    to: Annotated[str, typer.Option("--to", metavar="ENGINE", help="ctranslate2 or onnx.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="DIR", help="Folder to write. [beside the model]")
    ] = None,
    int8: Annotated[bool, typer.Option("--int8", help="CTranslate2: matrices in 8 bits.")] = False,
    source: SourceFile = None,
    data: DataFolder = None,
    samples: Annotated[int, typer.Option(min=0, help="Sentences to compare with the original; 0: none.")] = 1_000,
    beam: Beam = None,
    as_json: Json = False,
) -> None:
    """Write a model for another engine, then translate with both and report whether they agree."""
    import regard
    from regard.checkpoint import find_model
    from regard.export.agreement import compare
    from regard.export.folder import default_folder, fingerprint, need, require_ours
    from regard.tasks.task import Trained
    from regard.tasks.translation.assets import TranslationAssets
    from regard.tasks.translation.native import Native

    if to not in NEEDED:
        raise UsageError(f"no engine {to!r} to export to.{did_you_mean(to, NEEDED)} There are {', '.join(NEEDED)}")
    if int8 and to == "onnx":
        raise UsageError("--int8 is for CTranslate2; onnxruntime.quantization makes 8 bits of an exported graph")
    need(*NEEDED[to])
    file = find_model(model)
    folder = output or default_folder(file, f"{to}-int8" if int8 else to)
    require_ours(folder)
    made_from = fingerprint(file)  # before loading: a model that changes meanwhile is taken for a stale export
    translator = regard.load(model, task="translation")
    place, texts = sample_texts(translator, model, source, data, samples) if samples else ("", [])
    trained = Trained(
        translator.model, translator.recipe, TranslationAssets(translator.tokenizer), dict(translator.provenance)
    )
    exported = write(trained, folder, to, int8, made_from)
    size = sum(each.stat().st_size for each in folder.iterdir()) / 1e6
    say(f"wrote {folder}, {size:.1f} MB")
    if not texts:
        return
    search, settings = translator.search_options(beam=beam)
    say(f"comparing on {len(texts):,} sentences of {place}, beam {search.beam} …")
    found = compare(
        Native(translator.model).decode, exported, translator.tokenizer, texts, search, settings,
    )  # fmt: skip
    print(json.dumps(found.to_dict(), ensure_ascii=False, indent=1) if as_json else "\n".join(found.lines(to)))
    if found.share < BAR and not int8:
        say(f"regard: less than {BAR:.0%} agree; do not use {folder} before you know why")


def say(message: str) -> None:
    errors.print(message, highlight=False, markup=False, soft_wrap=True)


def write(trained: Trained, folder: Path, to: str, int8: bool, made_from: str) -> Decode:
    """Export, and load what was written."""
    if to == "onnx":
        from regard.export.onnx import OnnxModel, export_onnx
        from regard.tasks.translation.native import Native

        export_onnx(trained, folder, made_from=made_from)
        return Native(OnnxModel(folder)).decode
    from regard.export.ctranslate2 import export_ctranslate2
    from regard.export.ctranslate2_engine import CTranslate2Engine

    export_ctranslate2(trained, folder, int8=int8, made_from=made_from)
    return CTranslate2Engine(folder, int8).decode


def sample_texts(
    translator: Translator, model: str, source: Path | None, data: Path | None, samples: int
) -> tuple[str, list[str]]:
    """Where sentences to compare on are from, and so many of them: given ones, or the recipe's tests if at hand."""
    from regard.data.corpus import read_lines
    from regard.tasks.translation.evaluation import recipe_test_sets
    from regard.tasks.translation.splitting import split_text

    if source is not None:
        place, texts = source.name, list(read_lines(source))
    else:
        try:
            sets = recipe_test_sets(with_data_folder(translator.recipe, model, data))
        except RegardError:
            say(
                "regard: the model's test text is not at hand, so the export is not compared with the original; "
                "give --source FILE or --data DIR"
            )
            return "", []
        place, texts = sets[0].name, sets[0].sources

    def pieces(text: str) -> int:
        return len(translator.tokenizer.encode(text, "source"))

    return place, [part for text in texts[:samples] for part in split_text(text, translator.longest, pieces)]
