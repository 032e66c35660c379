"""`regard embed`: what Python says, line by line, as a NumPy file and as a map; tests/tasks/test_vectors.py has the laws."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import regard
from tests.commands.calling import BAD, GOOD, LONG_REVIEW, SENTENCE, fail, succeed


def test_lines_of_json_are_what_python_says(run: Path, moods: Path, rhymes: Path, tmp_path: Path) -> None:
    for model, given in ((run, [SENTENCE, "", "Ja."]), (moods, [GOOD, BAD, " "]), (rhymes, ["a whale", "", "고래"])):
        answer = succeed("embed", model, *given)
        told = [json.loads(line) for line in answer.lines]
        assert [each["text"] for each in told] == given
        vectors = np.array([each["vector"] for each in told], dtype=np.float32)
        assert np.array_equal(vectors, regard.load(model).embed(given))  # every digit that counts
        assert "1 text(s) without any token: their vectors are zeros" in answer.err
        text = "".join(f"{line}\n" for line in given)
        (tmp_path / "in.txt").write_text(text, encoding="utf-8")
        for again in (
            succeed("embed", model, stdin=text.encode()),
            succeed("embed", model, tmp_path / "in.txt"),
            succeed("embed", model, "--file", tmp_path / "in.txt"),
        ):
            assert again.out == answer.out


def test_a_numpy_file_whole_or_not_at_all(run: Path, folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "v.npy"
    answer = succeed("embed", run, folder / "test.de", "-o", file, "--pool", "max")
    assert answer.out == ""
    assert answer.err == f"wrote {file}: 12 × 32, max\n"
    mapped = np.load(file, mmap_mode="r")
    lines = (folder / "test.de").read_text(encoding="utf-8").splitlines()
    assert mapped.dtype == np.float32
    assert np.array_equal(mapped, regard.load(run).embed(lines, pool="max"))
    before = file.read_bytes()
    (tmp_path / "broken.txt").write_bytes(b"Ja.\n\xff\n")
    assert "line 2 is not UTF-8" in fail("embed", run, tmp_path / "broken.txt", "-o", file)
    assert file.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken.txt", "v.npy"]
    succeed("embed", run, "-o", file, stdin=b"")
    assert np.load(file).shape == (0, 32)
    succeed("embed", run, "Ja.", "-o", tmp_path / "v.jsonl")
    assert (tmp_path / "v.jsonl").read_text(encoding="utf-8") == succeed("embed", run, "Ja.").out


def test_interrupted_it_leaves_nothing(run: Path, tmp_path: Path) -> None:
    def lines() -> object:
        yield from ["Ja."] * 5_000
        raise KeyboardInterrupt

    for name in ("v.npy", "v.jsonl"):
        with pytest.raises(KeyboardInterrupt):
            regard.embed(run, lines(), output=tmp_path / name, page=tmp_path / "map.html")  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_a_map_in_colours(run: Path, folder: Path, tmp_path: Path) -> None:
    page, labels = tmp_path / "map.html", tmp_path / "labels.txt"
    labels.write_text("short\nlong\n" * 6, encoding="utf-8")
    answer = succeed("embed", run, folder / "test.de", "--page", page, "--labels", labels)
    assert answer.err == f"wrote {page}\n"
    written = page.read_text(encoding="utf-8")
    assert '"labels":["short","long"]' in written
    assert f"regard embed {run}" in written
    labels.write_text("short\n" * 11, encoding="utf-8")
    assert "there are 11 --labels for more texts" in fail(
        "embed", run, folder / "test.de", "--page", page, "--labels", labels
    )
    labels.write_text("short\n" * 13, encoding="utf-8")
    assert "more --labels than the 12 texts" in fail(
        "embed", run, folder / "test.de", "--page", page, "--labels", labels
    )


def test_long_texts_are_told(run: Path, moods: Path, rhymes: Path) -> None:
    assert "1 text(s) longer than data.max_tokens = 40" in succeed("embed", moods, LONG_REVIEW, GOOD).err
    assert "tokens this model was trained for" in succeed("embed", run, " ".join([SENTENCE] * 30)).err
    assert "with a context that slides" in succeed("embed", rhymes, "a whale was by the sea " * 100).err


def test_mistakes(run: Path, moods: Path, tmp_path: Path) -> None:
    assert "should end in one of them" in fail("embed", run, "Ja.", "-o", tmp_path / "v.txt")
    assert "should end in .html" in fail("embed", run, "Ja.", "--page", tmp_path / "v.txt")
    assert "--labels colour the map" in fail("embed", run, "Ja.", "--labels", tmp_path / "x")
    assert "there is no folder" in fail("embed", run, "Ja.", "-o", tmp_path / "no" / "v.npy")
    assert "give texts or --file, not both" in fail("embed", run, "Ja.", "--file", tmp_path / "x")
    assert "no --pool 'meen'. Did you mean 'mean'?" in fail("embed", run, "Ja.", "--pool", "meen")
    assert "nothing to draw" in fail("embed", run, "", "--page", tmp_path / "v.html")
    assert "--int8 is of the task 'translation'" in fail("embed", moods, GOOD, "--int8")
