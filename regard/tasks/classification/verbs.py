"""What the verbs of every task do with a classifier: evaluate, score, view, embed and neighbours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from regard.errors import UsageError
from regard.notes import note
from regard.tasks.classification.evaluation import evaluate_labels, file_labelled_set, recipe_labelled_sets
from regard.tasks.classification.page import MOST_WINDOWS, NOTE, Explanation, draw_explanation
from regard.tasks.data_folder import choose_test, keep_apart, with_data_folder
from regard.tasks.ensembles import ModelNames, told
from regard.tasks.label_results import LabelTest, predictions
from regard.tasks.movie_file import text_and_movie
from regard.tasks.neighbours import WordVectors
from regard.tasks.task import Scored
from regard.tasks.vectors import TextVectors
from regard.tasks.verbs import load
from regard.view.scenes import write_page


def evaluate(
    model: ModelNames,
    data: str | Path | None = None,
    *,
    file: str | Path | None = None,
    output: str | Path | None = None,
    test: str | None = None,
    device: str = "cpu",
) -> Iterator[LabelTest]:
    """Accuracy, macro-F1, calibration, confusion and the worst mistakes on each test set, or only on `test`; the labels given become files of
    the folder `output`."""
    classifier = load(model, device, task="text-classification")
    recipe = classifier.recipe
    sets = (
        [file_labelled_set(Path(file), recipe)]
        if file is not None
        else recipe_labelled_sets(with_data_folder(recipe, model, data))
    )
    chosen = choose_test((each.name for each in sets), test, file)
    sets = [each for each in sets if each.name in chosen]
    folder = None if output is None else Path(output)
    if folder is not None:
        keep_apart((folder / f"{each.name}.tsv" for each in sets), (each.path for each in sets))
    for test_set in sets:
        with predictions(folder, test_set.name, lambda example: (example.label,)) as write:
            found = evaluate_labels(classifier, test_set, write)
        yield found


def score(model: ModelNames, texts: Iterable[str] | None, look_ahead: int) -> Iterator[Scored]:
    """A classifier says how probable labels are, not texts."""
    raise UsageError(f"{told(model)} is a classifier: regard classify --all tells how probable each label is")


@dataclass(frozen=True, repr=False)
class SeenClassification:
    """A text in as many windows as it was read in, at most eight, and the movie of the run, if there is one."""

    windows: Sequence[Explanation]
    movie: Mapping[str, Any] | None = None

    def draw(self, console: Console) -> None:
        """In a terminal, window by window."""
        for each in self.windows:
            draw_explanation(each, console)
        if more := self.windows[-1].windows - self.windows[-1].window:
            console.print(Text(f"{more:,} more windows are not shown", "dim"))
        if self.windows[0].attention is None:
            console.print(Text("This architecture has no attention.", "dim"))
        console.print(Text(NOTE, "dim"))

    def write(self, path: str | Path, command: str = "") -> None:
        """As one HTML file that needs nothing else; `command` made it."""
        write_page(Path(path), self.windows, self.movie)

    def to_dict(self) -> dict[str, Any]:
        """The decision, and what each word of a window had to do with it."""
        first = self.windows[0]
        return {
            "text": first.text,
            "label": first.label,
            "probabilities": dict(first.probabilities),
            "windows": [
                {name: [[each.spelled(word), value] for word, value in each.by_word(name)] for name in each.names}
                for each in self.windows
            ],
        }


def view(model: str | Path, text: str | None = None, *, device: str = "cpu") -> SeenClassification:
    """Which words a decision looked at."""
    text, movie = text_and_movie(model, text)
    classifier = load(model, device, task="text-classification")
    seen = list(islice(classifier.looks(text), MOST_WINDOWS))
    if told := classifier.about_long(int(seen[0].gap is not None), int(seen[0].windows > 1)):
        note(told)
    return SeenClassification(seen, movie)


def embed(model: str | Path, *, device: str = "cpu") -> TextVectors:
    """The encoder reads; what it finds is pooled as for the labels, unless another pool is asked for."""
    return load(model, device, task="text-classification")


def neighbours(model: str | Path, *, words: Iterable[str] | None = None) -> WordVectors:
    return load(model, task="text-classification").word_vectors(words=words)
