"""Words and the nearest of them: which words there are, and whose embeddings point the same way.

W words · V vocabulary · D width
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from regard.data.tokenizer import BYTES, UNKNOWN, Side, Tokenizer
from regard.errors import RegardError, UsageError, did_you_mean
from regard.notes import note
from regard.tasks.data_folder import with_data_folder
from regard.tasks.texts import shown
from regard.view.words import SPACE, has_spaces, texts_of

if TYPE_CHECKING:
    from torch import Tensor

MOST_LINES = 200_000  # of a text whose words are counted
MOST_WORDS = 20_000
LEAST = 3
"""Times that a word must occur, so that its embedding has learned something; in a text of few words, once is enough."""
FEW_WORDS = 500
FEW_TOKENS = 100
TINY = 1e-12  # of a vector of zeros the cosine is 0
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")


@dataclass(frozen=True, repr=False)
class Neighbours:
    """The words nearest to one."""

    word: str
    side: Side
    tokens: tuple[str, ...]
    """What the word consists of; of several, its vector is the mean."""
    nearest: tuple[tuple[str, float], ...]
    """Words with their cosines, the nearest first."""

    def __repr__(self) -> str:
        return f"Neighbours({self.word!r}: {', '.join(word for word, _ in self.nearest)})"

    def lines(self) -> list[str]:
        """For people."""
        return [f"{similarity:.3f}  {word}" for word, similarity in self.nearest]

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        nearest = [{"word": word, "cosine": round(similarity, 6)} for word, similarity in self.nearest]
        return {"word": self.word, "side": self.side, "tokens": list(self.tokens), "neighbours": nearest}


class WordVectors:
    """Words with their vectors: the mean of their tokens' embeddings."""

    def __init__(self, tokenizer: Tokenizer, side: Side, table: Tensor, words: Sequence[str]) -> None:
        """`words` in the order of their frequency; `table` [V, D]."""
        self.tokenizer, self.side, self._table = tokenizer, side, table.detach()
        known = [(word, ids) for word, ids in zip(words, tokenizer.encode_all(words, side), strict=True)
                 if ids and UNKNOWN not in ids]  # fmt: skip
        self.words = [word for word, _ in known]
        self.known = frozenset(self.words)
        self.vectors = self._means([ids for _, ids in known])
        """[W, D]"""
        self._directions = _directions(self.vectors)

    def _means(self, ids: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        """The mean embedding of each list of ids [W, D]."""
        import torch

        flat = torch.tensor([each for own in ids for each in own], dtype=torch.long, device=self._table.device)
        starts = np.cumsum([0, *map(len, ids)][:-1] if ids else [])
        offsets = torch.tensor(starts, dtype=torch.long, device=self._table.device)
        means: NDArray[np.float32] = (
            torch.nn.functional.embedding_bag(flat, self._table, offsets, mode="mean").float().cpu().numpy()
        )
        return means

    def vector(self, word: str) -> NDArray[np.float32]:
        """Of any word [D]; a vocabulary of whole words may not have it."""
        mean: NDArray[np.float32] = self._means([self._ids(word)])[0]
        return mean

    def _ids(self, word: str) -> list[int]:
        if not isinstance(word, str):
            raise UsageError(f"neighbours are of a word, not of {shown(word)}")
        ids = self.tokenizer.encode(word.strip(), self.side)
        if not ids:
            raise UsageError(f"a word is wanted, such as {self.words[0] if self.words else 'father'!r}, not {word!r}")
        if UNKNOWN in ids:
            raise UsageError(f"{word!r} is not in this model's vocabulary.{did_you_mean(word, self.words)}")
        return ids

    def neighbours(self, word: str, count: int = 10) -> Neighbours:
        """The nearest; other spellings of the word in large or small letters are left out."""
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise UsageError(f"`count` must be a whole number of at least 1, not {count!r}")
        ids = self._ids(word)
        cosines = self._directions @ _directions(self._means([ids]))[0]  # [W]
        own = word.strip().casefold()
        order = (place for place in np.argsort(-cosines, kind="stable") if self.words[place].casefold() != own)
        nearest = tuple((self.words[place], float(cosines[place])) for place in islice(order, count))
        return Neighbours(word.strip(), self.side, tuple(self.tokenizer.tokens(ids, self.side)), nearest)


def _directions(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Vectors [W, D] of length 1."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    directions: NDArray[np.float32] = vectors / np.maximum(lengths, TINY)
    return directions


def count_words(lines: Iterable[str], tokenizer: Tokenizer, side: Side) -> list[str]:
    """The words of a text, the most frequent first: what stands between spaces and punctuation; where a script puts no spaces
    between words, each token is one."""
    counts: Counter[str] = Counter()
    for line in islice(lines, MOST_LINES):
        counts.update(_WORD.findall(line))
    for run in [run for run in counts if not has_spaces(run)]:
        times = counts.pop(run)
        for word in filter(None, texts_of(tokenizer.tokens(tokenizer.encode(run, side), side))):
            counts[word] += times
    ranked = counts.most_common(MOST_WORDS)
    often = [word for word, times in ranked if times >= LEAST]
    return often if len(often) >= FEW_WORDS else [word for word, _ in ranked]


def with_own_token(words: Sequence[str], tokenizer: Tokenizer, side: Side) -> list[str]:
    """Those of the words that are one token, if there are enough: only they have a vector of their own, and are not alike
    because they are spelled alike."""
    encoded = tokenizer.encode_all(words, side)
    whole = [word for word, ids in zip(words, encoded, strict=True) if len(ids) == 1]
    return whole if len(whole) >= FEW_TOKENS else list(words)


def vocabulary_words(tokenizer: Tokenizer, side: Side) -> list[str]:
    """Tokens that a word may be: those that begin one and are of letters. Some are only beginnings: no text tells here."""
    names = tokenizer.tokens(range(tokenizer.size(side)), side)[UNKNOWN + 1 if tokenizer.words else BYTES.stop :]
    candidates = (
        name.removeprefix(SPACE) for name in names if name.startswith(SPACE) or tokenizer.words or not has_spaces(name)
    )
    return list(dict.fromkeys(word for word in candidates if _WORD.fullmatch(word)))[:MOST_WORDS]


def training_text(recipe: Any, model: str | Path | None, read: Callable[[Any], Iterable[str]]) -> Iterator[str]:
    """The lines that a model learned from, where they can be found without a download; of a bundled model, the bundled corpus."""
    if model is None:
        return
    try:
        found = with_data_folder(recipe, model, None)
        yield from read(replace(found, data=replace(found.data, download={})))
    except (RegardError, OSError):
        note(
            f"the training text of {model} was not found: the words are tokens of the vocabulary, some of them only "
            "beginnings of words. Name other text with `words`"
        )
