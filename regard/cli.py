"""`regard VERB`: one verb per command. A stage is imported only when its verb runs, so that help is instant."""

from __future__ import annotations

import io
import json
import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from regard import __version__
from regard.errors import RegardError, UsageError

if TYPE_CHECKING:
    from regard import Translator
    from regard.config import Recipe
    from regard.tasks.testing import TestSet
    from regard.tasks.translation import Translation

app = typer.Typer(
    help="Train attention models from your own data, see through them, and put them to work.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Try it: `regard translate demo 'Ich habe Hunger.'`  Train: `regard quickstart`",
)

RecipePath = Annotated[Path, typer.Argument(metavar="RECIPE", help="A TOML file; see recipes/.")]
ModelName = Annotated[str, typer.Argument(metavar="MODEL", help="A run folder, a model file, or `demo`.")]
DataFolder = Annotated[
    Path | None, typer.Option("--data", envvar="REGARD_DATA", metavar="DIR", help="Where the recipe's files are.")
]
Overrides = Annotated[
    list[str], typer.Option("--set", metavar="KEY=VALUE", help="Override a setting, such as model.heads=4. Repeatable.")
]
Beam = Annotated[int | None, typer.Option(min=1, help="Hypotheses kept side by side; 1 is greedy. [recipe's]")]
Json = Annotated[bool, typer.Option("--json", help="Write JSON.")]
SourceFile = Annotated[Path | None, typer.Option("--source", metavar="FILE", help="Source sentences, one per line.")]
TargetFile = Annotated[Path | None, typer.Option("--target", metavar="FILE", help="Their references, line-aligned.")]
errors = Console(stderr=True)


def main() -> None:
    """The entry point: mistakes become one message and exit code 2, Ctrl-C 130, a closed pipe 1 and silence."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")  # like the input, whatever the terminal claims
    try:
        try:
            app()
        finally:
            sys.stdout.flush()  # now rather than at exit, when nobody could catch a closed pipe
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # keeps Python from complaining at exit
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
    except (RegardError, OSError) as error:  # the system's own words name the file and what is wrong with it
        errors.print(f"regard: {error}", style="red", highlight=False, markup=False, soft_wrap=True)
        sys.exit(2)


@app.callback(invoke_without_command=True)
def about(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        print(f"regard {__version__}")
        raise typer.Exit


def read_recipe(path: Path, overrides: list[str], data: Path | None) -> Recipe:
    from regard import recipes

    recipe = recipes.load(path, overrides, folder=data)
    recipes.require_data(recipe)
    return recipe


@app.command(epilog="Example: `regard quickstart`")
def quickstart(
    run: Annotated[Path, typer.Option(metavar="DIR", help="Run folder.")] = Path("runs/quickstart"),
    overrides: Overrides = [],  # noqa: B006
) -> None:
    """Train on the bundled corpus, score, translate, and write an attention page: minutes on a laptop's CPU."""
    from regard.quickstart import quickstart

    quickstart(run, overrides, Console())


@app.command(epilog="Example: `regard prepare recipes/translate/multi30k-en-de.toml --data DIR`")
def prepare(recipe: RecipePath, data: DataFolder = None, overrides: Overrides = []) -> None:  # noqa: B006
    """Clean and count the corpus, train the tokenizer, write memory-mapped ids; or check what is there.

    `train` prepares when needed.
    """
    settings = read_recipe(recipe, overrides, data)
    from regard.data.prepare import prepare

    prepared = prepare(settings)
    for ids in (prepared.train, prepared.valid):
        ids.verify()
    print("\n".join([*prepared.report.lines(), f"ready in {prepared.folder}"]))


@app.command(epilog="Example: `regard train my.toml --dry-run`, then `regard train my.toml`. The same command goes on.")
def train(
    recipe: RecipePath,
    run: Annotated[Path | None, typer.Option(metavar="DIR", help="Run folder. [runs/NAME]")] = None,
    data: DataFolder = None,
    overrides: Overrides = [],  # noqa: B006
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Find mistakes, count, take two steps; train nothing.")
    ] = False,
) -> None:
    """Train a recipe, or go on where its run folder stopped; Ctrl-C saves and leaves."""
    settings = read_recipe(recipe, overrides, data)
    folder = run or Path("runs") / settings.name
    if dry_run:
        from regard.rehearsal import rehearse

        rehearse(settings, Console())
        return
    from regard.run import train

    outcome = train(settings, folder, Console())
    if outcome.first:
        report_outcome(outcome.reason, folder)


