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
from regard.data.cleaning import Cleaner, Counts, Report, Seen
from regard.data.corpus import read_pairs
from regard.data.encoding import encode_corpus
from regard.data.ids import PairWriter, smallest_type
from regard.data.progress import progress
from regard.data.sentences import split_sentences
from regard.data.tokenizer import Tokenizer, train_tokenizer
from regard.files import replacing

__all__ = ["SETTINGS", "Report", "build"]

SETTINGS = ("source_column", "target_column", "split_column", "max_tokens", "max_ratio")
TOKENIZER = "tokenizer.json"
WORTH_A_PROCESS = 250_000
"""Pairs that keep another process busy for several times what it takes to start."""
COUNTED = 20_000  # lines of the sample whose sentences are counted
USUAL = 0.1

T = TypeVar("T")


def build(folder: Path, recipe: TranslationRecipe, workers: int | None, show: bool) -> tuple[dict[str, Any], Report]:
    """Write the folder → what its manifest says of each split, and the report."""
    next(read_pairs(recipe.data.valid, recipe.data, "valid"))  # a mistake in the small text need not wait for the large
    with progress(show) as bar:
        read = counted(read_pairs(recipe.data.train, recipe.data, "train"), bar, "Reading train", None)
        sample, total = take_sample(read, recipe.tokenizer.sample)
        sentences = sentences_per_line([s for s, _ in sample[:COUNTED]], recipe.data.source_language)
        task = bar.add_task("Learning tokens", total=None)
        tokenizer = train_tokenizer((s for s, _ in sample), (t for _, t in sample), recipe.tokenizer)
        del sample
        write_tokenizer(folder, tokenizer)
        kind = smallest_type(max(tokenizer.size("source"), tokenizer.size("target")))
        bar.update(task, total=1, completed=1)
        if workers is None:
            workers = min(os.cpu_count() or 1, 1 + total // WORTH_A_PROCESS)
        splits: dict[str, Any] = {}
        counts: dict[str, Counts] = {}
        seen = Seen()
        for split, processes, size in (("train", workers, total), ("valid", 1, None)):
            cleaner = Cleaner(recipe.data.max_tokens, recipe.data.max_ratio, seen, training=split == "train")
            files = recipe.data.train if split == "train" else recipe.data.valid
            pairs = counted(read_pairs(files, recipe.data, split), bar, f"Encoding {split}", size)
            chunks = encode_corpus(pairs, folder / TOKENIZER, processes)
            with PairWriter(folder, split, kind) as writer, closing(chunks):
                for kept in map(cleaner.clean, chunks):
                    writer.add(kept.ids, kept.lengths)
                splits[split] = writer.finish()
            counts[split] = cleaner.counts
    return splits, Report(recipe.data.max_tokens, recipe.data.max_ratio, **counts, sentences=sentences)


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
