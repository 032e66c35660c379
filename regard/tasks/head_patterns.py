"""What each attention head does across a corpus: how far away it looks, at which words, and where it looks most strongly.

L layers · H heads · Q query tokens · K key tokens
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.data.corpus import read_lines
from regard.data.progress import progress
from regard.errors import UsageError
from regard.notes import note
from regard.tasks.head_patterns_page import NEAR, Example, HeadPattern, HeadPatterns, check_name
from regard.tasks.verbs import load, row_of
from regard.view.arrays import unpack
from regard.view.words import SPECIAL, merge
from regard.view.words import Word as Span

SENTENCES = 1_000
EXAMPLES = 12
WORDS = 12
MOST_WORDS = 20_000
"""Different words that are counted: the memory stays the same however long the corpus is. Later ones are left out of the list of words."""
AROUND = 10
"""Words of a sentence that are told on each side of an example."""


def head_patterns(
    model: str | Path,
    corpus: str | Path | Iterable[str],
    *,
    sentences: int = SENTENCES,
    output: str | Path | None = None,
    command: str = "",
    device: str = "cpu",
) -> HeadPatterns:
    """What each head attends to in the first `sentences` lines of a corpus: a file with a text on each line, or the texts themselves.

    A translator translates each text greedily and attends while it does. `output` is a page (.html) to write, and `command`
    what it says made it.
    """
    if output is not None:
        check_name(Path(output))
    if sentences < 1:
        raise UsageError(f"{sentences} sentences show nothing; at least one is needed")
    row = row_of(model)
    if row.glass_box is None:
        raise UsageError(f"models of the task {row.name!r} read no sentences whose attention could be gathered")
    name, lines = (Path(corpus).name, read_lines(corpus)) if isinstance(corpus, str | Path) else ("texts", iter(corpus))
    glass = {"engine": "native"} if row.understands("load", "engine") else {}
    loaded = load(model, device, **glass)
    options = {"beam": 1} if "beam" in row.glass_box.options else {}
    gathered, read, skipped = Gathered(), 0, 0
    with progress() as bar:
        for text in bar.track(
            islice((line for line in lines if line.strip()), sentences), sentences, description="Looking"
        ):
            try:
                for scene in row.glass_box.scenes(loaded, text, **options):
                    gathered.add(scene.to_dict(walk=False))
            except UsageError as error:
                skipped += 1
                note(f"left out {text[:40]!r}: {error}")
            else:
                read += 1
    if not gathered.heads:
        raise UsageError(
            f"no attention was found in {name}: " + ("it has no text" if not read + skipped else f"{model} has none")
        )
    found = HeadPatterns(loaded.recipe.name, name, read, skipped, list(gathered.patterns()))
    if output is not None:
        found.write(output, command)
    return found


@dataclass
class Sums:
    """What was seen so far of one kind of attention."""

    shape: tuple[int, int]
    """Layers and heads."""
    queries: int = 0
    places: NDArray[np.float64] = field(init=False)
    """[L × H, places]: the weight on special tokens, on all keys further before than is told apart, on each near one, and further after."""
    entropy: NDArray[np.float64] = field(init=False)
    """[L × H], in bits."""
    words: NDArray[np.float64] = field(init=False)
    """[L × H, words]: the weight on each word."""
    examples: list[dict[tuple[str, str], Example]] = field(init=False)
    """Of each head, the strongest by query word and key word."""

    def __post_init__(self) -> None:
        count = self.shape[0] * self.shape[1]
        self.places, self.entropy = np.zeros((count, 2 * NEAR + 4)), np.zeros(count)
        self.words, self.examples = np.zeros((count, 256)), [{} for _ in range(count)]

    def keep(self, head: int, pair: tuple[str, str], example: Example) -> None:
        """Only the strongest of a pair of words, and of these only a few."""
        kept = self.examples[head]
        if pair in kept and kept[pair].weight >= example.weight:
            return
        kept[pair] = example
        if len(kept) > EXAMPLES:
            del kept[min(kept, key=lambda each: kept[each].weight)]


class Gathered:
    """Adds up scenes (view/scenes.py), one after the other, in the same memory however many there are."""

    def __init__(self) -> None:
        self.heads: dict[str, Sums] = {}
        self.numbers: dict[str, dict[str, int]] = {}

    def add(self, scene: dict[str, Any]) -> None:
        sides = {
            "cross": ("target", "source"), "encoder": ("source", "source"), "decoder": ("target", "read"),
        }  # fmt: skip
        for kind, attention in scene["attention"].items():
            if kind in sides:
                queries, keys = (scene[side] for side in sides[kind])
                self._add(kind, unpack(attention["weights"]), queries, keys)

    def _add(self, kind: str, weights: NDArray[np.float64], queries: dict[str, Any], keys: dict[str, Any]) -> None:
        """Weights [L, H, Q, K] of one sentence."""
        layers, heads, asked, given = weights.shape
        sums = self.heads.setdefault(kind, Sums((layers, heads)))
        flat = weights.reshape(layers * heads, asked, given)
        sums.queries += asked
        special = np.array([token in SPECIAL for token in keys["tokens"]])
        distance = np.arange(given)[None, :] - np.arange(asked)[:, None]  # [Q, K]
        place = np.where(special[None, :], 0, distance.clip(-NEAR - 1, NEAR + 1) + NEAR + 2)
        sums.places += flat.reshape(len(flat), -1) @ np.eye(2 * NEAR + 4)[place.ravel()]
        sums.entropy -= np.where(flat > 0, flat * np.log2(np.where(flat > 0, flat, 1)), 0).sum((1, 2))
        spans = [[Span(word["first"], word["end"]) for word in side["words"]] for side in (queries, keys)]
        asking, asked_for = ([word["text"] for word in side["words"]] for side in (queries, keys))
        self._add_words(
            kind, sums, merge(flat, *spans), asking, asked_for, [bool(special[span.first]) for span in spans[1]]
        )

    def _add_words(
        self,
        kind: str,
        sums: Sums,
        weights: NDArray[np.float64],
        queries: list[str],
        keys: list[str],
        special: list[bool],
    ) -> None:
        """Weights [L × H, query words, key words]."""
        numbers = self.numbers.setdefault(kind, {})
        for word in keys:
            if len(numbers) < MOST_WORDS:
                numbers.setdefault(word, len(numbers))
        while sums.words.shape[1] < len(numbers):
            sums.words = np.pad(sums.words, ((0, 0), (0, sums.words.shape[1])))
        counted = [place for place, word in enumerate(keys) if word in numbers]
        received = weights.sum(1)[:, counted]
        np.add.at(sums.words.T, [numbers[keys[place]] for place in counted], received.T)
        looks = np.where(np.array(special), 0.0, weights)  # the marks of begin and end are told apart from words
        for head, cells in enumerate(looks.reshape(len(looks), -1)):
            for cell in np.argsort(-cells, kind="stable")[:2]:
                if cells[cell] > 0:
                    query, key = divmod(int(cell), len(keys))
                    example = Example(float(cells[cell]), *around(queries, query), *around(keys, key))
                    sums.keep(head, (queries[query], keys[key]), example)

    def patterns(self) -> Iterator[HeadPattern]:
        """Of each head of each kind."""
        for kind, sums in self.heads.items():
            words = list(self.numbers[kind])
            for number, (layer, head) in enumerate(np.ndindex(sums.shape)):
                places = sums.places[number] / sums.queries
                share = sums.words[number] / max(1e-12, sums.words[number].sum())
                best = [int(place) for place in np.argsort(-share, kind="stable")[:WORDS] if share[place] > 0]
                examples = sorted(sums.examples[number].values(), key=lambda each: -each.weight)
                yield HeadPattern(
                    kind, layer, head, float(places[0]), places[1:].tolist(), float(sums.entropy[number] / sums.queries),
                    [(words[place], float(share[place])) for place in best], examples,
                )  # fmt: skip


def around(words: Sequence[str], place: int) -> tuple[list[str], int]:
    """A word with those around it, and where it stands among them."""
    first = max(0, place - AROUND)
    return list(words[first : place + AROUND + 1]), place - first
