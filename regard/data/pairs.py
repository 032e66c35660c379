"""Parallel text → a prepared folder: the tokenizer of both languages, and the ids of every pair that passes the rules."""

from __future__ import annotations

import json
import math
import os
import random
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

from rich.progress import Progress

from regard import config
from regard.config import TranslationRecipe
from regard.data.cleaning import Cleaner, Counts, Report, Seen, summed
from regard.data.encoding import encode_corpus
from regard.data.ids import PairWriter, smallest_type
from regard.data.mixture import read_direction, read_split
from regard.data.placeholders import PLACEHOLDERS
from regard.data.progress import progress
from regard.data.sentences import split_sentences
from regard.data.text_doubts import doubts
from regard.data.tokenizer import Tokenizer, train_tokenizer
from regard.errors import DataError
from regard.files import replacing

__all__ = ["SETTINGS", "Report", "build"]

SETTINGS = (
    "source_column", "target_column", "split_column", "source_language", "target_language", "hold_out", "corpus", "max_tokens",
    "max_ratio", "protect",
)  # fmt: skip
TOKENIZER = "tokenizer.json"
WORTH_A_PROCESS = 250_000
"""Pairs that keep another process busy for several times what it takes to start."""
COUNTED = 20_000  # lines of the sample whose sentences are counted
USUAL = 0.1

T = TypeVar("T")


def build(
    folder: Path, recipe: TranslationRecipe, workers: int | None, show: bool, tokenizer: Tokenizer | None = None
) -> tuple[dict[str, Any], Report]:
    """Write the folder → what its manifest says of each split, and the report."""
    data = recipe.data
    directions = data.directions
    if next(read_split(data, "valid"), None) is None:  # a mistake in the small text need not wait for the large
        raise DataError("no corpus names validation text; see data.valid and data.hold_out")
    with progress(show) as bar:
        read = counted(read_split(data, "train"), bar, "Reading train", None)
        sample, total = take_sample(read, recipe.tokenizer.sample)
        sentences = sentences_per_line([s for s, _ in sample[:COUNTED]], directions[0].languages[0])
        task = bar.add_task("Learning tokens", total=None)
        if tokenizer is None:
            placeholders = PLACEHOLDERS if data.protect else ""
            tokenizer = train_tokenizer((s for s, _ in sample), (t for _, t in sample), recipe.tokenizer, placeholders)
        elif data.protect:  # that of a model to start from may lack them, as it may lack tags
            tokenizer = tokenizer.with_placeholders()
        tokenizer = tokenizer.with_tags(data.tags)
        del sample
        write_tokenizer(folder, tokenizer)
        kind = smallest_type(max(tokenizer.size("source"), tokenizer.size("target")))
        bar.update(task, total=1, completed=1)
        if workers is None:
            workers = min(os.cpu_count() or 1, 1 + total // WORTH_A_PROCESS)
        splits: dict[str, Any] = {}
        counts: dict[str, list[Counts]] = {}
        seen = Seen()
        for split, processes in (("train", workers), ("valid", 1)):
            with PairWriter(folder, split, kind) as writer:
                counts[split] = []
                for direction in directions:
                    cleaner = Cleaner(data.max_tokens, data.max_ratio, seen, training=split == "train")
                    pairs = counted(read_direction(direction, split), bar, f"Encoding {split} {direction.name}", None)
                    chunks = encode_corpus(pairs, folder / TOKENIZER, processes)
                    with closing(chunks):
                        for kept in map(cleaner.clean, chunks):
                            writer.add(kept.ids, kept.lengths)
                    counts[split].append(cleaner.counts)
                splits[split] = writer.finish()
        task = bar.add_task("Looking for what is hardly meant", total=None)
        found = list(doubts(data))
        bar.update(task, total=1, completed=1)
    report = Report(
        data.max_tokens,
        data.max_ratio,
        **{split: summed(each) for split, each in counts.items()},
        sentences=sentences,
        directions=[" ".join([each.name, "→".join(each.languages)]) for each in directions] if data.corpus else [],
        corpora=counts if data.corpus else {},
        doubts=found,
    )
    return splits, report


def sentences_per_line(sources: Sequence[str], language: str) -> int:
    """How many sentences at a time a model will be able to translate: as many as one line in ten had, or more."""
    counts = sorted((len(split_sentences(source, language)) for source in sources), reverse=True)
    return max(1, counts[math.ceil(len(counts) * USUAL) - 1]) if counts else 1


def write_tokenizer(folder: Path, tokenizer: Tokenizer) -> None:
    with replacing(folder / TOKENIZER) as temporary:
        temporary.write_text(json.dumps(tokenizer.to_dict(), indent=1), encoding="utf-8")


def counted(items: Iterable[T], bar: Progress, doing: str, total: int | None) -> Iterator[T]:
    """What is read, counted by a bar as it passes."""
    task = bar.add_task(doing, total=total)
    number = 0
    for number, item in enumerate(items, start=1):
        yield item
        if number % 1_000 == 0:
            bar.update(task, completed=number)
    bar.update(task, completed=number, total=number)


def sample_size(settings: config.Tokenizer) -> int:
    """How many lines a tokenizer learns from: all, where every word of the text is to have its token."""
    return settings.sample if settings.vocabulary else sys.maxsize


def take_sample(items: Iterable[T], size: int) -> tuple[list[T], int]:
    """At most `size` items, each equally likely wherever it stands (reservoir sampling), and the count of all."""
    chance = random.Random(0)  # the tokenizer follows from the text alone
    sample: list[T] = []
    number = 0
    for number, item in enumerate(items, start=1):
        if number <= size:
            sample.append(item)
        elif (place := int(chance.random() * number)) < size:
            sample[place] = item
    return sample, number
