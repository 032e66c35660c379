"""Training lines that differ from epoch to epoch: sentences joined, punctuation stripped, case changed, names swapped, words
cut into other tokens.

What becomes of a line is a pure function of (seed, epoch, row), so that any batch can be made again by itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard import config
from regard.data.batching import Position, Rows, TokenBatches
from regard.data.ids import PairIds
from regard.data.mixture import Mixture
from regard.data.placeholders import protect_pair
from regard.data.sentences import space_between
from regard.data.subword_sampling import SubwordSampling
from regard.data.tokenizer import Side, Tokenizer

MOST_JOINED = 4
FINAL = re.compile(r"\s*[.!?。！？…]+$")
WORD = re.compile(r"[^\W_]+")
SHORTEST_NAME = 3  # letters; shorter words that two languages share are hardly names

INVENTED = 0.5
"""Share of the names that are swapped in which are made up; the others are capitalised words of the text."""

Ids = NDArray[Any]
Change = Callable[[str, str, Random], tuple[str, str]]


class Lines(NamedTuple):
    """Which rows of the corpus make up each line of an epoch."""

    rows: Rows  # [rows]
    begins: Rows  # [lines + 1]; line n is rows[begins[n] : begins[n + 1]]

    def of(self, number: int) -> Rows:
        return self.rows[self.begins[number] : self.begins[number + 1]]


class Batch(NamedTuple):
    """The rows of each of its lines."""

    epoch: int
    lines: list[Rows]


class LineBatches(TokenBatches):
    """Batches of lines: of an epoch's, a share `join` are two to four random rows, where they fit into `longest` tokens."""

    def __init__(
        self,
        lengths: NDArray[np.int32],
        tokens: int,
        seed: int,
        join: float,
        longest: int,
        mixture: Mixture | None = None,
    ) -> None:
        super().__init__(lengths, tokens, seed)
        self._join, self._longest, self._mixture = join, longest, mixture
        self._joined: tuple[int, Lines] | None = None
        self._ends = [0]  # batches before each epoch, as far as somebody asked

    def lines(self, epoch: int) -> Lines:
        """Every row is in one line; without `join`, it is one. Of a mixture, rows of one text are joined."""
        random = np.random.Generator(np.random.PCG64([self._seed, epoch, MOST_JOINED]))
        if self._mixture is None:
            return self._lines_of(np.arange(len(self._lengths)), random)
        found = [
            self._lines_of(self._mixture.rows(text, epoch), random)
            for text in np.flatnonzero(self._mixture.counts).tolist()
        ]
        offsets = np.cumsum([0, *(len(each.rows) for each in found)])
        begins = [each.begins[:-1] + offset for each, offset in zip(found, offsets, strict=False)]
        return Lines(np.concatenate([each.rows for each in found]), np.concatenate([*begins, offsets[-1:]]))

    def _lines_of(self, rows: Rows, random: np.random.Generator) -> Lines:
        count = len(rows)
        if not self._join:
            return Lines(rows, np.arange(count + 1))
        rows = rows[random.permutation(count)]
        # Of L lines, join · L have three rows on average and the others one, and together they have all rows.
        sizes = random.integers(2, MOST_JOINED + 1, size=round(self._join * count / (1 + 2 * self._join)))
        ends = np.cumsum(sizes)
        sizes, ends = sizes[ends <= count], ends[ends <= count]
        if not len(sizes):
            return Lines(rows, np.arange(count + 1))
        chosen, rest = rows[: ends[-1]], rows[ends[-1] :]
        fits = (np.add.reduceat(self._lengths[chosen], ends - sizes, axis=0) <= self._longest).all(1)  # [groups]
        together = np.repeat(fits, sizes)
        alone = np.concatenate([chosen[~together], rest])
        begins = np.cumsum(np.concatenate([[0], sizes[fits], np.ones(len(alone), dtype=np.int64)]))
        return Lines(np.concatenate([chosen[together], alone]), begins)

    def line_lengths(self, epoch: int) -> NDArray[np.int32]:
        """Tokens of both sides of every line of an epoch [lines, 2]."""
        if not self._join and self._mixture is None:
            return self._lengths
        rows, begins = self._lines_once(epoch)
        summed: NDArray[np.int32] = np.add.reduceat(self._lengths[rows], begins[:-1], axis=0)
        return summed

    def plan(self, epoch: int) -> list[Rows]:
        """The line numbers of every batch of an epoch."""
        if not self._join and self._mixture is None:
            return super().plan(epoch)
        return TokenBatches(self.line_lengths(epoch), self._tokens, self._seed).plan(epoch)

    def number(self, position: Position) -> int:
        """How many batches come before a position."""
        while len(self._ends) <= position.epoch:
            self._ends.append(self._ends[-1] + len(self.plan(len(self._ends) - 1)))
        return self._ends[position.epoch] + position.index

    def take_lines(self, position: Position, count: int) -> tuple[list[Batch], Position]:
        """The next batches from a position, and the position after them."""
        batches = []
        for _ in range(count):
            (numbers,), after = self.take(position, 1)
            lines = self._lines_once(position.epoch)
            batches.append(Batch(position.epoch, [lines.of(number) for number in numbers]))
            position = after
        return batches, position

    def _lines_once(self, epoch: int) -> Lines:
        if self._joined is None or self._joined[0] != epoch:
            self._joined = (epoch, self.lines(epoch))
        return self._joined[1]


