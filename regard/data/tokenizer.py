"""Text ↔ ids, by SentencePiece. The tokenizer is learned from the training text and travels inside the model file.

What has no token of its own is spelled in bytes, so every text can be written and nothing is unknown; but for `kind = "words"`,
which has no bytes: there what is not in the vocabulary is unknown.
"""

from __future__ import annotations

import base64
import io
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from itertools import chain
from typing import Any, Literal

import numpy as np
import sentencepiece
from numpy.typing import NDArray

from regard import config
from regard.data.placeholders import PLACEHOLDERS, restore
from regard.errors import DataError, shown

Side = Literal["source", "target"]

PAD, START, END, UNKNOWN = 0, 1, 2, 3
BYTES = range(4, 260)
"""Ids of the tokens that stand for one byte; they follow the special ids in every tokenizer."""

_KINDS = {"words": "word", "characters": "char"}  # as SentencePiece calls them
CONTROL, USER_DEFINED = 3, 4
"""Types of tokens in a SentencePiece model."""

SPACE = "▁"
"""How tokens write a space."""
_LONGEST = 4_192  # bytes of a line that SentencePiece learns from; its own default


# Characters whose normal form does not depend on what stands beside them, and that are no space of another kind. In a
# text of these and of plain spaces, no token reaches beyond a word, so that the text's ids are those of its words.
_PLAIN = re.compile(
    r"[ !-~\u00c0-\u017f\u0391-\u03a1\u03a3-\u03c9\u0410-\u044f\u2013\u2019\u201c-\u201e\uac00-\ud7a3]*"
)
_REMEMBERED = 100_000_000  # bytes of words and their ids: some 300,000 words as people write them
_LONGEST_WORD = 64  # characters; longer ones hardly come again, and a server's visitors could fill its memory with them
_ENTRY = 300  # bytes of a remembered word besides its letters and ids: its place in the dictionary, as that grows
_ID = 36  # bytes of an id: the number and its place in the list


class _Words(dict[str, list[int]]):
    """The ids of words, each asked for only once: several times as fast as whole texts."""

    def __init__(self, processor: sentencepiece.SentencePieceProcessor) -> None:
        super().__init__({"": []})
        self._processor = processor
        self.bytes = 0
        """At most what is remembered takes."""
        self.whole = not processor.is_byte(BYTES.start)  # a vocabulary of words, which cannot spell

    def __missing__(self, word: str) -> list[int]:
        ids: list[int] = self._processor.encode(word)
        if len(word) <= _LONGEST_WORD:
            size = _ENTRY + sys.getsizeof(word) + _ID * len(ids)
            if self.bytes + size <= _REMEMBERED:
                self.bytes += size
                self[word] = ids
        return ids

    def of(self, text: str) -> list[int]:
        if self.whole:  # SentencePiece would make one unknown of several that follow each other
            return list(chain.from_iterable(map(self.__getitem__, _readable(text).split())))
        if _PLAIN.fullmatch(text) is None:
            whole: list[int] = self._processor.encode(_readable(text))
            return whole
        return list(chain.from_iterable(map(self.__getitem__, text.split(" "))))


