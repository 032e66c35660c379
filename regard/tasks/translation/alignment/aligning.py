"""Word alignments of any number of pairs, where a model looks best: what the verb `align` does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from regard.errors import RegardError
from regard.notes import note
from regard.tasks.data_folder import with_data_folder
from regard.tasks.texts import LOOK_AHEAD, in_blocks
from regard.tasks.translation.alignment.align import Alignment, stream
from regard.tasks.translation.alignment.choice import Choice, choose, heads_of, validation_pairs
from regard.tasks.translation.translator import Translator
from regard.tasks.translation.verbs import given_pairs
from regard.tasks.verbs import load


@dataclass(frozen=True)
class Alignments(Iterator[Alignment]):
    """One alignment for each pair, in order and in bounded memory, to read once."""

    choice: Choice
    """Where the model is looked at, and how often each look was confirmed."""
    found: Iterator[Alignment]

    def __next__(self) -> Alignment:
        return next(self.found)


def align(
    model: str | Path,
    pairs: Iterable[str | tuple[str, str]] | None = None,
    *,
    source: str | Path | None = None,
    target: str | Path | None = None,
    data: str | Path | None = None,
    layer: int | None = None,
    head: int | None = None,
    read: bool | None = None,
    reverse: str | Path | None = None,
    device: str = "cpu",
) -> Alignments:
    """Which word came from which: of pairs (source, target), of lines `source TAB target`, or of two files.

    `layer` and `head` of the decoder count from 1 as people count, and `read` says whether a token looks when it is read
    or when it is written; what is not said is chosen where both directions agree best, on the recipe's validation text (in
    the folder `data`) or else on the pairs. `reverse` is a model of the opposite direction, whose alignments are joined.
    """
    translator = load(model, device, task="translation", engine="native")
    opposite = load(reverse, device, task="translation", engine="native") if reverse is not None else None
    blocks = in_blocks(given_pairs(pairs, source, target, empty=True)[0], LOOK_AHEAD)
    first = next(blocks, [])
    looks = heads_of(translator, None if layer is None else layer - 1, None if head is None else head - 1, read)
    settled = len(looks) == 1 and opposite is None
    sample = first if settled else _validation_or(first, translator, model, data)
    choice = choose(translator, looks, sample, opposite, show=True)
    return Alignments(choice, stream(translator, chain(first, chain.from_iterable(blocks)), choice, opposite))


def _validation_or(
    given: list[tuple[str, str]], translator: Translator, model: str | Path, data: str | Path | None
) -> list[tuple[str, str]]:
    """The validation pairs of a model's recipe, or the given ones where those are not at hand."""
    try:
        return validation_pairs(with_data_folder(translator.recipe, model, data).data)
    except RegardError:
        note("the model's validation text is not at hand; choosing on the input")
        return given
