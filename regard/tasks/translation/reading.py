"""How a part of a text is read: values that the model does not translate stand behind placeholders, and what is written in
capitals, or all in small letters, is read in the case in which its tokenizer knows the words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from regard.data.placeholders import VALUE, lost, outside_values, protect, restore
from regard.data.sentences import split_sentences
from regard.data.tokenizer import Tokenizer
from regard.decoding.options import Hypothesis
from regard.errors import UsageError
from regard.tasks.translation.warnings import Doubt

NEARLY = 1.0  # of a score: a translation that keeps a number may be so much less probable than one that does not
WORD = re.compile(r"[^\W\d_]{1,64}(?:['’][^\W\d_]{1,64}){0,3}")
WORD_OR_VALUE = re.compile(rf"(?P<value>{VALUE.pattern}) | (?P<word>{WORD.pattern})", re.VERBOSE)


class ReadPart(NamedTuple):
    """A part of a text as the model reads it."""

    text: str
    values: tuple[str, ...] = ()
    """What the placeholders in it stand for."""
    original: str = ""
    """The part as it was given."""
    capitals: bool = False
    """Whether it was given in capitals, in which the translation is then written."""
    copied: bool = False
    """Whether there is nothing to translate: it has no letters but those of its values, and comes out as it went in."""

    def lost_in(self, hypothesis: Hypothesis, tokenizer: Tokenizer) -> list[str]:
        """Values whose placeholder the model did not write."""
        return lost(tokenizer.decode(hypothesis.tokens), self.values) if self.values else []

    def ranked(self, hypotheses: Sequence[Hypothesis], tokenizer: Tokenizer) -> list[Hypothesis]:
        """Of those that are nearly as probable as the best, the ones that lost the fewest values first; then the others."""
        near = [each for each in hypotheses if each.score >= hypotheses[0].score - NEARLY]
        near.sort(key=lambda each: len(self.lost_in(each, tokenizer)))
        return [*near, *(each for each in hypotheses if each.score < hypotheses[0].score - NEARLY)]

    def written(self, tokens: Sequence[int], tokenizer: Tokenizer) -> str:
        """The line that tokens of its translation stand for."""
        if self.copied:
            return self.original
        line = tokenizer.line(tokens)
        return restore(outside_values(line, str.upper) if self.capitals else line, self.values)


@dataclass(frozen=True)
class Reader:
    """What a model makes of a text before it reads it, as options ask for it."""

    tokenizer: Tokenizer
    language: str
    protects: bool
    truecases: bool

    def read(self, texts: Sequence[str]) -> list[ReadPart]:
        """Each text as the model reads it."""
        masked = ((protect(text) if self.protects else (text, [])) for text in texts)
        return [
            ReadPart(found, tuple(values), text, copied=True)
            if self.protects and not any(map(str.isalpha, found))
            else self._cased(found, values, text)
            for (found, values), text in zip(masked, texts, strict=True)
        ]

    def copy(self, part: ReadPart) -> Hypothesis:
        """What is written of a part that is copied."""
        tokens = self.tokenizer.encode(part.text, "target")
        return Hypothesis(tuple(tokens), 0.0, 0.0, (0.0,) * (len(tokens) + 1), "end")

    def plain(self, part: ReadPart) -> ReadPart:
        """The same without placeholders."""
        return self._cased(part.original, (), part.original)

    def _cased(self, text: str, values: Sequence[str], original: str) -> ReadPart:
        capitals = self.truecases and in_capitals(text)
        if capitals:
            text = truecase(text, self.tokenizer, self.language)
        elif self.truecases and in_small_letters(text):
            text = with_capitals(text, self.tokenizer)
        return ReadPart(text, tuple(values), original, capitals)


def in_capitals(text: str) -> bool:
    """Whether all letters of a text are capitals, but for its values, and there is a word of two or more. ß has no capital that is
    in use; a script without case is none of capitals."""
    bare = VALUE.sub(" ", text).replace("ß", "")
    return (
        bare.isupper()
        and all(letter.isupper() for letter in bare if letter.isalpha())
        and any(len(found[0]) > 1 for found in WORD.finditer(bare))
    )


def in_small_letters(text: str) -> bool:
    """Whether all letters of a text are small, but for its values."""
    bare = VALUE.sub(" ", text)
    return bare.islower() and all(letter.islower() for letter in bare if letter.isalpha())


def truecase(text: str, tokenizer: Tokenizer, language: str) -> str:
    """Each word of a text in capitals in the case in which the tokenizer knows it best, the first of a sentence capitalised."""
    return "".join(_sentence_case(sentence, tokenizer) for sentence in split_sentences(text, language))


def _sentence_case(sentence: str, tokenizer: Tokenizer) -> str:
    begins = True

    def cased(found: re.Match[str]) -> str:
        nonlocal begins
        first, begins = begins, False
        return found[0] if found["word"] is None else tokenizer.best_known(list(_forms(found[0], first)))

    return WORD_OR_VALUE.sub(cased, sentence)


def _forms(word: str, first: bool) -> Iterator[str]:
    """All that is written like this in capitals, the most usual first: a sentence does not begin with a small letter."""
    small = word.lower()
    for form in (small, small.replace("ss", "ß")) if "ss" in small else (small,):
        if not first:
            yield form
        yield form[0].upper() + form[1:]
    yield word


def with_capitals(text: str, tokenizer: Tokenizer) -> str:
    """A text in small letters with a capital where the tokenizer knows a word better by one: `hunger` is no German word, `Hunger` is."""

    def cased(found: re.Match[str]) -> str:
        word = found[0]
        if found["word"] is None:
            return word
        small, capital = tokenizer.encode_all([word, name := word[0].upper() + word[1:]], "source")
        return name if len(capital) < len(small) else word

    return WORD_OR_VALUE.sub(cased, text)


def require_placeholders(tokenizer: Tokenizer, asked: bool | None) -> bool:
    """Whether values are protected: as asked, or wherever the model was trained for it."""
    if asked and not tokenizer.has_placeholders:
        raise UsageError("this model cannot `protect` numbers and addresses: it was trained without `data.protect`")
    return tokenizer.has_placeholders if asked is None else asked


def keeps_more(held: ReadPart, best: Hypothesis, plain: ReadPart, other: Hypothesis, tokenizer: Tokenizer) -> bool:
    """Whether what was written of a part without placeholders has more of its values than what was written with them."""
    return len(lost_values(plain, plain.written(other.tokens, tokenizer))) < len(held.lost_in(best, tokenizer))


def lost_values(part: ReadPart, output: str) -> list[Doubt]:
    """Values of a source that its translation lacks."""
    words = part.original.split()
    return [
        Doubt("lost", "source", tuple(number for number, word in enumerate(words) if value in word), value)
        for value in protect(part.original)[1]
        if value not in output
    ]
