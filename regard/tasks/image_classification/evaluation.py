"""A trained image classifier against the truth: recognize a test set, score it, and keep what it is most confidently wrong
about."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

from regard import config
from regard.data.images import Seen
from regard.data.pictures import Example, read_examples, require_label
from regard.data.pixels import decode
from regard.data.progress import progress
from regard.errors import DataError, UsageError
from regard.notes import note
from regard.tasks.image_classification.recognizer import LOOK_AHEAD, Recognizer
from regard.tasks.label_results import LabelAnswers, LabelTest

NAMED = 5  # files that cannot be read, in notes


@dataclass(frozen=True)
class PictureSet:
    """Labelled pictures to test on."""

    name: str
    paths: Sequence[Path]
    data: config.LabelledPictures

    def examples(self) -> Iterator[Example]:
        return read_examples(self.paths, self.data, self.name)


@dataclass(frozen=True)
class Mistake:
    """A picture that was given another label than it has."""

    picture: str
    label: str
    given: str
    confidence: float

    def __str__(self) -> str:
        return f"{self.picture}: {self.label}, given {self.given} with {100 * self.confidence:.1f} %"


def evaluate_pictures(
    recognizer: Recognizer, test_set: PictureSet, on_answer: Callable[[Example, str, float], None] | None = None
) -> LabelTest:
    """Recognize every picture with a progress bar; `on_answer` is told of each, with its label and probability."""
    answers = LabelAnswers(recognizer.labels, recognizer.temperature)
    numbers = {label: number for number, label in enumerate(recognizer.labels)}
    decoded = decode(test_set.examples(), test_set.data)
    broken = 0
    with progress() as bar:
        task = bar.add_task(f"Recognizing {test_set.name}", total=None)
        while block := list(islice(decoded, LOOK_AHEAD)):
            logits = iter(recognizer.logits([seen.pixels for _, seen in block if isinstance(seen, Seen)]).numpy())
            for place, (example, seen) in enumerate(block, start=len(answers)):
                number, given, confidence = require_label(example, numbers), "", 0.0
                if isinstance(seen, DataError):
                    broken += 1
                    if broken <= NAMED:
                        note(f"{seen}; it does not count")
                else:
                    given, confidence = answers.add(next(logits), number, partial(_mistake, example), place)
                if on_answer is not None:
                    on_answer(example, given, confidence)
            bar.advance(task, len(block))
    if not len(answers):
        raise UsageError(f"cannot score {test_set.name}: none of its {broken:,} pictures can be read")
    return answers.score(test_set.name, "pictures", broken)


def _mistake(example: Example, given: str, confidence: float) -> Mistake:
    return Mistake(example.name, example.label, given, confidence)
