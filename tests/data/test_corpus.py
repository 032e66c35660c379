"""Text is read as it stands, and whatever is wrong with it is named with its file and line."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from regard.config import ParallelText
from regard.data.corpus import LONGEST_LINE, locate, open_text, read_lines, read_pairs
from regard.errors import DataError

TRICKY = ["a\u2028b", "c\u0085d", "e\x0bf\x0cg", "\x1ch", "", "  ", "i\rj", "한국어", "▁"]


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_only_a_newline_ends_a_line(tmp_path: Path, suffix: str, end: str) -> None:
    content = b"\xef\xbb\xbf" + "".join(line + end for line in TRICKY).encode()
    packed = {"": content, ".gz": gzip.compress(content), ".xz": lzma.compress(content)}
    path = tmp_path / f"text{suffix}"
    path.write_bytes(packed[suffix])
    assert list(read_lines(path)) == TRICKY


@given(st.lists(st.text(st.characters(exclude_characters="\n\r\ufeff", exclude_categories=["Cs"]))))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50, deadline=None)
def test_lines_come_back_as_they_were_written(tmp_path: Path, lines: list[str]) -> None:
    path = tmp_path / "text"
    path.write_bytes("".join(line + "\n" for line in lines).encode())
    assert list(read_lines(path)) == lines


def test_a_last_line_needs_no_newline(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(b"one\ntwo")
    assert list(read_lines(tmp_path / "text")) == ["one", "two"]


def test_a_byte_order_mark_is_text_anywhere_but_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes("\ufeffone\n\ufefftwo\n".encode())
    assert list(read_lines(tmp_path / "text")) == ["one", "\ufefftwo"]


def test_lines_before_a_bad_byte_arrive_and_the_error_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"good\nalso good\nbad \xff\ngood")
    lines = read_lines(path)
    assert [next(lines), next(lines)] == ["good", "also good"]
    with pytest.raises(DataError, match=r"text, line 3 is not UTF-8: byte 0xff at position 5"):
        next(lines)


@pytest.mark.parametrize("suffix", [".gz", ".xz"])
def test_packed_files_that_are_cut_or_damaged_are_named(tmp_path: Path, suffix: str) -> None:
    content = os.urandom(5_000).hex().encode()
    packed = (gzip.compress if suffix == ".gz" else lzma.compress)(content)
    middle = len(packed) // 2
    for broken in (packed[:middle], packed[:middle] + bytes(9) + packed[middle + 9 :], b"not packed at all"):
        path = tmp_path / f"text{suffix}"
        path.write_bytes(broken)
        with pytest.raises(DataError, match=rf"text\{suffix} is damaged or cut short"):
            list(read_lines(path))


def corpus(folder: Path, **files: str) -> ParallelText:
    for name, content in files.items():
        (folder / name).write_text(content, encoding="utf-8")
    return ParallelText(folder=str(folder))


def test_two_files_are_read_side_by_side(tmp_path: Path) -> None:
    data = corpus(tmp_path, de=" ein  Hund \n\nzwei", en="a  dog\n\ntwo\n")
    assert list(read_pairs(("de", "en"), data, "train")) == [("ein  Hund", "a  dog"), ("", ""), ("zwei", "two")]


@pytest.mark.parametrize("lines", [(3, 5), (5, 3), (0, 1)])
def test_unequal_files_are_refused_with_both_counts(tmp_path: Path, lines: tuple[int, int]) -> None:
    data = corpus(tmp_path, de="x\n" * lines[0], en="y\n" * lines[1])
    with pytest.raises(DataError, match=rf"de has {lines[0]} lines, but .*en has {lines[1]};"):
        list(read_pairs(("de", "en"), data, "train"))


def test_columns_and_split_are_chosen(tmp_path: Path) -> None:
    rows = "train\tdog\tHund\trest\nvalid\tcat\tKatze\ntrain\tcow\tKuh\n"
    corpus(tmp_path, tsv=rows)
    data = ParallelText(folder=str(tmp_path), source_column=3, target_column=2, split_column=1)
    assert list(read_pairs(("tsv",), data, "train")) == [("Hund", "dog"), ("Kuh", "cow")]
    assert list(read_pairs(("tsv",), data, "valid")) == [("Katze", "cat")]
    with pytest.raises(DataError, match=r"no row of the split 'test'; column 1 holds: train, valid"):
        list(read_pairs(("tsv",), data, "test"))


def test_a_row_of_too_few_columns_is_named(tmp_path: Path) -> None:
    data = corpus(tmp_path, tsv="a\tb\nc d\n")
    with pytest.raises(DataError, match=r"tsv, line 2 has 1 tab-separated columns, but column 2"):
        list(read_pairs(("tsv",), data, "train"))


@pytest.mark.parametrize("end", ["csv", "jsonl", "csv.gz"])
def test_two_tables_are_no_source_and_target(tmp_path: Path, end: str) -> None:
    for name in "ab":
        text = b"Hund,dog\n"
        (tmp_path / f"{name}.{end}").write_bytes(gzip.compress(text) if end.endswith("gz") else text)
    with pytest.raises(DataError, match=r"a table by its name; .*\[\[data.corpus\]\]"):
        list(read_pairs((f"a.{end}", f"b.{end}"), ParallelText(folder=str(tmp_path)), "train"))


def test_a_csv_that_other_marks_separate_is_told_so(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("Hund;dog\n")
    with pytest.raises(DataError, match=r"a\.csv, line 1 has 1 comma-separated columns, but column 2"):
        list(read_pairs(("a.csv",), ParallelText(folder=str(tmp_path)), "train"))


def test_empty_text_is_refused(tmp_path: Path) -> None:
    data = corpus(tmp_path, tsv="", de="", en="")
    with pytest.raises(DataError, match=r"tsv is empty"):
        list(read_pairs(("tsv",), data, "train"))
    with pytest.raises(DataError, match=r"de and .*en are empty"):
        list(read_pairs(("de", "en"), data, "train"))
    with pytest.raises(DataError, match=r"data\.valid names 0 files"):
        read_pairs((), data, "valid")


def test_a_missing_file_is_named_with_where_to_say_it(tmp_path: Path) -> None:
    data = corpus(tmp_path, **{"train.de": "x"})
    with pytest.raises(DataError) as caught:
        locate("train.dee", data)
    message = str(caught.value)
    for part in (str(tmp_path / "train.dee"), "Did you mean 'train.de'?", "with `data`"):
        assert part in message


def test_an_unknown_bundled_name_is_refused() -> None:
    with pytest.raises(DataError, match=r"nothing named 'nowhere\.tsv' is bundled"):
        locate("bundled:nowhere.tsv", ParallelText())


def test_a_bundled_name_is_found_in_the_package() -> None:
    folder = Path(__file__).parents[2] / "regard" / "bundled"
    for path in folder.glob("*.*"):
        assert locate(f"bundled:{path.name}", ParallelText(folder="elsewhere")).read_bytes() == path.read_bytes()


@pytest.mark.parametrize("name", ["../__init__.py", "/etc/hostname", "../bundled/moods.tsv", "", "..", "."])
def test_bundled_names_lead_nowhere_else(name: str) -> None:
    with pytest.raises(DataError, match=r"is bundled"):
        locate(f"bundled:{name}", ParallelText())


def test_nothing_is_read_from_a_folder_that_nobody_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here.tsv").write_text("a\tb\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match=r"nobody said in which folder here\.tsv is; name it with `data`"):
        locate("here.tsv", ParallelText())
    assert locate(str(tmp_path / "here.tsv"), ParallelText()) == tmp_path / "here.tsv"


# Text as it comes from other machines


def pairs(count: int = 40) -> str:
    return "".join(f"source {number}\ttarget {number}\n" for number in range(count))


@pytest.mark.parametrize("last", [b"\r", b"\n"])
def test_lines_that_end_in_a_carriage_return_are_not_taken_for_one(tmp_path: Path, last: bytes) -> None:
    """`1 of 1 pairs kept` was all that was said."""
    (tmp_path / "mac.tsv").write_bytes(pairs().encode().replace(b"\n", b"\r")[:-1] + last)
    with pytest.raises(DataError, match=r"mac.tsv has 39 carriage returns inside of its first 1 lines.*tr"):
        next(read_pairs(("mac.tsv",), ParallelText(folder=str(tmp_path)), "train"))


def test_a_carriage_return_here_and_there_is_text(tmp_path: Path) -> None:
    lines = ["a\rb\rc", *["x"] * 30, "d\re"]
    (tmp_path / "text").write_bytes("\n".join(lines).encode())
    assert list(read_lines(tmp_path / "text")) == lines
    (tmp_path / "text").write_bytes("\n".join([*lines, "f\rg\rh"]).encode())
    with pytest.raises(DataError, match="5 carriage returns"):
        list(read_lines(tmp_path / "text"))


def test_what_is_typed_gets_an_answer_for_each_line() -> None:
    assert list(read_lines([b"a\rb\rc\rd\n", b"e\r\n"])) == ["a\rb\rc\rd", "e"]


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz"])
def test_no_line_is_longer_than_memory_should_bear(tmp_path: Path, suffix: str) -> None:
    content = b"short\n" + b"x" * (LONGEST_LINE + 1)
    pack = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress}[suffix]
    path = tmp_path / f"text{suffix}"
    path.write_bytes(pack(content[:-1] + b"\n"))
    with pytest.raises(DataError, match=rf"text{suffix}, line 2 is longer than 16,777,216 bytes"):
        list(read_lines(path))
    with open_text(path) as file, pytest.raises(DataError, match="standard input, line 2 is longer"):
        list(read_lines(file, "standard input"))


ENCODED = {
    "UTF-16,": ("utf-16", "UTF-16"),
    "UTF-16 or no text": ("utf-16-le", "UTF-16LE"),
    "UTF-16 or no text:": ("utf-16-be", "UTF-16BE"),
    "UTF-32": ("utf-32", "UTF-32"),
}


@pytest.mark.parametrize("told", ENCODED)
def test_other_encodings_are_named(tmp_path: Path, told: str) -> None:
    """And the advice, if followed, gives the text back."""
    written, advised = ENCODED[told]
    (tmp_path / "text").write_bytes(pairs().encode(written))
    with pytest.raises(DataError, match=rf"text holds {told}.*iconv -f {advised} -t UTF-8 FILE"):
        list(read_lines(tmp_path / "text"))
    assert (tmp_path / "text").read_bytes().decode(advised) == pairs()


PACKED = {
    "what gzip packed": gzip.compress(b"a\tb\n"),
    "what xz packed": lzma.compress(b"a\tb\n"),
    "what bzip2 packed": bz2.compress(b"a\tb\n"),
    "a zip archive": b"PK\x03\x04rest",
    "what zstd packed": b"\x28\xb5\x2f\xfdrest",
}


@pytest.mark.parametrize("told", PACKED)
def test_packed_text_by_another_name_is_named(tmp_path: Path, told: str) -> None:
    (tmp_path / "text").write_bytes(PACKED[told])
    with pytest.raises(DataError, match=f"text holds {told}"):
        list(read_lines(tmp_path / "text"))
    (tmp_path / "text").write_text("BZhang and PK wrote this")
    assert list(read_lines(tmp_path / "text")) == ["BZhang and PK wrote this"]


NO_FILES: dict[str, Callable[[Path], object]] = {
    "a folder": lambda path: path.mkdir(),
    "a FIFO, which can be read only once": os.mkfifo,
    "a link to nowhere.tsv, where nothing is": lambda path: path.symlink_to("nowhere.tsv"),
    "a device": lambda path: path.symlink_to(os.devnull),
}


@pytest.mark.skipif(sys.platform == "win32", reason="links and pipes are others there")
@pytest.mark.parametrize("told", NO_FILES)
def test_what_is_no_file_is_named(tmp_path: Path, told: str) -> None:
    """`no file d.tsv. Did you mean 'd.tsv'?` was said."""
    NO_FILES[told](tmp_path / "d.tsv")
    with pytest.raises(DataError) as caught:
        locate("d.tsv", ParallelText(folder=str(tmp_path)))
    assert str(caught.value) == f"cannot read {tmp_path / 'd.tsv'}: it is {told}, not a file"
