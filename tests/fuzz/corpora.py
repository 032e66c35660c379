"""Text as it comes from other machines: line ends, encodings, packed files, and things that are no files at all."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import logging
import lzma
import os
import random
import socket
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any, Literal

import regard
from regard.errors import RegardError
from tests.fuzz.guard import Case

Expected = Literal["refused", "accepted", "either"]
Make = Callable[[Path], Any]
WORDS = [
    "the",
    "old",
    "man",
    "sat",
    "by",
    "sea",
    "rain",
    "fell",
    "on",
    "land",
    "and",
    "a",
    "dog",
    "sleeps",
    "today",
    "we",
    "are",
    "hungry",
    "cat",
    "sees",
    "child",
    "fire",
    "warm",
    "good",
    "bad",
]
SMALL = "width = 16\nfeed_forward = 32\nheads = 2\nmax_positions = 64\n"
RECIPES = {
    "pairs.tsv": f'[model]\n{SMALL}encoder_layers = 1\ndecoder_layers = 1\n[tokenizer]\nvocabulary = 300\n',
    "parallel": f'[model]\n{SMALL}encoder_layers = 1\ndecoder_layers = 1\n[tokenizer]\nvocabulary = 300\n',
    "labels.tsv": f'task = "text-classification"\n[model]\n{SMALL}layers = 1\n[tokenizer]\nvocabulary = 300\n',
    "labels.csv": f'task = "text-classification"\n[model]\n{SMALL}layers = 1\n[tokenizer]\nvocabulary = 300\n',
    "labels.jsonl": f'task = "text-classification"\n[model]\n{SMALL}layers = 1\n[tokenizer]\nvocabulary = 300\n',
    "text.txt": f'task = "text-generation"\n[model]\n{SMALL}layers = 1\n[tokenizer]\nvocabulary = 300\n',
}  # fmt: skip
DATA = {
    "pairs.tsv": "", "parallel": "", "labels.tsv": "", "labels.csv": "", "labels.jsonl": 'text = "text"\nlabel = "label"\n', "text.txt": "",
}  # fmt: skip


def rows(kind: str, count: int = 60, seed: int = 0) -> list[str]:
    """Honest lines of one kind of text."""
    chance = random.Random(seed)
    made = []
    for number in range(count):
        left = " ".join(chance.choices(WORDS, k=6)) + f" {number}"
        right, label = " ".join(chance.choices(WORDS, k=6)), ("good", "bad")[number % 2]
        made.append({
            "pairs.tsv": f"{left}\t{right}", "parallel": left, "labels.tsv": f"{left}\t{label}", "labels.csv": f'"{left}",{label}',
            "labels.jsonl": json.dumps({"text": left, "label": label}), "text.txt": left,
        }[kind])  # fmt: skip
    return made


def honest(kind: str, seed: int = 0) -> bytes:
    return ("\n".join(rows(kind, seed=seed)) + "\n").encode()


def contents(kind: str) -> dict[str, tuple[bytes, Expected, str]]:
    """By what is odd about it: the bytes of a file, what should come of it, and what must be said."""
    text, lines = honest(kind), rows(kind)
    middle = text.index(b"\n", len(text) // 2)
    plain = text.decode()
    return {
        "lone carriage returns": (text.replace(b"\n", b"\r"), "refused", "carriage return"),
        "lone carriage returns and a last line feed": (text[:-1].replace(b"\n", b"\r") + b"\n", "refused", "carriage return"),
        "half of the lines end in a carriage return": (text[:middle].replace(b"\n", b"\r") + text[middle:], "refused", "carriage return"),
        "CRLF": (text.replace(b"\n", b"\r\n"), "accepted", ""),
        "a byte order mark": (b"\xef\xbb\xbf" + text, "accepted", ""),
        "no last line feed": (text[:-1], "accepted", ""),
        "empty": (b"", "refused", ""),
        "only blank lines": (b"\n \n\t\n\n", "refused", ""),
        "only a byte order mark": (b"\xef\xbb\xbf", "refused", ""),
        "UTF-16 with a mark": (plain.encode("utf-16"), "refused", "UTF-16"),
        "UTF-16 without": (plain.encode("utf-16-le"), "refused", "UTF-16"),
        "UTF-16, big end first": (b"\xfe\xff" + plain.encode("utf-16-be"), "refused", "UTF-16"),
        "UTF-32": (plain.encode("utf-32"), "refused", "UTF-"),
        "Latin-1": (text + "grüße\n".encode("latin-1"), "refused", "not UTF-8"),
        "half a surrogate pair": (text + b"\xed\xa0\x80\n", "refused", "not UTF-8"),
        "only NUL": (b"\0" * 100_000, "refused", ""),
        "NUL in one line": (text.replace(b"sea", b"se\0a", 1), "either", ""),
        "gzip by another name": (gzip.compress(text), "refused", "gzip"),
        "xz by another name": (lzma.compress(text), "refused", "xz"),
        "bzip2 by another name": (bz2.compress(text), "refused", "bzip2"),
        "zip": (b"PK\x03\x04" + bytes(range(256)), "refused", "zip"),
        "zstd": (b"\x28\xb5\x2f\xfd" + bytes(range(256)), "refused", "zstd"),
        "a model file": (b"\x08\x00\x00\x00\x00\x00\x00\x00{}      ", "refused", ""),
        "noise": (random.Random(1).randbytes(10_000), "refused", ""),
        "columns that are missing in one line": ("\n".join([*lines[:30], "x", *lines[30:]]).encode(), "accepted" if kind == "text.txt" else "refused", ""),
        "columns that are too many in one line": ("\n".join([*lines[:30], lines[3] + "\tx\ty", *lines[30:]]).encode(), "either", ""),
        "one long line": (b"x " * 1_000_000 + b"\n" + text, "either", ""),
        "one line of 40 MB": (b"x" * 40_000_000 + b"\n" + text, "refused", "line 1"),
        "an open quote": (b'"' + text * 50, "either", ""),
        "escape codes": (text.replace(b"sea", b"\x1b[2J\xc2\x9b31m"), "refused" if kind == "labels.jsonl" else "accepted", ""),
        "one word a thousand times": (b"\n".join([lines[0].encode()] * 1_000), "either", ""),
    }  # fmt: skip


def packed() -> dict[str, tuple[str, Callable[[bytes], bytes], Expected, str]]:
    """By what is odd about it: an ending, how the text is packed, what should come of it, and what must be said."""
    return {
        "gz": (".gz", gzip.compress, "accepted", ""),
        "xz": (".xz", lzma.compress, "accepted", ""),
        "gz, cut short": (".gz", lambda text: gzip.compress(text)[:-20], "refused", "cut short"),
        "xz, cut short": (".xz", lambda text: lzma.compress(text)[:-20], "refused", "cut short"),
        "gz, damaged": (".gz", lambda text: gzip.compress(text)[:200] + b"x" * 9 + gzip.compress(text)[209:], "refused", ""),
        "gz that is plain": (".gz", lambda text: text, "refused", ""),
        "gz that is xz": (".gz", lzma.compress, "refused", ""),
        "xz that is gz": (".xz", gzip.compress, "refused", ""),
        "gz that is empty": (".gz", lambda text: b"", "refused", ""),
        "gz of nothing": (".gz", lambda text: gzip.compress(b""), "refused", ""),
        "bz2": (".bz2", bz2.compress, "refused", "bzip2"),
        "gz of a line of 600 MB": (".gz", lambda text: _long_line(gzip), "refused", "line 1"),
        "xz of a line of 600 MB": (".xz", lambda text: _long_line(lzma), "refused", "line 1"),
        "gz in a gz": (".gz", lambda text: gzip.compress(gzip.compress(text)), "refused", "gzip"),
    }  # fmt: skip


@cache
def _long_line(packer: Any) -> bytes:
    written = io.BytesIO()
    with packer.open(written, "wb", **({"compresslevel": 1} if packer is gzip else {"preset": 0})) as file:
        for _ in range(600):
            file.write(b"x" * 1_000_000)
    return written.getvalue()


def no_files() -> dict[str, tuple[Make, str]]:
    """Things that have the name of a file, and what must be said of them."""
    return {
        "a folder": (lambda path: path.mkdir(), "folder"),
        "a FIFO": (os.mkfifo, "FIFO"),
        "a socket": (_socket, "socket"),
        "a device": (lambda path: path.symlink_to("/dev/zero"), "device"),
        "a dangling link": (lambda path: path.symlink_to("nowhere.tsv"), "nowhere.tsv"),
        "a link to itself": (lambda path: path.symlink_to(path), "link"),
        "nothing": (lambda path: None, "no file"),
    }


def _socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # a socket's path may have only a hundred characters
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(path.name)
    os.chdir(here)


def overlaps() -> dict[str, Callable[[str], bytes]]:
    """Validation text that was trained on."""
    return {
        "the same content": honest,
        "the same content, other line ends": lambda kind: honest(kind).replace(b"\n", b"\r\n"),
        "half of it": lambda kind: ("\n".join(rows(kind)[:30] + rows(kind, 30, seed=9)) + "\n").encode(),
    }


def honest_cases() -> Iterator[Case]:
    for kind in RECIPES:
        yield _case(kind, kind, "train", _writer(honest(kind)), "accepted", "")


def cases(seed: int, count: int) -> Iterator[Case]:
    """All combinations, in an order that the seed decides; `count` of them at most."""
    made = list(_every())
    random.Random(seed).shuffle(made)
    yield from made[:count]


def _every() -> Iterator[Case]:
    for kind in RECIPES:
        for name, (_, expected, told) in contents(kind).items():
            if kind == "parallel" and name == "one word a thousand times":
                continue
            for place in ("train", "valid"):
                wanted = "either" if place == "valid" and name == "escape codes" else expected
                yield _case(f"{kind} {place}: {name}", kind, place, _odd(kind, name), wanted, told)
        for name, (ending, pack, expected, told) in packed().items():
            yield _case(f"{kind} train: {name}", kind, "train", _packer(kind, pack), expected, told, ending)
        for name, (make, told) in no_files().items():
            yield _case(f"{kind} train: {name}", kind, "train", make, "refused", told)
        for name, content in overlaps().items():
            yield _case(
                f"{kind} valid: {name}",
                kind,
                "valid",
                _writer(content(kind)),
                "accepted",
                "also in data.train",
            )
        yield _case(f"{kind}: the same file", kind, "valid", None, "accepted", "also in data.train")


def _writer(content: bytes) -> Make:
    return lambda path: path.write_bytes(content)


def _odd(kind: str, name: str) -> Make:
    """Made anew when it is written: all of them together are large."""
    return lambda path: path.write_bytes(contents(kind)[name][0])


def _packer(kind: str, pack: Callable[[bytes], bytes]) -> Make:
    return lambda path: path.write_bytes(pack(honest(kind)))


def _case(name: str, kind: str, place: str, make: Make | None, expected: Expected, told: str, ending: str = "") -> Case:
    """A recipe whose `place` is odd; without `make`, validation is the training text."""

    def write(folder: Path) -> None:
        stem, dot, extension = kind.partition(".")
        files = {}
        for split, number in (("train", 0), ("valid", 5)):
            name = f"{split}-{stem}{dot}{extension}"
            odd = split == place and make is not None
            files[split] = [name + (ending if odd else "")]
            if odd:
                make(folder / files[split][0])
            else:
                (folder / name).write_bytes(honest(kind, number))
            if kind == "parallel":
                files[split].append(f"{name}.other")
                (folder / files[split][1]).write_bytes(honest(kind, 0 if told.startswith("also") else number))
        if make is None:
            files["valid"] = files["train"]
        stated = f"[data]\ntrain = {json.dumps(files['train'])}\nvalid = {json.dumps(files['valid'])}\nmax_tokens = 60\n{DATA[kind]}"
        task, _, rest = RECIPES[kind].partition("[model]")
        (folder / "recipe.toml").write_text(f"{task}\n{stated}\n[model]{rest}", encoding="utf-8")

    return Case(name, write, use, expected, told)


def use(folder: Path) -> str:
    """Tried without training, then prepared; what is said on the way."""
    said = io.StringIO()
    logging.getLogger("regard.notes").addHandler(logging.StreamHandler(said))
    logging.getLogger("regard.notes").setLevel(logging.INFO)
    with redirect_stdout(said), redirect_stderr(said):
        mistakes = regard.dry_run(folder / "recipe.toml").mistakes
        if mistakes:
            raise RegardError("\n".join(mistakes))
        prepared = regard.prepare(folder / "recipe.toml", workers=1)
    return "\n".join([*prepared.lines(), said.getvalue()])
