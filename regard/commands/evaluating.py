"""`regard evaluate` and `compare`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from regard.commands.app import (
    Beam,
    DataFolder,
    EngineName,
    Int8,
    Json,
    ModelName,
    Shortlist,
    SourceFile,
    TargetFile,
    Worker,
    app,
    load_for_many,
    refuse_foreign,
)
from regard.config import Recipe
from regard.errors import UsageError

if TYPE_CHECKING:
    from regard import Translator
    from regard.tasks.translation.evaluation import TestSet

R = TypeVar("R", bound=Recipe)


@app.command(epilog="Example: `regard evaluate runs/multi30k-en-de --paper`")
def evaluate(
    model: ModelName,
    source: SourceFile = None,
    target: TargetFile = None,
    data: DataFolder = None,
    beam: Beam = None,
    paper: Annotated[bool, typer.Option("--paper", help="Also lower-cased, Moses-tokenised BLEU.")] = False,
    as_json: Json = False,
    output: Annotated[Path | None, typer.Option(metavar="DIR", help="Write the model's answers here.")] = None,
    save: Annotated[bool, typer.Option("--save", help="Store the scores in the model file.")] = False,
    engine: EngineName = "native",
    int8: Int8 = False,
    shortlist: Shortlist = False,
    workers: Worker = 0,
    given: Annotated[
        Path | None, typer.Option("--file", metavar="FILE", help="Not the recipe's: labelled text, or plain.")
    ] = None,
    stride: Annotated[
        int | None, typer.Option(min=1, help="Language model: pieces by which its context slides.")
    ] = None,
) -> None:
    """How good a model is, on its recipe's test sets or on given files.

    Translation: BLEU, chrF and TER with their signatures (`--source` and `--target` give other text). Classification:
    accuracy, macro-F1, confusion and calibration. Language model: perplexity per word.
    """
    from regard.checkpoint import BUNDLED_FOLDER, find_model, task_of
    from regard.commands.classifying import evaluate_classifier
    from regard.commands.generating import evaluate_language

    file, task = find_model(model), task_of(model)
    if save and file.resolve().parent == BUNDLED_FOLDER.resolve():
        raise UsageError(f"{model} is part of regard and stays as it is; leave out --save, or copy {file}")
    refuse_foreign(model, task, {
        "--source": source, "--target": target, "--beam": beam, "--paper": paper, "--engine": engine != "native",
        "--int8": int8, "--shortlist": shortlist, "--workers": workers, "--output": output, "--file": given, "--stride": stride,
    })  # fmt: skip
    if task == "text-classification":
        evaluate_classifier(model, given, data, as_json, output, save)
        return
    if task == "text-generation":
        evaluate_language(model, given, data, as_json, save, stride)
        return
    if save and (int8 or shortlist or engine != "native"):
        raise UsageError("--save stores what the model itself scores; leave out --engine, --int8 and --shortlist")
    translator = load_for_many(model, engine, int8, shortlist, workers)
    sets = test_sets(translator, model, source, target, data)
    evaluate_translator(translator, sets, beam, paper, as_json, output, file if save else None)


def evaluate_translator(
    translator: Translator, sets: list[TestSet], beam: int | None, paper: bool, as_json: bool, output: Path | None,
    file: Path | None,
) -> None:  # fmt: skip
    """Print the scores of test sets; translations go into the folder `output`, scores into the model file `file`."""
    from regard.checkpoint import store_scores
    from regard.tasks.translation.evaluation import evaluate

    if output is not None:
        keep_apart((output / f"{each.name}.txt" for each in sets), (file for each in sets for file in each.files))
        output.mkdir(parents=True, exist_ok=True)
    results = {}
    for test_set in sets:
        scores, texts = evaluate(translator, test_set, paper=paper, beam=beam)
        results[test_set.name] = [vars(each) for each in scores]
        if output is not None:
            (output / f"{test_set.name}.txt").write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
        if not as_json:
            print(f"{test_set.name} ({len(texts):,} sentences)")
            print("\n".join(f"  {each.format()}" for each in scores), flush=True)
    if as_json:
        print(json.dumps(results, ensure_ascii=False, indent=1))
    if file is not None:
        store_scores(file, results)


def keep_apart(answers: Iterable[Path], read: Iterable[Path]) -> None:
    """Refuse to write answers over text that is read."""
    files = {file.resolve() for file in read}
    for answer in answers:
        if answer.resolve() in files:
            raise UsageError(f"the answers would overwrite {answer}, which is tested on; give --output another folder")


def with_test_sets(
    model: str, source: Path | None, target: Path | None, data: Path | None
) -> tuple[Translator, list[TestSet]]:
    import regard

    translator = regard.load(model, task="translation")
    return translator, test_sets(translator, model, source, target, data)


def test_sets(
    translator: Translator, model: str, source: Path | None, target: Path | None, data: Path | None
) -> list[TestSet]:
    from regard.tasks.translation.evaluation import file_test_set, recipe_test_sets

    if (source is None) != (target is None):
        raise UsageError("--source and --target go together: one file of sentences, one of references")
    if source is not None and target is not None:
        return [file_test_set(source, target)]
    return recipe_test_sets(with_data_folder(translator.recipe, model, data))


def with_data_folder(recipe: R, model: str, data: Path | None) -> R:
    """A model file does not say where data lay; the recipe in its run folder, or --data, does.

    What a model file calls its data is read only below the folder that a person named, and never downloaded. What a bundled model was tested on is bundled as well, in the quickstart's corpus.
    """
    from dataclasses import replace

    from regard.checkpoint import BUNDLED_FOLDER, find_model
    from regard.config import recipes
    from regard.data.corpus import BUNDLED
    from regard.files import below

    file = find_model(model)
    if data is None and file.parent == BUNDLED_FOLDER:
        return replace(recipe, data=recipes.load(BUNDLED_FOLDER / "quickstart.toml").data)
    stored = file.parent / "config.toml"
    if stored.is_file():
        return replace(recipe, data=recipes.load(stored, folder=data, finished=True).data)
    files = [file for files in recipe.data.test.values() for file in files if not file.startswith(BUNDLED)]
    if files and data is None:
        raise UsageError(
            f"a model file does not hold its test set, and that of {model} is {', '.join(files)}. Say in which folder "
            "with --data DIR or REGARD_DATA=DIR, or give other text with "
            f"{'--source FILE and --target FILE' if recipe.task == 'translation' else '--file FILE'}"
        )
    if data is None:
        return recipe
    for each in (*recipe.data.valid, *files):
        if not each.startswith(BUNDLED):
            below(data, each)
    return replace(recipe, data=replace(recipe.data, folder=str(data.resolve())))


@app.command(epilog="Example: `regard compare runs/base runs/deep`, or two files of translations with --target")
def compare(
    a: Annotated[str, typer.Argument(metavar="A", help="A model, or a file of translations.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Another.")],
    source: SourceFile = None,
    target: TargetFile = None,
    data: DataFolder = None,
    only: Annotated[str | None, typer.Option("--test", metavar="NAME", help="Only this test set.")] = None,
    resamples: Annotated[int, typer.Option(min=100, help="Bootstrap resamples.")] = 1_000,
    seed: Annotated[int, typer.Option(min=0)] = 1,
    worst: Annotated[int, typer.Option(min=0, help="Sentences to show that differ most.")] = 10,
    as_json: Json = False,
) -> None:
    """Is B better than A, on the test sets of A? Paired bootstrap, and the sentences that differ most."""
    from regard.data.corpus import read_lines
    from regard.evaluation.compare import compare
    from regard.tasks.translation.evaluation import TestSet, choose, hypotheses, require_same, translate_all

    given = {name: hypotheses(name) for name in (a, b)}
    models = {name: with_test_sets(name, source, target, data) for name, lines in given.items() if lines is None}
    if models:
        translator, sets = next(iter(models.values()))
        language = translator.recipe.data.target_language
    elif target is not None:
        language, sets = "", [TestSet(target.name, [], list(read_lines(target)))]
    else:
        raise UsageError("two files of translations need --target FILE with the references")
    sets = choose(sets, only)
    for name, (_, theirs) in models.items():
        require_same(sets, theirs, name)
    results = {}
    for each in sets:
        texts = {
            name: translate_all(models[name][0], each.sources) if lines is None else lines
            for name, lines in given.items()
        }
        found = compare(
            texts[a], texts[b], each.references, names=(a, b), resamples=resamples, seed=seed, worst=worst,
            target_language=language,
        )  # fmt: skip
        results[each.name] = found.to_dict()
        if not as_json:
            print("\n".join([f"test set: {each.name}", *found.lines()]), flush=True)
    if as_json:
        print(json.dumps(results, ensure_ascii=False, indent=1))
