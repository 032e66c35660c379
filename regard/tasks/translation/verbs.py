"""What the verbs of every task do with a translator: evaluate, score, view, embed and neighbours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from regard.config import ParallelText
from regard.data.corpus import decode_pairs, read_pairs
from regard.data.progress import progress
from regard.errors import UsageError
from regard.notes import note
from regard.tasks.data_folder import choose_test, keep_apart, with_data_folder
from regard.tasks.ensembles import ModelNames
from regard.tasks.movie_file import text_and_movie
from regard.tasks.neighbours import WordVectors
from regard.tasks.texts import in_blocks
from regard.tasks.translation.attention import Attention
from regard.tasks.translation.evaluation import TranslationTest, sets_to_test
from regard.tasks.translation.evaluation import evaluate as evaluate_on
from regard.tasks.translation.results import PairScore
from regard.tasks.translation.terminal import draw
from regard.tasks.translation.translator import Translator
from regard.tasks.translation.unlike import rows_unlike, scores_unlike
from regard.tasks.vectors import TextVectors
from regard.tasks.verbs import load
from regard.view.scenes import scenes_of, write_page

Pairs = Iterator[tuple[str, str]]


def evaluate(
    model: ModelNames,
    data: str | Path | None = None,
    *,
    source: str | Path | None = None,
    target: str | Path | None = None,
    beam: int | None = None,
    paper: bool = False,
    unlike: float | None = None,
    output: str | Path | None = None,
    save: bool = False,
    engine: str = "auto",
    int8: bool = False,
    shortlist: bool = False,
    workers: int = 1,
    split: bool = True,
    protect: bool | None = None,
    truecase: bool = True,
    to: str | None = None,
    test: str | None = None,
    device: str = "cpu",
) -> Iterator[TranslationTest]:
    """Each test set, or only `test`, translated and scored; the translations become files of the folder `output`. `unlike` tells
    besides what the sentences come to that share less than that of their 5-grams with any training sentence."""
    if save and (int8 or shortlist or engine not in ("auto", "native")):
        raise UsageError("`save` stores what the model itself scores; leave out `engine`, `int8` and `shortlist`")
    engine = "native" if save else engine
    translator = load(
        model, device, task="translation", engine=engine, int8=int8, shortlist=shortlist, workers=workers, to=to
    )
    sets = sets_to_test(translator, model, data, source, target)
    chosen = choose_test((each.name for each in sets), test, source)
    sets = [each for each in sets if each.name in chosen and (to is None or each.to in ("", to))]
    if not sets:
        raise UsageError(f"the test set {test!r} is not translated into {to!r}; leave out `to`")
    files = {each.name: Path(output) / f"{each.name}.txt" for each in sets} if output is not None else {}
    keep_apart(files.values(), (file for each in sets for file in each.files))
    if output is not None:
        Path(output).mkdir(parents=True, exist_ok=True)
    rows = {}
    if unlike is not None:  # before minutes of translating
        recipe = with_data_folder(replace(translator.recipe, data=translator.data), model, data)
        rows = {each.name: rows_unlike(each, recipe.data, unlike, translator.provenance) for each in sets}
    for each in sets:
        found = evaluate_on(translator, each, paper=paper, beam=beam, split=split, protect=protect, truecase=truecase)
        if each.name in rows:
            language = each.to or translator.recipe.data.target_language
            found = replace(
                found, scores=[*found.scores, *scores_unlike(found, rows[each.name], unlike or 0, language)]
            )
        if output is not None:
            files[each.name].write_text("".join(f"{text}\n" for text in found.texts), encoding="utf-8")
        yield found


def score(
    model: ModelNames,
    texts: Iterable[str | tuple[str, str]] | None,
    look_ahead: int,
    *,
    source: str | Path | None = None,
    target: str | Path | None = None,
    to: str | None = None,
    device: str = "cpu",
) -> Iterator[PairScore]:
    """Of each pair how probable the target is; two files, or pairs, or lines that hold both."""
    if isinstance(texts, list | tuple) and any(isinstance(each, str) and "\t" not in each for each in texts):
        raise UsageError(
            "a translation is scored with its source: lines of source, tab and target, or files by `source` and `target`"
        )
    translator = load(model, device, task="translation", engine="native", to=to)
    return stream_scores(translator, *given_pairs(texts, source, target), look_ahead)


def given_pairs(
    texts: Iterable[str | tuple[str, str]] | None,
    source: str | Path | None,
    target: str | Path | None,
    *,
    empty: bool = False,
) -> tuple[Pairs, str]:
    """The pairs of two files, or those given, and where they stand; with `empty`, an empty line is an empty pair."""
    if (source is None) != (target is None):
        raise UsageError("`source` and `target` go together")
    if source is not None and target is not None:
        files = str(Path(source).resolve()), str(Path(target).resolve())
        return read_pairs(files, ParallelText(), "input"), f"{source} and {target}"
    if texts is None:
        raise UsageError("give pairs of texts, or files by `source` and `target`")
    place = str(getattr(texts, "name", "the pairs"))
    lines = (each if isinstance(each, str) else "\t".join(" ".join(text.split()) for text in each) for each in texts)
    return decode_pairs((line if line.strip() or not empty else "\t" for line in lines), place), place


def stream_scores(translator: Translator, pairs: Pairs, place: str, look_ahead: int) -> Iterator[PairScore]:
    """So many pairs at a time are computed together; one that cannot be is named by its line."""
    before = 0
    for block in in_blocks(pairs, look_ahead):
        try:
            found = translator.score([source for source, _ in block], [target for _, target in block])
        except UsageError:  # of one of them: those before it are answered first
            for number, pair in enumerate(block, start=before + 1):
                try:
                    yield translator.score(*pair)
                except UsageError as error:
                    raise UsageError(f"{place}, line {number}: {error}") from None
        else:
            yield from found
        before += len(block)


@dataclass(frozen=True, repr=False)
class SeenTranslation:
    """A text in as many parts as it was translated in, and the movie of the run, if there is one."""

    parts: Sequence[Attention]
    movie: Mapping[str, Any] | None = None

    def draw(self, console: Console) -> None:
        """In a terminal, part by part."""
        for number, each in enumerate(self.parts):
            if number:
                console.print()
            draw(each, console)

    def write(self, path: str | Path, command: str = "") -> None:
        """As one HTML file that needs nothing else."""
        write_page(Path(path), self.parts, self.movie)

    def to_dict(self) -> dict[str, Any]:
        """All that the page shows, as plain JSON values."""
        return {"scenes": scenes_of(self.parts), "movie": self.movie}


def view(
    model: str | Path,
    text: str | None = None,
    *,
    beam: int | None = None,
    engine: str = "auto",
    int8: bool = False,
    shortlist: bool = False,
    split: bool = True,
    protect: bool | None = None,
    truecase: bool = True,
    to: str | None = None,
    device: str = "cpu",
) -> SeenTranslation:
    """Every attention weight of the very text that `translate` writes with the same options."""
    text, movie = text_and_movie(model, text)
    translator = load(model, device, task="translation", engine=engine, int8=int8, shortlist=shortlist, to=to)
    with progress() as bar:
        looks = translator.attentions(text, beam=beam, split=split, protect=protect, truecase=truecase)
        seen = list(bar.track(looks, description="Looking"))
    if len(seen) > 1:
        note(f"the text is shown in the {len(seen)} parts in which it is translated")
    return SeenTranslation(seen, movie)


def embed(model: str | Path, *, device: str = "cpu", int8: bool = False) -> TextVectors:
    """The encoder reads; in 8 bits what it makes of a text is rounded."""
    return load(model, device, task="translation", engine="native", int8=int8)


def neighbours(model: str | Path, *, side: str | None = None, words: Iterable[str] | None = None) -> WordVectors:
    """Of the source's or the target's words; of the target's unless asked."""
    return load(model, task="translation", engine="native").word_vectors(side, words)