def report_outcome(reason: str, folder: Path) -> None:
    if reason == "interrupted":
        print(f"stopped and saved. Go on with: {shlex.join(['regard', *sys.argv[1:]])}")
        return
    how = "no better for a while" if reason == "patience" else "all updates done"
    print(f"{how}. The model is {folder / 'model.safetensors'}")
    print(f"Next: regard evaluate {folder}    or: echo 'some text' | regard translate {folder}")


@app.command(epilog="Examples: `regard translate demo 'Ich habe Hunger.'`, `regard translate runs/x < in.de > out.en`")
def translate(
    model: ModelName,
    text: Annotated[list[str] | None, typer.Argument(help="Texts; without any, lines of standard input.")] = None,
    beam: Beam = None,
    nbest: Annotated[int, typer.Option(min=1, help="Outputs per line, best first, as rank, score, text.")] = 1,
    sample: Annotated[bool, typer.Option("--sample", help="Draw at random instead of searching.")] = False,
    temperature: Annotated[float, typer.Option(help="Sampling: below 1 is safer, above 1 wilder.")] = 1.0,
    top_k: Annotated[int, typer.Option(min=0, help="Sampling: only the k most probable pieces.")] = 0,
    top_p: Annotated[float, typer.Option(help="Sampling: only the most probable pieces up to this sum.")] = 1.0,
    seed: Annotated[int, typer.Option(min=0, help="Sampling: the same seed gives the same output.")] = 0,
    prefix: Annotated[str, typer.Option(help="Text that every output begins with; an empty line stays empty.")] = "",
    no_repeat_ngram: Annotated[
        int | None, typer.Option(min=0, help="Never write a run of this many pieces twice.")
    ] = None,
    length_penalty: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of a score: paper, mean or none. [recipe's]")
    ] = None,
    alpha: Annotated[float | None, typer.Option(help="Strength of the paper's length penalty. [recipe's]")] = None,
    max_ratio: Annotated[float | None, typer.Option(help="Longest output as a multiple of the source …")] = None,
    max_extra: Annotated[int | None, typer.Option(help="… plus this many pieces.")] = None,
    as_json: Json = False,
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
) -> None:
    """Translate arguments or standard input: one line in, one line out."""
    import regard

    translator = regard.load(model, device)
    options: dict[str, Any] = dict(
        beam=beam, nbest=nbest, sample=sample, temperature=temperature, top_k=top_k, top_p=top_p, seed=seed,
        prefix=prefix, no_repeat_ngram=no_repeat_ngram, length_penalty=length_penalty, alpha=alpha,
        max_ratio=max_ratio, max_extra=max_extra,
    )  # fmt: skip
    counts = {"split": 0, "length": 0}
    if not text and sys.stdin.isatty():
        options["look_ahead"] = 1
    from regard.data.progress import progress

    with progress(show=sys.stderr.isatty() and not sys.stdout.isatty()) as bar:
        line = bar.add_task("Translating", total=len(text) if text else None)
        for translation in translator.stream(text or standard_input(), **options):
            counts["split"] += translation.parts > 1
            counts["length"] += translation.finish_reason == "length"
            write_translation(translation, nbest, as_json)
            bar.advance(line)
    if counts["split"]:
        errors.print(
            f"regard: {counts['split']} text(s) longer than the {translator.longest} pieces this model was trained for "
            "were translated in parts, split at sentence ends",
            highlight=False,
        )
    if counts["length"]:
        errors.print(f"regard: {counts['length']} output(s) reached the length limit; see --max-ratio", highlight=False)


def write_translation(translation: Translation, nbest: int, as_json: bool) -> None:
    if as_json:
        print(json.dumps(translation.to_dict(), ensure_ascii=False), flush=True)
    elif nbest > 1:
        for rank, each in enumerate(translation.alternatives, start=1):
            print(f"{rank}\t{each.score:.4f}\t{each.text}")
    else:
        print(translation.text, flush=True)


def standard_input() -> Iterator[str]:
    """Lines of standard input; only a line feed ends one, as in every file that regard reads."""
    if sys.stdin.isatty():
        errors.print("regard: reading lines from the keyboard; end with Ctrl-D", highlight=False)
    from regard.data.corpus import decode_lines

    return decode_lines(sys.stdin.buffer, "standard input")