class Tokenizer:
    """One SentencePiece model for both sides, or one for each."""

    def __init__(self, source: bytes, target: bytes | None = None) -> None:
        self._models = (source,) if target is None else (source, target)
        loaded = [_load(model) for model in self._models]
        self._processors = {"source": loaded[0], "target": loaded[-1]}
        words = [_Words(processor) for processor in loaded]
        self._words = {"source": words[0], "target": words[-1]}  # one memory where there is one vocabulary
        self._values: Sequence[str] | None = None
        self.has_placeholders = all(each.piece_to_id(PLACEHOLDERS[-1]) != UNKNOWN for each in loaded)
        """Whether there are tokens for placeholders."""

    @property
    def joint(self) -> bool:
        """Whether both sides share one vocabulary."""
        return len(self._models) == 1

    def with_tags(self, tags: Sequence[str]) -> Tokenizer:
        """With tokens of their own for tags, which no text is ever cut into, behind all others."""
        new = [tag for tag in tags if not self._processors["source"].is_control(self._id_of(tag))]
        return Tokenizer(*(add_tokens(model, new, CONTROL) for model in self._models)) if new else self

    def with_placeholders(self) -> Tokenizer:
        """With a token for each placeholder, behind all others."""
        if self.has_placeholders:
            return self
        return Tokenizer(*(add_tokens(model, PLACEHOLDERS) for model in self._models))

    def tag(self, tag: str) -> int:
        """The id of a tag."""
        found = self._id_of(tag)
        if not self._processors["source"].is_control(found):
            raise DataError(f"the tokenizer has no tag {shown(tag)}")
        return found

    def _id_of(self, piece: str) -> int:
        return int(self._processors["source"].piece_to_id(piece))

    @property
    def source_only(self) -> Tokenizer:
        """The tokenizer of the source for both sides: what a task with one text reads with."""
        return Tokenizer(self._models[0])

    def size(self, side: Side) -> int:
        """Tokens in a side's vocabulary, special ids included."""
        return int(self._processors[side].get_piece_size())

    @property
    def words(self) -> bool:
        """Whether tokens are whole words, and others are unknown; otherwise they are spelled in bytes."""
        return self._words["source"].whole

    def showing(self, values: Sequence[str]) -> Tokenizer:
        """The same tokenizer, whose tokens and lines show what the placeholders of one text stand for."""
        shown = copy(self)
        shown._values = values
        return shown

    def rare(self, ids: NDArray[Any]) -> NDArray[np.bool_]:
        """Which ids stand for what the vocabulary lacks."""
        return ids == UNKNOWN if self.words else (ids >= BYTES.start) & (ids < BYTES.stop)

    def encode(self, text: str, side: Side = "source") -> list[int]:
        """The ids of a text, without special ids."""
        return self.encode_all([text], side)[0]

    def encode_all(self, texts: Sequence[str], side: Side) -> list[list[int]]:
        """The ids of each text."""
        words = self._words[side]
        return [words.of(text) for text in texts]

    def best_known(self, forms: Sequence[str], side: Side = "source") -> str:
        """Of ways to write a word, the one of the fewest tokens; of equals the one whose tokens are the most usual, then the first."""
        every = self.encode_all(forms, side)
        usual = [sum(self._processors[side].get_score(ids)) for ids in every]
        return min(zip(map(len, every), (-score for score in usual), range(len(forms)), forms, strict=True))[-1]

    def decode(self, ids: Sequence[int], side: Side = "target") -> str:
        """The text of ids; special ids are dropped."""
        text: str = self._processors[side].decode([int(each) for each in ids if each > UNKNOWN])
        return text.strip(" ")

    def line(self, ids: Sequence[int], side: Side = "target") -> str:
        """The text of ids on one line: bytes can spell a line end."""
        line = " ".join(self.decode(ids, side).splitlines())
        return line if self._values is None else restore(line, self._values)

    def tokens(self, ids: Sequence[int], side: Side) -> list[str]:
        """Each id as people read it; "▁" marks the start of a word."""
        names: list[str] = self._processors[side].id_to_piece([int(each) for each in ids])
        return names if self._values is None else [restore(name, self._values) for name in names]

    def scores(self, side: Side) -> dict[str, float]:
        """Of each token that words are cut into, by its text: how early `bpe` merges it, or how probable `unigram` finds it, as a
        logarithm. Special tokens and bytes have none."""
        processor = self._processors[side]
        words = (each for each in range(BYTES.stop, self.size(side)) if not processor.is_control(each))
        return {processor.id_to_piece(each): processor.get_score(each) for each in words}

    def normalize(self, text: str, side: Side = "source") -> str:
        """The text as the model sees it, which is what decoding its ids gives back."""
        normal: str = self._processors[side].normalize(_readable(text))
        return normal.replace(SPACE, " ").strip(" ")

    def to_dict(self) -> dict[str, str]:
        """The models in base64, for JSON."""
        names = ("joint",) if self.joint else ("source", "target")
        return {name: base64.b64encode(model).decode() for name, model in zip(names, self._models, strict=True)}

    @classmethod
    def from_dict(cls, stored: Mapping[str, str]) -> Tokenizer:
        """Read what `to_dict` wrote."""
        names = ("joint",) if "joint" in stored else ("source", "target")
        try:
            models = [base64.b64decode(stored[name], validate=True) for name in names]
        except (KeyError, ValueError, TypeError):
            raise DataError(
                f"the stored tokenizer is damaged: it holds {shown(list(stored)) if stored else 'nothing'}"
            ) from None
        return cls(*models)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tokenizer) and self._models == other._models

    def __hash__(self) -> int:
        return hash(self._models)


