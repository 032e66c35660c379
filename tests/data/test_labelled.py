"""Labelled text: every format reads the same examples, and what is wrong is said with its place."""

from __future__ import annotations

import csv
import gzip
import json
import lzma
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from regard import config
from regard.config import LabelledText
from regard.data.labelled import Example, read_examples, read_split
from regard.errors import DataError
from regard.tasks.registry import prepare

ROWS = [
    ("A fine film", "good"),
    ("정말 지루했다", "bad"),
    ('He said "no"', "bad"),
    ("Größe, Maß", "good"),
    ("", "good"),
]
DATA = LabelledText(text="text", label="label")


def write(path: Path, text: str) -> Path:
    opened = {".gz": gzip.open, ".xz": lzma.open}.get(path.suffix)
    if opened is None:
        path.write_text(text, encoding="utf-8", newline="")
    else:
        with opened(path, "wb") as file:
            file.write(text.encode())
    return path


def quoted(path: Path, rows: list[tuple[str, str]], separator: str) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=separator, quoting=csv.QUOTE_ALL)
        writer.writerows([("id", "text", "label"), *((number, *row) for number, row in enumerate(rows))])
    return path


def tsv(rows: list[tuple[str, str]]) -> str:
    return "".join(f"{line}\n" for line in ["id\ttext\tlabel", *(f"{number}\t{a}\t{b}" for number, (a, b) in enumerate(rows))])  # fmt: skip


def pairs(path: Path, data: LabelledText = DATA, split: str = "train") -> list[tuple[str, str]]:
    return [(text, label) for text, label, _ in read_examples(path, data, split)]


def test_every_format_reads_the_same(tmp_path: Path) -> None:
    for name in ("a.tsv", "a.tsv.gz", "a.tsv.xz"):
        assert pairs(write(tmp_path / name, tsv(ROWS))) == ROWS
    assert pairs(write(tmp_path / "windows.tsv", tsv(ROWS).replace("\n", "\r\n"))) == ROWS
    assert pairs(quoted(tmp_path / "b.csv", ROWS, ",")) == ROWS
    assert pairs(quoted(tmp_path / "b.tsv", ROWS, "\t"), replace(DATA, quoted=True)) == ROWS
    lines = "".join(json.dumps({"label": label, "text": text}) + "\n" for text, label in ROWS)
    assert pairs(write(tmp_path / "c.jsonl", lines)) == ROWS
    assert pairs(write(tmp_path / "c.jsonl.gz", lines + "\n")) == ROWS
    by_number = replace(DATA, text="2", label="3")
    assert pairs(write(tmp_path / "d.tsv", tsv(ROWS).partition("\n")[2]), by_number) == ROWS


def test_a_quoted_cell_may_hold_anything(tmp_path: Path) -> None:
    rows = [("one\ttab,\nand a line end", "bad"), ('doubled ""quotes""', "good"), ("after", "good")]
    read = list(read_examples(quoted(tmp_path / "a.csv", rows, ","), DATA, "train"))
    assert [(each.text, each.label) for each in read] == [(" ".join(text.split()), label) for text, label in rows]
    assert [each.line for each in read] == [2, 4, 5]  # a row is where it begins
    path = write(tmp_path / "open.csv", 'text,label\n"never closed,good\nx,bad\n')
    with pytest.raises(DataError, match=r"open\.csv, line 2 cannot be read.*double quote"):
        pairs(path)