class Augmentation:
    """What becomes of lines on their way into a batch, as `[data]` asks for."""

    def __init__(
        self,
        corpus: PairIds,
        tokenizer: Tokenizer,
        data: config.ParallelText,
        seed: int,
        sampling: SubwordSampling | None = None,
    ) -> None:
        self._corpus, self._tokenizer, self._seed = corpus, tokenizer, seed
        self._longest = data.max_tokens
        languages: tuple[tuple[Side, str], ...] = (("source", data.source_language), ("target", data.target_language))
        self._between = {side: space_between(language) for side, language in languages}
        changes: list[tuple[float, Change]] = [
            (data.copy, self._swap_name),
            (data.strip_punctuation, strip_punctuation),
            (data.change_case, change_case),
            (data.protect, protect_pair),
        ]
        self._changes = [(share, change) for share, change in changes if share]
        self._sampling = sampling

    def pairs(self, batch: Batch) -> list[tuple[Ids, Ids]]:
        """Source and target ids of each line of a batch."""
        pairs = [self._changed(batch.epoch, rows) if self._changes else self._plain(rows) for rows in batch.lines]
        if self._sampling is None:
            return pairs
        return [self._sampled(*pair, batch.epoch, rows) for pair, rows in zip(pairs, batch.lines, strict=True)]

    def in_turns(self, batch: Batch) -> list[tuple[Ids, Ids]]:
        """The same, of which some are turned round: each line in one epoch or in the next."""
        odd = batch.epoch % 2
        heads = [Random(f"{self._seed} {batch.epoch - odd} {rows[0]} turn").random() < 0.5 for rows in batch.lines]
        return [pair[::-1] if head != bool(odd) else pair for pair, head in zip(self.pairs(batch), heads, strict=True)]

    def _plain(self, rows: Rows) -> tuple[Ids, Ids]:
        if len(rows) == 1:
            return self._corpus.source(rows[0]), self._corpus.target(rows[0])
        return self._joined("source", rows), self._joined("target", rows)

    def _joined(self, side: Side, rows: Rows) -> Ids:
        """No token reaches over a space, so that the ids of sentences with spaces between them are those of each."""
        ids = [self._corpus.source(row) if side == "source" else self._corpus.target(row) for row in rows]
        if self._between[side]:
            return np.concatenate(ids)
        text = "".join(self._tokenizer.decode(each.tolist(), side) for each in ids)
        return np.array(self._tokenizer.encode(text, side))

    def _changed(self, epoch: int, rows: Rows) -> tuple[Ids, Ids]:
        plain = self._plain(rows)
        random = Random(f"{self._seed} {epoch} {rows[0]}")
        chosen = [change for share, change in self._changes if random.random() < share]
        if not chosen:
            return plain
        texts = self._tokenizer.decode(plain[0].tolist(), "source"), self._tokenizer.decode(plain[1].tolist())
        before = texts
        for change in chosen:
            texts = change(*texts, random)
        if texts == before:
            return plain
        source, target = self._tokenizer.encode(texts[0], "source"), self._tokenizer.encode(texts[1], "target")
        if not (self._fits(source) and self._fits(target)):
            return plain  # capital letters take more tokens
        return np.array(source), np.array(target)

    def _sampled(self, source: Ids, target: Ids, epoch: int, rows: Rows) -> tuple[Ids, Ids]:
        """The same text in other tokens, where they are not too many."""
        assert self._sampling is not None, "asked for"
        random = Random(f"{self._seed} {epoch} {rows[0]} tokens")
        sampled = self._sampling.sample(source, "source", random), self._sampling.sample(target, "target", random)
        return sampled if all(map(self._fits, sampled)) else (source, target)

    def _fits(self, ids: Sequence[int] | Ids) -> bool:
        return 0 < len(ids) <= self._longest

    def _swap_name(self, source: str, target: str, random: Random) -> tuple[str, str]:
        """A name or number that both sides have → another, a name from anywhere in the source text."""
        shared = sorted(names_of(source) & names_of(target))
        if not shared:
            return source, target
        old = random.choice(shared)
        if old.isdecimal():
            new = "".join(random.choice("0123456789") for _ in old)
        else:
            words = self._capitalised(random)
            if words and random.random() < INVENTED:
                words = [crossed(random.choice(words), random.choice(self._capitalised(random) or words), random)]
            new = random.choice(words) if words else old
        word = re.compile(rf"(?<!\w){re.escape(old)}(?!\w)")
        return word.sub(new, source), word.sub(new, target)

    def _capitalised(self, random: Random) -> list[str]:
        """What might be names, from a random place in the source text; a line's first word has a capital letter whatever it is."""
        text = self._tokenizer.decode(self._corpus.source(random.randrange(len(self._corpus))).tolist(), "source")
        _, _, behind = text.partition(" ")
        return sorted(word for word in names_of(behind) if len(word) > SHORTEST_NAME and not word.isdecimal())


def crossed(first: str, second: str, random: Random) -> str:
    """The beginning of one word and the end of another: nobody has seen it, so that it can only be copied."""
    return first[: random.randint(2, len(first) - 1)] + second[random.randint(1, len(second) - 2) :]


def names_of(text: str) -> set[str]:
    """Numbers, and words with a capital letter first and small ones after it, as names are written."""
    words = WORD.findall(text)
    return {word for word in words if word.isdecimal() or (len(word) >= SHORTEST_NAME and word.istitle())}


def strip_punctuation(source: str, target: str, random: Random) -> tuple[str, str]:
    """Without what ends the last sentence, on both sides if both have it."""
    if not (FINAL.search(source) and FINAL.search(target)):
        return source, target
    return FINAL.sub("", source), FINAL.sub("", target)


def change_case(source: str, target: str, random: Random) -> tuple[str, str]:
    """All in capitals; or a source in small letters, whose translation is as it was.

    A source in a script without case, such as Korean, stays: nothing in it would say that the target has another.
    """
    letters = [letter for letter in source if letter.isalpha()]
    if sum(letter.lower() == letter.upper() for letter in letters) * 2 > len(letters):
        return source, target
    return (source.upper(), target.upper()) if random.random() < 0.5 else (source.lower(), target)