def train_tokenizer(
    source_lines: Iterable[str], target_lines: Iterable[str], settings: config.Tokenizer, placeholders: str = ""
) -> Tokenizer:
    """Learn tokens from both sides together, or from each on its own; each placeholder has one besides."""
    learned = replace(settings, vocabulary=settings.vocabulary - len(placeholders)) if placeholders else settings
    if settings.joint:
        both = (line for lines in (source_lines, target_lines) for line in lines)
        return Tokenizer(add_tokens(_train(both, learned, "the text"), placeholders))
    return Tokenizer(
        add_tokens(_train(source_lines, learned, "the source text"), placeholders),
        add_tokens(_train(target_lines, learned, "the target text"), placeholders),
    )


def add_tokens(model: bytes, texts: Iterable[str], kind: int = USER_DEFINED) -> bytes:
    """A SentencePiece model with more tokens at its end, one for each text, which nothing is merged with; a text is cut into
    those that are user defined, and never into control tokens.

    A model is a protocol buffer, and one that goes on after its end has more elements in its lists: field 1 are the pieces,
    each with its text (1), score (2) and type (3).
    """
    end = b"\x15\0\0\0\0\x18" + bytes([kind])
    pieces = ((b"\x0a" + bytes([len(text)]) + text + end) for text in map(str.encode, texts))
    return model + b"".join(b"\x0a" + bytes([len(piece)]) + piece for piece in pieces)


def train_text_tokenizer(lines: Iterable[str], settings: config.Tokenizer) -> Tokenizer:
    """Learn tokens from one text; however long a line is, all of it counts."""
    return Tokenizer(_train((part for line in lines for part in _within_reach(line)), settings, "the text"))


def _within_reach(line: str) -> Iterator[str]:
    """The line in parts that SentencePiece learns from, cut at spaces; it would ignore a longer one."""
    most = _LONGEST // 4  # characters: UTF-8 spends at most four bytes on each
    begin = 0
    while len(line) - begin > most:
        cut = line.rfind(" ", begin + 1, begin + most)
        cut = begin + most if cut < 0 else cut
        yield line[begin:cut]
        begin = cut
    yield line[begin:]


def _train(lines: Iterable[str], settings: config.Tokenizer, text: str) -> bytes:
    written, words = io.BytesIO(), settings.kind == "words"
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines),
            model_writer=written,
            model_type=_KINDS.get(settings.kind, settings.kind),
            vocab_size=settings.vocabulary or BYTES.stop + 1,  # 0: only not too small
            use_all_vocab=settings.vocabulary == 0,
            character_coverage=1.0 if words else settings.coverage,
            normalization_rule_name=settings.normalization,
            max_sentence_length=_LONGEST,
            byte_fallback=not words,
            pad_id=PAD,
            bos_id=START,
            eos_id=END,
            unk_id=UNKNOWN,
            minloglevel=4,  # above fatal: SentencePiece would write to stderr past Python
        )
    except RuntimeError as error:
        raise _explain(str(error), settings, text) from None
    return written.getvalue()


def _explain(message: str, settings: config.Tokenizer, text: str) -> DataError:
    """SentencePiece's complaint in the words of the recipe."""
    asked = f"tokenizer.vocabulary = {settings.vocabulary:,}"
    if found := re.search(r"value <= (\d+)", message):
        rare = settings.coverage < 1 and settings.kind != "words"
        hint = f"; tokenizer.coverage = {settings.coverage:g} leaves its rarest characters to bytes" if rare else ""
        return DataError(f"{asked} is too many for {text}, which yields at most {int(found[1]):,} tokens{hint}")
    if found := re.search(r"required_chars\. \d+ vs (\d+)", message):
        return DataError(
            f"{asked} is too few: {text} needs at least {int(found[1]):,} (4 special tokens, 256 bytes and its"
            " characters). Raise it, or lower tokenizer.coverage"
        )
    if "sentences_.empty()" in message:
        return DataError(f"{asked} cannot be learned: {text} has no line between 1 and {_LONGEST:,} bytes")
    return DataError(f"SentencePiece cannot learn {asked} from {text}: {message}")


def _load(model: bytes) -> sentencepiece.SentencePieceProcessor:
    try:
        processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    except RuntimeError:
        raise DataError("the stored tokenizer is damaged: SentencePiece cannot read it") from None
    if not model or processor.get_piece_size() <= UNKNOWN + 1:  # SentencePiece takes nothing at all for a model
        raise DataError("the stored tokenizer is damaged: it holds no tokens")
    return processor


def _readable(text: str) -> str:
    """The text as SentencePiece can read it: its sign for a space is a space, and half a surrogate pair, which JSON
    and the command line can smuggle in but UTF-8 cannot hold, is a question mark."""
    return text.replace(SPACE, " ").encode("utf-8", "replace").decode("utf-8")
