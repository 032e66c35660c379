"""`regard translate --input --output`: goes on where it stopped; and what is made of it: back-translation, distillation."""

from __future__ import annotations

import errno
import io
import json
import re
from pathlib import Path

import pytest

import regard
from regard.errors import UsageError
from regard.files import GrowingFile
from tests.commands.calling import call, fail, succeed

LINES = ["Ich habe heute keine Zeit.", "", "Ja.", "Wo ist der Bahnhof?", "Das ist\tgut.", "Nein."]


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "mono.txt"
    path.write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    return path


def test_a_file_becomes_a_file(run: Path, text: Path, tmp_path: Path) -> None:
    expected = succeed("translate", run, "--input", text).out
    assert expected == succeed("translate", run, stdin=text.read_bytes()).out
    answer = succeed("translate", run, "--input", text, "--output", tmp_path / "made.txt")
    assert not answer.out
    assert (tmp_path / "made.txt").read_text() == expected
    assert sorted(each.name for each in tmp_path.iterdir()) == ["made.txt", "mono.txt"]
    assert "is there already" in fail("translate", run, "--input", text, "--output", tmp_path / "made.txt")


@pytest.mark.parametrize("options", [(), ("--sample", "--seed", 3), ("--pairs",), ("--json", "--nbest", 2)], ids=str)
def test_what_was_interrupted_goes_on_to_the_same_lines(
    run: Path, text: Path, tmp_path: Path, options: tuple[object, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ("translate", run, "--input", text, *options, "--output")
    succeed(*command, tmp_path / "whole.txt")
    add, written = GrowingFile.add, []

    def stopped(file: GrowingFile, line: str) -> None:
        if len(written) == 3:
            file._file.write(b"half of a li")
            raise KeyboardInterrupt
        written.append(line)
        add(file, line)

    with monkeypatch.context() as patch:
        patch.setattr(GrowingFile, "add", stopped)
        assert call(*command, tmp_path / "parts.txt").code == 130
    assert not (tmp_path / "parts.txt").exists()
    assert (tmp_path / "parts.txt.part").read_text().endswith("half of a li")
    answer = succeed(*command, tmp_path / "parts.txt")
    assert "has 3 line(s) already" in answer.err
    whole, parts = ((tmp_path / name).read_text().splitlines() for name in ("whole.txt", "parts.txt"))
    if "--json" in options:  # the last digits of scores may depend on the neighbours
        whole, parts = ([json.loads(line)["text"] for line in lines] for lines in (whole, parts))
    assert parts == whole


def test_a_full_disk_is_named(tmp_path: Path) -> None:
    """Also if what is buffered cannot be written when the file is closed."""

    class Full(io.BufferedRandom):
        def flush(self) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "made.txt"
    full = r"cannot write .*made\.txt\.part: No space left on device\. The same command goes on"
    with GrowingFile(path, {}) as file:
        file.add("one")
        kept, file._file = file._file, Full(io.FileIO(tmp_path / "full", "w+"))
        kept.close()
        with pytest.raises(UsageError, match=full):
            file.add("two")
    with GrowingFile(path, {}) as file:
        assert file.lines == 1


def test_what_was_begun_otherwise_is_refused(run: Path, text: Path, tmp_path: Path) -> None:
    part = tmp_path / "made.txt.part"
    with GrowingFile(tmp_path / "made.txt", {"model": 1, "text": 2}) as file:
        file.add("one")
    assert "begun with another model, text, options, form" in fail(
        "translate", run, "--input", text, "--output", tmp_path / "made.txt"
    )
    (tmp_path / "made.txt.part.json").unlink()
    assert "not what made it" in fail("translate", run, "--input", text, "--output", tmp_path / "made.txt")
    part.unlink()
    succeed("translate", run, "--input", text, "--output", tmp_path / "made.txt")


def test_two_do_not_write_one_file(tmp_path: Path) -> None:
    with GrowingFile(tmp_path / "x", {}), pytest.raises(UsageError, match="another process writes"):
        GrowingFile(tmp_path / "x", {}).__enter__()


def test_files_that_cannot_be(run: Path, text: Path, tmp_path: Path) -> None:
    output = ("--output", tmp_path / "made.txt")
    assert "not both" in fail("translate", run, "Ja.", "--input", text)
    assert "--output goes with --input" in fail("translate", run, *output)
    assert "add --json" in fail("translate", run, "--input", text, *output, "--nbest", 2)
    assert "cannot read" in fail("translate", run, "--input", tmp_path / "nowhere", *output)
    assert "cannot write" in fail("translate", run, "--input", text, "--output", text / "made.txt")


def test_pairs_are_a_table_to_train_on(run: Path, text: Path, tmp_path: Path) -> None:
    succeed("translate", run, "--input", text, "--output", tmp_path / "made.tsv", "--pairs")
    rows = [line.split("\t") for line in (tmp_path / "made.tsv").read_text().splitlines()]
    assert [row[0] for row in rows] == [" ".join(line.split()) for line in LINES]
    assert all(len(row) == 2 for row in rows)
    (told,) = map(json.loads, succeed("translate", run, "Ja.", "--pairs", "--json").lines)
    assert told["source"] == "Ja."


RECIPE = """
[data]
source_language = "en"
target_language = "de"
max_tokens = 60
prepared = "{folder}/prepared"
[[data.corpus]]
name = "real"
train = ["real.tsv"]
valid = ["real.tsv"]
[[data.corpus]]
name = "made"
train = ["made.tsv"]
source_column = 2
target_column = 1
tag = "<bt>"
weight = 0.5
[tokenizer]
vocabulary = 400
[model]
size = "tiny"
width = 16
feed_forward = 32
heads = 2
encoder_layers = 1
decoder_layers = 1
[training]
batch_tokens = 128
updates = 4
validate_every = 2
validate_sentences = 4
threads = 1
warmup = 2
"""


def test_back_translation_in_two_commands(run: Path, folder: Path, tmp_path: Path) -> None:
    """`run` is de → en; German text alone helps a model of the other direction."""
    rows = [line.split("\t") for line in (folder / "toy.tsv").read_text().splitlines()]
    (tmp_path / "real.tsv").write_text("".join(f"{row[2]}\t{row[1]}\n" for row in rows[:40]))
    (tmp_path / "mono.de").write_text("".join(f"{row[1]}\n" for row in rows[40:60]) + "\n")
    (tmp_path / "recipe.toml").write_text(RECIPE.format(folder=tmp_path))
    succeed(
        "translate", run, "--input", tmp_path / "mono.de", "--output", tmp_path / "made.tsv", "--pairs", "--no-warnings"
    )
    told = succeed("train", tmp_path / "recipe.toml", "--run", tmp_path / "run")
    assert "real en→de: 40 of 40 pairs kept" in told.out
    assert re.search(r"made en→de: \d+ of 21 pairs kept \(1 empty", told.out)
    model = regard.load(tmp_path / "run")
    assert model.tokenizer.tag("<bt>") not in model.encode(["Yes."])[0]  # which only training reads


def test_distillation_in_two_commands(run: Path, folder: Path, tmp_path: Path) -> None:
    rows = [line.split("\t") for line in (folder / "toy.tsv").read_text().splitlines()]
    (tmp_path / "train.de").write_text("".join(f"{row[1]}\n" for row in rows[:30]))
    (tmp_path / "valid.tsv").write_text("".join(f"{row[1]}\t{row[2]}\n" for row in rows[30:40]))
    command = ("--input", tmp_path / "train.de", "--output", tmp_path / "taught.tsv", "--pairs", "--no-warnings")
    succeed("translate", run, run, *command)
    head, _, rest = RECIPE.format(folder=tmp_path).partition("[[data.corpus]]")
    small = head + 'train = ["taught.tsv"]\nvalid = ["valid.tsv"]\n' + rest[rest.index("[tokenizer]") :]
    (tmp_path / "small.toml").write_text(small)
    assert "of 30 pairs kept" in succeed("train", tmp_path / "small.toml", "--run", tmp_path / "run").out