def test_numbers_and_nothing_in_json(tmp_path: Path) -> None:
    rows = [{"text": None, "label": 1}, {"text": "x", "label": True}, {"text": "y", "label": "예"}]
    path = write(tmp_path / "a.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    assert pairs(path) == [("", "1"), ("x", "true"), ("y", "예")]
    with pytest.raises(DataError, match=r"line 1 has no label"):
        pairs(write(tmp_path / "b.jsonl", '{"text": "x", "label": null}\n'))
    with pytest.raises(DataError, match=r"line 2 has no 'label': it holds text, lable"):
        pairs(write(tmp_path / "c.jsonl", '{"text": "x", "label": 1}\n{"text": "x", "lable": 1}\n'))
    with pytest.raises(DataError, match=r"line 1 is not JSON"):
        pairs(write(tmp_path / "d.jsonl", "text\n"))


def test_a_missing_column_says_which_there_are(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", "id\treview\tlable\n1\tx\tgood\n")
    with pytest.raises(DataError, match=r"no column 'label'\. Did you mean 'lable'\? Its first row holds: id, review"):
        pairs(path, replace(DATA, text="review"))
    with pytest.raises(DataError, match=r"line 1 has 3 columns, but column 7 is asked for"):
        pairs(path, replace(DATA, text="2", label="7"))
    with pytest.raises(DataError, match="columns count from 1"):
        pairs(path, replace(DATA, text="0", label="1"))
    with pytest.raises(DataError, match=r"line 2 has no label: column 'label' is empty"):
        pairs(write(tmp_path / "b.tsv", "text\tlabel\nx\t \n"))


def test_a_column_may_name_the_split(tmp_path: Path) -> None:
    data = replace(DATA, split="part")
    path = write(tmp_path / "a.tsv", "part\ttext\tlabel\ntrain\ta\tx\ntest\tb\ty\ntrain\tc\ty\n")
    assert pairs(path, data, "train") == [("a", "x"), ("c", "y")]
    assert pairs(path, data, "test") == [("b", "y")]
    with pytest.raises(DataError, match=r"no row of the split 'valid'; column 'part' holds: train, test"):
        pairs(path, data, "valid")


def test_what_the_recipe_replaces(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", "text\tlabel\na<br /><br />b &amp; c\tx\n")
    assert pairs(path, replace(DATA, replace={"<br />": " ", "&amp;": "&"})) == [("a b & c", "x")]


SORTED = [f"{label}" for label in "ab" for _ in range(100)]
TURNS = ["a", "b"] * 100
RARE = [f"{number // 4}" for number in range(400)]  # a hundred labels of four texts


@pytest.mark.parametrize("labels", [SORTED, TURNS, RARE], ids=["sorted", "in turns", "rare"])
@pytest.mark.parametrize("share", [0.1, 0.25, 0.03])
def test_what_is_held_out(tmp_path: Path, labels: list[str], share: float) -> None:
    rows = [(f"text {number}", label) for number, label in enumerate(labels)]
    write(tmp_path / "a.tsv", tsv(rows))
    data = replace(DATA, train=("a.tsv",), folder=str(tmp_path), hold_out=share)
    train, valid = list(read_split(data, "train")), list(read_split(data, "valid"))
    assert not set(train) & set(valid)
    assert sorted([*train, *valid], key=lambda each: each.line) == list(
        read_examples(tmp_path / "a.tsv", data, "train")
    )
    assert abs(len(valid) - share * len(rows)) <= 0.02 * len(rows)
    if labels is not RARE:
        held = Counter(each.label for each in valid)
        assert max(held.values()) - min(held[label] for label in "ab") <= 1
    halves = [sum(each.line <= len(rows) / 2 for each in valid), sum(each.line > len(rows) / 2 for each in valid)]
    assert max(halves) - min(halves) <= 0.02 * len(rows) + 1


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_every_label_is_learned_however_rare(tmp_path: Path, share: float) -> None:
    write(tmp_path / "a.tsv", tsv([(f"text {number}", f"label {number}") for number in range(60)]))
    data = replace(DATA, train=("a.tsv",), folder=str(tmp_path), hold_out=share)
    assert len({each.label for each in read_split(data, "train")}) == 60


def recipe(folder: Path, train: str, valid: str = "", **data: object) -> config.ClassificationRecipe:
    write(folder / "train.tsv", train)
    files = {"train": ("train.tsv",)}
    if valid:
        write(folder / "valid.tsv", valid)
        files["valid"] = ("valid.tsv",)
    return config.ClassificationRecipe(
        data=replace(DATA, folder=str(folder), prepared=str(folder / "prepared"), **files, **data),  # type: ignore[arg-type]
        tokenizer=config.Tokenizer(kind="words", vocabulary=0),
    )


def test_preparing_counts(tmp_path: Path) -> None:
    rows = [("a b c " * (1 + number % 2), "good" if number % 3 else "bad") for number in range(60)]
    found = prepare(recipe(tmp_path, tsv([*rows, ("", "good"), ("  ", "bad")]), max_tokens=4), show=False)
    report = found.report
    counts = report.train.kept + report.valid.kept, report.train.empty + report.valid.empty
    assert counts == (60, 2)
    assert report.train.labels == {"bad": 18, "good": 36}
    assert found.assets.labels == ("bad", "good")
    assert [int(found.train.target(row)[0]) for row in range(len(found.train))].count(1) == 36
    assert report.train.long == sum(len(found.train.source(row)) > 4 for row in range(len(found.train))) > 0
    said = "\n".join(report.lines())
    assert "good 66.7%, bad 33.3%; always answering the first would be right 66.7% of the time" in said
    assert "are longer than data.max_tokens = 4; see data.long" in said


def test_labels_that_are_numbers_are_counted_not_spelled(tmp_path: Path) -> None:
    rows = [(f"a {number}", str(number % 12)) for number in range(300)]
    assert prepare(recipe(tmp_path, tsv(rows)), show=False).assets.labels == tuple(str(number) for number in range(12))


def test_corpora_that_teach_nothing(tmp_path: Path) -> None:
    good = tsv([(f"a b {number}", "good") for number in range(30)])
    with pytest.raises(DataError, match=r"every text of data\.train has the label 'good'"):
        prepare(recipe(tmp_path, good), show=False)
    both = tsv([(f"a b {number}", "good" if number % 2 else "bad") for number in range(30)])
    with pytest.raises(
        DataError, match=r"valid\.tsv, line 3: the label 'goood' does not occur.* Did you mean 'good'\?"
    ):
        prepare(recipe(tmp_path, both, "text\tlabel\na\tgood\nb\tgoood\n"), show=False)
    with pytest.raises(DataError, match=r"no text of data\.valid can be used: all 1 are empty"):
        prepare(recipe(tmp_path, both, "text\tlabel\n\tgood\n"), show=False)
    few = tsv([("a b", "good"), ("a c", "bad"), ("b c", "bad")])
    with pytest.raises(DataError, match=r"no text of data.valid can be used: there is none; see data\.hold_out"):
        prepare(recipe(tmp_path, few, hold_out=0.01), show=False)


def test_an_example_is_a_plain_row() -> None:
    assert Example("text", "label", 3) == ("text", "label", 3)
