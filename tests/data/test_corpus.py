"""Text is read as it stands, and whatever is wrong with it is named with its file and line."""

from __future__ import annotations

import gzip
import lzma
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from regard.config import ParallelText
from regard.data.corpus import locate, read_lines, read_pairs
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