@app.command(epilog="Example: `regard evaluate runs/multi30k-en-de --paper`")
def evaluate(
    model: ModelName,
    source: SourceFile = None,
    target: TargetFile = None,
    data: DataFolder = None,
    beam: Beam = None,
    paper: Annotated[bool, typer.Option("--paper", help="Also lower-cased, Moses-tokenised BLEU.")] = False,
    as_json: Json = False,
    output: Annotated[Path | None, typer.Option(metavar="DIR", help="Write the translations here.")] = None,
    save: Annotated[bool, typer.Option("--save", help="Store the scores in the model file.")] = False,
) -> None:
    """BLEU, chrF and TER with their signatures, on the recipe's test sets or given files."""
    from regard.checkpoint import BUNDLED_FOLDER, find_model, store_scores
    from regard.tasks.testing import evaluate

    file = find_model(model)
    if save and file.resolve().parent == BUNDLED_FOLDER.resolve():
        raise UsageError(f"{model} is part of regard and stays as it is; leave out --save, or copy {file}")
    translator, sets = with_test_sets(model, source, target, data)
    if output is not None:
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
    if save:
        store_scores(file, results)


def with_test_sets(
    model: str, source: Path | None, target: Path | None, data: Path | None
) -> tuple[Translator, list[TestSet]]:
    import regard
    from regard.tasks.testing import file_test_set, recipe_test_sets

    if (source is None) != (target is None):
        raise UsageError("--source and --target go together: one file of sentences, one of references")
    translator = regard.load(model)
    if source is not None and target is not None:
        return translator, [file_test_set(source, target)]
    return translator, recipe_test_sets(with_data_folder(translator.recipe, model, data))


def with_data_folder(recipe: Recipe, model: str, data: Path | None) -> Recipe:
    """A model file does not say where data lay; the recipe in its run folder, or --data, does."""
    from dataclasses import replace

    from regard import recipes
    from regard.checkpoint import find_model
    from regard.data.corpus import BUNDLED

    stored = find_model(model).parent / "config.toml"
    if stored.is_file():
        return replace(recipe, data=recipes.load(stored, folder=data).data)
    files = [file for files in recipe.data.test.values() for file in files if not file.startswith(BUNDLED)]
    if files and data is None:
        raise UsageError(
            f"{model} does not say where its test set ({', '.join(files)}) is. "
            "Say it with --data DIR or REGARD_DATA=DIR, or give other text with --source FILE and --target FILE"
        )
    return replace(recipe, data=replace(recipe.data, folder=str(data.resolve()) if data is not None else ""))


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
    from regard.tasks.testing import TestSet, choose, hypotheses, require_same, translate_all

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


@app.command(epilog="Example: `paste in.de in.en | regard score runs/x`")
def score(model: ModelName, source: SourceFile = None, target: TargetFile = None, as_json: Json = False) -> None:
    """Log-probability of given translations: two files, or `source TAB target` lines on standard input."""
    import regard
    from regard.data.corpus import decode_pairs
    from regard.tasks.testing import file_test_set

    translator = regard.load(model)
    if source is not None and target is not None:
        given = file_test_set(source, target)
        pairs: Iterator[tuple[str, str]] = zip(given.sources, given.references, strict=True)
        place = f"{source} and {target}"
    elif source is None and target is None:
        pairs, place = decode_pairs(standard_input(), "standard input"), "standard input"
    else:
        raise UsageError("--source and --target go together")
    for number, (left, right) in enumerate(pairs, start=1):
        try:
            found = translator.score(left, right)
        except UsageError as error:
            raise UsageError(f"{place}, line {number}: {error}") from None
        if as_json:
            print(json.dumps({**vars(found), "perplexity": found.perplexity}, ensure_ascii=False), flush=True)
        else:
            print(f"{found.log_probability:.4f}", flush=True)


@app.command(epilog="Example: `regard view demo 'Ich habe Hunger.' -o attention.html`")
def view(
    model: ModelName,
    text: Annotated[str, typer.Argument(help="The sentence to look at.")],
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write a page.")] = None,
    beam: Beam = None,
) -> None:
    """See where a translation looked: one self-contained HTML page, or in the terminal."""
    import regard
    from regard.view.page import page_of, write_page
    from regard.view.terminal import draw

    translator = regard.load(model)
    seen = translator.attention(text, beam=beam)
    if seen.parts > 1:
        errors.print(
            f"regard: the text is longer than the {translator.longest} pieces this model was trained for; "
            f"this is the first of its {seen.parts} parts: {seen.text}",
            highlight=False, markup=False, soft_wrap=True,
        )  # fmt: skip
    page = page_of(seen, seen.text, seen.translation.text, translator.recipe.name, translator.facts())
    if output is None:
        draw(page, Console())
    else:
        write_page(page, output)
        print(f"wrote {output}")
