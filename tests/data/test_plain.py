"""Plain text → one stream of ids, and the count of what is in it."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import pytest

from regard import config
from regard.data import plain
from regard.data.ids import PairIds
from regard.data.tokenizer import BYTES, END, UNKNOWN
from regard.errors import DataError
from regard.tasks.registry import prepare
from tests.conftest import made_up_sentences

TRAIN = [*made_up_sentences(1, 60), "", "고래는 바다에 살아요."]
VALID = ["Ba be.", "  ", "ba 곰 be"]


def recipe_of(folder: Path, documents: str = "stream", kind: str = "bpe") -> config.LanguageRecipe:
    for name, lines in (("train", TRAIN), ("valid", VALID)):
        (folder / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return config.LanguageRecipe(
        data=config.PlainText(
            train=("train.txt",), valid=("valid.txt",), folder=str(folder), prepared=str(folder / "prepared"),
            documents=documents, test={"both": ("valid.txt", "train.txt")},
        ),
        tokenizer=config.Tokenizer(kind=kind, vocabulary=0 if kind == "words" else 330, coverage=0.99),
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["bpe", "words"])
@pytest.mark.parametrize("documents", ["stream", "lines"])
def test_every_line_is_in_the_stream_with_its_end(tmp_path: Path, documents: str, kind: str) -> None:
    prepared = prepare(recipe_of(tmp_path, documents, kind), show=False)
    for lines, ids in ((TRAIN, prepared.train), (VALID, prepared.valid)):
        kept = [line.strip() for line in lines if documents == "stream" or line.strip()]
        expected = [[*prepared.assets.tokenizer.encode(line), END] for line in kept]
        assert ids.stream.tolist() == [each for line in expected for each in line]
        assert ids.lengths[:, 0].tolist() == [len(line) for line in expected]
        assert not ids.lengths[:, 1].any()


@pytest.mark.parametrize("documents", ["stream", "lines"])
def test_the_report_counts_what_is_there(tmp_path: Path, documents: str) -> None:
    prepared = prepare(recipe_of(tmp_path, documents), show=False)
    assert isinstance(prepared.report, plain.Report)
    counts, ids = prepared.report.valid, PairIds.open(prepared.folder, "valid").stream
    blank = documents == "stream"
    assert (counts.lines, counts.words) == (2 + blank, 2 + 3 + 2 + blank)
    assert counts.tokens == len(ids)
    assert counts.byte_tokens == sum(int(each) in BYTES for each in ids) == 3  # one Korean character that is rare
    assert counts.unknown == 0
    assert plain.Report.from_dict(asdict(prepared.report)) == prepared.report
    assert any("single bytes" in line for line in prepared.report.lines())


def test_unknown_words_are_counted(tmp_path: Path) -> None:
    prepared = prepare(recipe_of(tmp_path, kind="words"), show=False)
    assert isinstance(prepared.report, plain.Report)
    unseen = [word for line in VALID for word in line.split() if not any(word in other.split() for other in TRAIN)]
    assert prepared.report.valid.unknown == len(unseen) >= 1
    assert (prepared.valid.stream == UNKNOWN).sum() == len(unseen)
    assert f"{len(unseen)} of them unknown" in "\n".join(prepared.report.lines())


def test_files_follow_each_other(tmp_path: Path) -> None:
    data = recipe_of(tmp_path).data
    assert list(plain.read_split(data, "both")) == [line.strip() for line in (*VALID, *TRAIN)]
    lines = replace(data, documents="lines")
    assert list(plain.read_split(lines, "both")) == [line.strip() for line in (*VALID, *TRAIN) if line.strip()]


@pytest.mark.parametrize("name", ["train", "valid"])
def test_nothing_to_read_is_an_error(tmp_path: Path, name: str) -> None:
    recipe = recipe_of(tmp_path)
    (tmp_path / f"{name}.txt").write_text("\n  \n", encoding="utf-8")
    with pytest.raises(DataError, match=rf"data\.{name} holds no text"):
        prepare(recipe, show=False)
