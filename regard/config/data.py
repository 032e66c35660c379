"""`[data]` and `[tokenizer]`: which text, and the pieces it is cut into."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

# Settings of [data] that are paths. A model file keeps of the first only what leads out of no folder, and none of the
# second, which belong to the machine that trains; see checkpoint.without_paths.
FILES = ("train", "valid", "test")
PLACES = ("folder", "prepared", "download")


@dataclass(frozen=True)
class Data:
    """`[data]`: what every task is told of its files."""

    train: tuple[str, ...] = ()
    """Training text: TSV, or what else the task reads. Plain, .gz or .xz."""
    valid: tuple[str, ...] = ()
    """Validation text, in the same form; never trained on."""
    test: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Test sets by name, each in the same form."""
    folder: str = ""
    """Where relative paths start, itself relative to the recipe's folder; `--data` or REGARD_DATA wins over it."""
    download: Mapping[str, str] = field(default_factory=dict)
    """For a file that is not there: `path = "URL sha256"`, fetched once over https, checked, and put below the data folder."""
    max_pieces: int = 200
    """Longest text in pieces."""
    prepared: str = "prepared"
    """Folder that keeps tokenizers and ids ready for training; outside of the recipe's and the current folder only with `--set`."""


@dataclass(frozen=True)
class ParallelText(Data):
    """`[data]` of a translation recipe: which files, which columns, which pairs are left out.

    A text is one TSV file, or two line-aligned files (source, target).
    """

    source_language: str = "source"
    """Language translated from; a label for people, and for Moses tokens in `evaluate --paper`."""
    target_language: str = "target"
    """Language translated into."""
    source_column: int = 1
    """Column of a TSV that holds the source, counted from 1."""
    target_column: int = 2
    """Column of a TSV that holds the target."""
    split_column: int = 0
    """Column of a TSV that names the split (train, valid or the test set's name); 0: every row belongs."""
    max_pieces: int = 200
    """Pairs with a side of more pieces than this are skipped."""
    max_ratio: float = 4.0
    """Pairs whose longer side has over 10 pieces and more than this many times the other's are skipped."""


@dataclass(frozen=True)
class LabelledText(Data):
    """`[data]` of a classification recipe: texts and what they are to be called.

    A text is one file: TSV, CSV (the name ends in .csv) or JSONL (.jsonl).
    """

    text: str = "1"
    """Column of the text: its number, counted from 1, or its name in the file's first row or in JSON."""
    label: str = "2"
    """Column of the label."""
    split: str = ""
    """Column that names the split (train, valid or the test set's name); nothing: every row belongs."""
    quoted: bool = False
    """A cell of a TSV may stand in double quotes, as pandas writes it; a CSV's always may."""
    replace: Mapping[str, str] = field(default_factory=dict)
    """Strings that each text has replaced, here and when the model works: `"<br />" = " "`."""
    hold_out: float = 0.1
    """Share of the training text that validates, spread evenly over it, when no `valid` is named."""
    max_pieces: int = 256
    """Longest text that is read at once, in pieces."""
    long: str = "ends"
    """Of a longer text: `first`, its beginning; `ends`, half from each end; `windows`, all of it in overlapping windows that
    vote."""


@dataclass(frozen=True)
class PlainText(Data):
    """`[data]` of a language model: text as it is, one file or several that follow each other."""

    documents: str = "stream"
    """`stream`: lines follow each other, each with its end; `lines`: each line is a document, and knows of no other."""
    max_pieces: int = 256
    """Pieces that are read together: the longest way back that the model learns to look."""


@dataclass(frozen=True)
class Tokenizer:
    """`[tokenizer]`: sub-word pieces learned from the training text by SentencePiece."""

    kind: str = "bpe"
    """`bpe` (merges the most frequent pair), `unigram` (keeps the most probable pieces), or `words`: whatever stands between
    spaces, and what is not in the vocabulary is unknown."""
    pieces: int = 8_000
    """Size of the vocabulary, 260 special ones and bytes included (4 of `words`; there 0 means every word of the text); of each
    vocabulary when `joint` is false."""
    joint: bool = True
    """One vocabulary for both languages, so that embeddings can be tied three ways."""
    normalization: str = "nmt_nfkc"
    """Unicode normalisation before splitting: `nmt_nfkc`, `nfkc` or `identity`; `_cf` after the first two folds case."""
    coverage: float = 0.9995
    """Share of characters that get a piece of their own; the rest is spelled in bytes."""
    sample: int = 200_000
    """Lines of each language that the tokenizer learns from; keeps memory bounded on large corpora."""
