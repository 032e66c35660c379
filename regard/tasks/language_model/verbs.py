"""What the verbs of every task do with a language model: evaluate, score, view, embed and neighbours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from regard.data.plain import documents_in, read_documents
from regard.data.progress import progress
from regard.errors import UsageError
from regard.tasks.data_folder import choose_test, with_data_folder
from regard.tasks.ensembles import ModelNames, require_one
from regard.tasks.language_model.cache import MOST as MOST_REMEMBERED
from regard.tasks.language_model.cache import Cache, choose, measure_with
from regard.tasks.language_model.evaluation import PerplexityTest
from regard.tasks.language_model.generator import TextGenerator
from regard.tasks.language_model.page import TextAttention, draw_text
from regard.tasks.language_model.results import TextScore
from regard.tasks.movie_file import text_and_movie
from regard.tasks.neighbours import WordVectors
from regard.tasks.texts import in_blocks
from regard.tasks.vectors import TextVectors
from regard.tasks.verbs import load
from regard.view.scenes import write_page

SCORED_TOGETHER = 256


def evaluate(
    model: ModelNames,
    data: str | Path | None = None,
    *,
    file: str | Path | None = None,
    stride: int | None = None,
    cache: int | None = None,
    test: str | None = None,
    device: str = "cpu",
) -> Iterator[PerplexityTest]:
    """Perplexity of the recipe's test sets, or only of `test`, else of its validation text, or of a file; also with a `cache` of
    so many tokens, if that is asked for."""
    writer = load(model, device, task="text-generation")
    texts = dict(texts_of(writer, model, file, data))
    names = choose_test(texts, test, file)
    chosen = chosen_cache(writer, model, data, cache, stride) if cache else None
    for name in names:
        yield measured(writer, name, texts[name], stride, chosen)


def chosen_cache(
    writer: TextGenerator, model: ModelNames, data: str | Path | None, size: int, stride: int | None
) -> Cache:
    """As it serves the recipe's validation text best."""
    require_one(model, "a cache of what was read")
    if not 0 < size <= MOST_REMEMBERED:
        raise UsageError(f"a cache holds from 1 to {MOST_REMEMBERED:,} tokens, not {size:,}")
    recipe = with_data_folder(writer.recipe, model, data)
    with progress() as bar:
        task = bar.add_task("Choosing theta and lambda on the validation text", total=None)
        lines = read_documents(recipe.data.valid, recipe.data)
        return choose(size, writer, lines, stride, lambda tokens: bar.advance(task, tokens))


def texts_of(
    writer: TextGenerator, model: ModelNames, file: str | Path | None, data: str | Path | None
) -> Iterator[tuple[str, Iterator[str]]]:
    """Names and lines of what is evaluated."""
    if file is not None:
        yield Path(file).name, documents_in(Path(file), writer.recipe.data)
        return
    recipe = with_data_folder(writer.recipe, model, data)
    for name, files in (recipe.data.test or {"valid": recipe.data.valid}).items():
        yield name, read_documents(files, recipe.data)


def measured(
    writer: TextGenerator, name: str, lines: Iterable[str], stride: int | None, cache: Cache | None
) -> PerplexityTest:
    """With a progress bar."""
    cached = None
    with progress() as bar:
        task = bar.add_task(f"Measuring {name}", total=None)

        def tell(tokens: int) -> None:
            bar.advance(task, tokens)

        if cache is None:
            found = writer.measure(lines, stride, tell)
        else:
            found, cached = measure_with(cache, writer, lines, stride, tell)
    if not found.tokens:
        raise UsageError(f"{name} holds no text")
    return PerplexityTest(name, found, cached)


def score(
    model: ModelNames, texts: Iterable[str] | None, look_ahead: int, *, device: str = "cpu"
) -> Iterator[TextScore]:
    """Log-probability and perplexity per word of each text."""
    if texts is None:
        raise UsageError("give the texts whose probability is asked for")
    writer = load(model, device, task="text-generation")
    for block in in_blocks(texts, min(look_ahead, SCORED_TOGETHER)):
        yield from writer.score(block)


@dataclass(frozen=True, repr=False)
class SeenText:
    """What a language model expected at each place of a text."""

    look: TextAttention
    movie: Mapping[str, Any] | None = None
    """Of the run, if there is one."""

    def draw(self, console: Console) -> None:
        """In a terminal."""
        draw_text(self.look, console)

    def write(self, path: str | Path, command: str = "") -> None:
        """As one HTML file that needs nothing else."""
        write_page(Path(path), [self.look], self.movie)

    def to_dict(self) -> dict[str, Any]:
        """All that the page shows, as plain JSON values."""
        return self.look.to_dict()


def view(model: str | Path, text: str | None = None, *, device: str = "cpu") -> SeenText:
    """What it expected, what came, and what it looked at meanwhile."""
    text, movie = text_and_movie(model, text)
    return SeenText(load(model, device, task="text-generation").look(text), movie)


def embed(model: str | Path, *, device: str = "cpu") -> TextVectors:
    """The decoder reads; its last state has seen all of a text."""
    return load(model, device, task="text-generation")


def neighbours(model: str | Path, *, words: Iterable[str] | None = None) -> WordVectors:
    return load(model, task="text-generation").word_vectors(words=words)
