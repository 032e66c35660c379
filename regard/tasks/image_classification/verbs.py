"""What the verbs of every task do with an image classifier."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from regard.data.pictures import Example, find
from regard.errors import UsageError
from regard.tasks.data_folder import choose_test, keep_apart, require_test, with_data_folder
from regard.tasks.image_classification.evaluation import PictureSet, evaluate_pictures
from regard.tasks.image_classification.page import PictureExplanation
from regard.tasks.label_results import LabelTest, predictions
from regard.tasks.task import Scored
from regard.tasks.verbs import load


def evaluate(
    model: str | Path,
    data: str | Path | None = None,
    *,
    file: str | Path | None = None,
    output: str | Path | None = None,
    test: str | None = None,
    device: str = "cpu",
) -> Iterator[LabelTest]:
    """Accuracy, macro-F1, calibration, confusion and the worst mistakes on each test set, or only on `test`; the labels given become files of
    the folder `output`, and the pictures that were most confidently mistaken a page."""
    recognizer = load(model, device, task="image-classification")
    recipe = recognizer.recipe
    if file is not None:
        sets = [PictureSet(Path(file).name, [Path(file)], replace(recipe.data, split=""))]
    else:
        recipe = with_data_folder(recipe, model, data)
        require_test(recipe)
        sets = [
            PictureSet(name, [find(each, recipe.data) for each in files], recipe.data)
            for name, files in recipe.data.test.items()
        ]
    chosen = choose_test((each.name for each in sets), test, file)
    sets = [each for each in sets if each.name in chosen]
    folder = None if output is None else Path(output)
    if folder is not None:
        keep_apart((folder / f"{each.name}.tsv" for each in sets), (path for each in sets for path in each.paths))
    for test_set in sets:
        with predictions(folder, test_set.name, partial(_described, test_set.data.folder)) as write:
            found = evaluate_pictures(recognizer, test_set, write)
        yield found


def _described(folder: str, example: Example) -> tuple[str, str]:
    """The last columns of a file of predictions: label, and picture, below the folder of the data: the file may be passed on."""
    picture = example.name.removeprefix(f"{folder}{os.sep}") if folder else example.name
    return example.label, " ".join(picture.split())


def score(model: str | Path, texts: Iterable[str] | None, look_ahead: int) -> Iterator[Scored]:
    """A classifier says how probable labels are, not pictures."""
    raise UsageError(f"{model} is a classifier: regard recognize --all tells how probable each label is")


def view(model: str | Path, text: str | None = None, *, device: str = "cpu") -> PictureExplanation:
    """What a decision about a picture looked at; `text` is its path."""
    if text is None:
        raise UsageError(f"say which picture to look at with {model}: regard view {model} picture.png -o page.html")
    return load(model, device, task="image-classification").look(text)
