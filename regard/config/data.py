"""`[data]` and `[tokenizer]`: which files, and the tokens that text is cut into."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from regard.config.field import setting
from regard.errors import shown, visible

MOST_TESTS = 1_000
LONGEST = 2**20  # tokens or positions: far beyond any published model's context, and a table of them still fits


@dataclass(frozen=True)
class Data:
    """`[data]`: what every task is told of its files."""

    FORM: ClassVar[str] = "name its files"
    """What a split's list of files should be, for messages."""
    MOST_FILES: ClassVar[int | None] = None
    """Files that one split can have, where there is a limit."""

    train: tuple[str, ...] = setting((), path="file")
    """Training data: TSV, or what else the task reads. Plain, .gz or .xz."""
    valid: tuple[str, ...] = setting((), path="file")
    """Validation data, in the same form; never trained on."""
    test: Mapping[str, tuple[str, ...]] = setting({}, path="file", free=True)
    """Test sets by name, each in the same form."""
    folder: str = setting("", path="place", free=True)
    """Where relative paths start, itself relative to the recipe's folder; `--data` or REGARD_DATA wins over it."""
    download: Mapping[str, str] = setting({}, path="place", free=True)
    """For a file that is not there: `path = "URL sha256"`, fetched once over https, checked, and put below the data folder."""
    prepared: str = setting("prepared", path="place", free=True)
    """Folder that keeps what is ready for training; outside of the recipe's and the current folder only with `--set`."""

    @property
    def needed(self) -> tuple[str, ...]:
        """The splits without which nothing can be trained."""
        return ("train", "valid")

    @property
    def split_by_column(self) -> bool:
        """Whether several splits may stand in one file, told apart by a column."""
        return False

    @property
    def inputs(self) -> tuple[str, ...]:
        """The files that training reads."""
        return (*self.train, *self.valid)

    @property
    def tests(self) -> Mapping[str, tuple[str, ...]]:
        """By name, the files of every test set."""
        return self.test

    def files_of(self, split: str) -> tuple[str, ...]:
        """The files of `train`, `valid` or a test set."""
        return {"train": self.train, "valid": self.valid}.get(split) or self.test[split]

    @property
    def splits(self) -> dict[str, tuple[str, ...]]:
        """By setting, the files of every split."""
        tests = {f"data.test.{name}": files for name, files in self.test.items()}
        return {"data.train": self.train, "data.valid": self.valid, **tests}

    def impossible(self) -> Iterator[str]:
        """What is wrong though each setting alone is right."""
        if len(self.test) > MOST_TESTS:
            yield f"data.test names {len(self.test):,} test sets, more than {MOST_TESTS:,}"
            return
        yield from (
            f"data.test.{shown(name)[1:-1]}: {shown(name)} cannot name a file"
            for name in self.test
            if not is_plain(name)
        )
        paths = [
            self.folder,
            self.prepared,
            *self.download,
            *(file for files in self.splits.values() for file in files),
        ]
        yield from (f"{shown(path)} in [data] cannot name a file" for path in paths if not is_path(path))
        for name, files in self.splits.items():
            too_many = self.MOST_FILES is not None and len(files) > self.MOST_FILES
            if too_many or (name.startswith("data.test.") and not files):
                yield f"{name} names {len(files)} files; {self.FORM.replace('name ', 'give ')}"

    def same_columns(self, *names: str) -> Iterator[str]:
        """A mistake if two settings mean one column of a single file."""
        columns = [(name, value) for name in names if (value := getattr(self, name))]
        distinct = len({value for _, value in columns}) == len(columns)
        if not distinct and any(len(files) == 1 for files in self.splits.values()):
            stated = ", ".join(f"data.{name} = {shown(value)}" for name, value in columns)
            yield f"{stated}: these must be different columns"


@dataclass(frozen=True)
class TextData(Data):
    """`[data]` of what reads text."""

    max_tokens: int = setting(200, least=1, most=LONGEST, inherited=True)
    """Longest text in tokens."""


@dataclass(frozen=True)
class Tokenizer:
    """`[tokenizer]`: sub-word tokens learned from the training text by SentencePiece."""

    kind: str = setting("bpe", choices=("bpe", "unigram", "words", "characters"))
    """`bpe` (merges the most frequent pair), `unigram` (keeps the most probable tokens), `characters` (each by itself, of Korean a
    syllable), or `words`: whatever stands between spaces, and what is not in the vocabulary is unknown."""
    vocabulary: int = setting(8_000, most=2_000_000)
    """Size of the vocabulary, 260 special tokens and bytes included (4 of `words`); of `words` and `characters` the most frequent, and
    0 means every one of the text; of each vocabulary when `joint` is false."""
    joint: bool = True
    """One vocabulary for both languages, so that embeddings can be tied three ways."""
    normalization: str = setting("nmt_nfkc", choices=("nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity"))
    """Unicode normalisation before splitting: `nmt_nfkc`, `nfkc` or `identity`; `_cf` after the first two folds case."""
    coverage: float = setting(0.9995, least=0.5, most=1)
    """Share of characters that get a token of their own; the rest is spelled in bytes."""
    sample: int = setting(200_000, least=1)
    """Lines of each language that the tokenizer learns from; keeps memory bounded on large corpora."""

    def impossible(self) -> Iterator[str]:
        """A vocabulary of sub-words holds 4 special tokens and 256 bytes besides; one of words only the special ones."""
        least = 5 if self.kind == "words" else 260
        if self.vocabulary < least and not (self.kind in ("words", "characters") and self.vocabulary == 0):
            yield f"tokenizer.vocabulary must be at least {least}, not {self.vocabulary}"


def is_plain(name: object) -> bool:
    """Whether a name can be that of a file or folder, and of nothing elsewhere."""
    return (
        isinstance(name, str)
        and name not in ("", ".", "..")
        and len(name.encode("utf-8", "replace")) <= 200  # systems hold 255 bytes, and names get endings
        and not re.search(r"[/\\\n\t]", name)
        and visible(name) == name  # nor may it command a terminal
        and Path(name).name == name  # on Windows, C:name would be elsewhere
    )


def is_path(path: str) -> bool:
    """Whether a system could hold a file of that path, also below a folder."""
    size = [len(part.encode("utf-8", "replace")) for part in re.split(r"[/\\]", path)]
    return (
        "\0" not in path and max(size) <= 255 and sum(size) <= 3_000
    )  # Linux holds 4,096 bytes, the folder's included
