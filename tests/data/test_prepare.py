"""A prepared corpus holds the ids of every usable pair in order; it is reused when, and only when, nothing changed."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import shutil
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard import config
from regard.config import ParallelText, TranslationRecipe
from regard.data import encoding
from regard.data import prepare as preparing
from regard.data.cleaning import Cleaner, Report, Seen
from regard.data.encoding import Chunk
from regard.data.ids import PairIds, PairWriter, smallest_type
from regard.data.prepare import Prepared
from regard.errors import ConfigError, DataError
from regard.tasks.registry import prepare

WORDS = [a + b for a in ("ba", "do", "ki", "mu", "le") for b in ("ra", "so", "ti", "nu", "ge")]


def pairs(count: int, seed: int = 0) -> list[tuple[str, str]]:
    """Sentences that are all different: each carries its number in words."""
    chance = random.Random(seed)
    made = []
    for number in range(count):
        words = [WORDS[number % 25], WORDS[number // 25 % 25], WORDS[number // 625 % 25], *chance.choices(WORDS, k=3)]
        made.append((" ".join(words), " ".join(reversed(words)).upper()))
    return made


def write(folder: Path, name: str, rows: list[tuple[str, str]]) -> None:
    for side, column in (("a", 0), ("b", 1)):
        (folder / f"{name}.{side}").write_text("".join(row[column] + "\n" for row in rows), encoding="utf-8")


TRAIN, VALID = pairs(700), pairs(40, seed=1)


@pytest.fixture
def recipe(tmp_path: Path) -> TranslationRecipe:
    write(tmp_path, "train", TRAIN)
    write(tmp_path, "valid", VALID)
    data = ParallelText(
        train=("train.a", "train.b"),
        valid=("valid.a", "valid.b"),
        folder=str(tmp_path),
        prepared=str(tmp_path / "prepared"),
        max_tokens=60,
    )
    return TranslationRecipe(name="toy", data=data, tokenizer=config.Tokenizer(vocabulary=340))


def text(prepared: Prepared, ids: PairIds) -> list[tuple[str, str]]:
    tokenizer = prepared.assets.tokenizer
    return [
        (tokenizer.decode(ids.source(i).tolist(), "source"), tokenizer.decode(ids.target(i).tolist(), "target"))
        for i in range(len(ids))
    ]


def built(prepared: Prepared) -> int:
    """Changes when, and only when, the folder is built anew."""
    return (prepared.folder / "train.ids").stat().st_ino


def test_all_usable_pairs_come_back_in_order(recipe: TranslationRecipe) -> None:
    prepared = prepare(recipe, show=False)
    assert text(prepared, prepared.train) == TRAIN
    assert text(prepared, prepared.valid) == VALID
    assert prepared.train.source(0).dtype == np.uint16
    for ids in (prepared.train, prepared.valid):
        ids.verify()
        assert ids.lengths.tolist() == [[len(ids.source(i)), len(ids.target(i))] for i in range(len(ids))]
        assert ids.lengths.dtype == np.int32
    assert prepared.folder.parent == Path(recipe.data.prepared)
    assert prepared.folder.name.startswith("toy-")
    assert set(prepared.checksums) == {"train.a", "train.b", "valid.a", "valid.b"}


def test_each_rule_is_applied_and_counted(recipe: TranslationRecipe, tmp_path: Path) -> None:
    long, short = " ".join(WORDS * 3), "bara"
    middling = " ".join(WORDS[:12])
    bad = [
        ("", "x"), ("x", " \t"), ("\u200b", "x"),  # what normalises to nothing is empty too
        (long, long), (short, long),
        (middling, short), (short, middling), (short, short + " doso"),  # the last is short enough to be kept
        TRAIN[0], TRAIN[1], (f"  {TRAIN[2][0]} ", TRAIN[2][1].replace(" ", "  ")),
        (TRAIN[3][0], TRAIN[4][1]),  # half a duplicate is none
        ("bara", "bara bara"), ("bara bara", "bara"),  # nor are the same tokens divided elsewhere
    ]  # fmt: skip
    write(tmp_path, "train", TRAIN + bad)
    write(tmp_path, "valid", [("", "x"), (long, long), *VALID, VALID[0], (middling, short)])
    prepared = prepare(recipe, show=False)
    assert text(prepared, prepared.train) == [*TRAIN, bad[7], *bad[11:]]
    assert text(prepared, prepared.valid) == [*VALID, VALID[0], (middling, short)]
    train, valid = prepared.report.train, prepared.report.valid
    assert train.skipped == {"empty": 3, "long": 2, "disproportionate": 2, "duplicate": 3}
    assert valid.skipped == {"empty": 1, "long": 1}
    for counts, ids in ((train, prepared.train), (valid, prepared.valid)):
        assert counts.kept == len(ids) == counts.read - sum(counts.skipped.values())
        assert counts.tokens == ids.lengths.sum(axis=0).tolist()
    shown = "\n".join(prepared.report.lines())
    for part in ("704 of 714 pairs kept", "more than 60 tokens", "more than 4 times"):
        assert part in shown


@pytest.mark.parametrize(
    ("source", "target", "broken"),
    [
        (1, 10, None), (1, 11, "disproportionate"), (11, 1, "disproportionate"),
        (3, 12, None), (3, 13, "disproportionate"), (13, 3, "disproportionate"),
        (20, 20, None), (20, 21, "long"), (21, 20, "long"), (0, 21, "empty"), (1, 21, "long"),
    ],
)  # fmt: skip
def test_rules_begin_exactly_at_their_thresholds(source: int, target: int, broken: str | None) -> None:
    chunk = Chunk(np.full(source + target, 300), np.array([[source, target]], dtype=np.int32), np.zeros(1, np.uint64))
    cleaner = Cleaner(20, 4.0, training=True)
    assert len(cleaner.clean(chunk).lengths) == (broken is None)
    assert [rule for rule, count in cleaner.counts.skipped.items() if count] == ([broken] if broken else [])


def test_bytes_are_counted(recipe: TranslationRecipe, tmp_path: Path) -> None:
    write(tmp_path, "valid", [("bara", "bara한")])
    prepared = prepare(recipe, show=False)
    assert prepared.report.valid.byte_tokens == [0, 3]


def test_a_corpus_that_the_rules_empty_is_refused_with_counts(recipe: TranslationRecipe, tmp_path: Path) -> None:
    write(tmp_path, "valid", [("", "x"), ("y", "")])
    with pytest.raises(
        DataError, match=r"no pair of data\.valid can be used:\n.*0 of 2 pairs kept\n *2 skipped: a side"
    ):
        prepare(recipe, show=False)
    assert list((tmp_path / "prepared").iterdir()) == []


def test_a_recipe_without_validation_text_is_refused(recipe: TranslationRecipe) -> None:
    with pytest.raises(ConfigError, match=r"data\.valid is not set"):
        prepare(replace(recipe, data=replace(recipe.data, valid=())), show=False)


def test_a_recipe_in_hand_can_be_overridden(recipe: TranslationRecipe) -> None:
    """Overrides of one that was no file went unheard."""
    assert len(prepare(recipe, overrides=["data.max_tokens=7"], show=False).train) < len(
        prepare(recipe, show=False).train
    )
    with pytest.raises(ConfigError, match="no folder"):
        prepare(recipe, data="nowhere", show=False)


def test_the_number_of_workers_changes_nothing(recipe: TranslationRecipe, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = prepare(recipe, workers=1, show=False)
    monkeypatch.setattr(encoding, "CHUNK", 23)
    many = prepare(replace(recipe, name="other"), workers=2, show=False)
    assert many.folder != alone.folder
    assert many.report == alone.report
    for name in ("train.ids", "train.lengths", "train.starts", "tokenizer.json", "valid.ids"):
        assert (many.folder / name).read_bytes() == (alone.folder / name).read_bytes()


class TestReuse:
    def test_nothing_changed(self, recipe: TranslationRecipe) -> None:
        first = prepare(recipe, show=False)
        before = built(first)
        second = prepare(replace(recipe, training=config.Training(seed=9)), show=False)
        assert built(second) == before
        assert second.report.lines() == first.report.lines()
        assert second.assets.tokenizer == first.assets.tokenizer
        assert second.checksums == first.checksums

    def test_touched_or_moved_but_equal(self, recipe: TranslationRecipe, tmp_path: Path) -> None:
        first = prepare(recipe, show=False)
        before = built(first)
        other = tmp_path / "other"
        other.mkdir()
        for name in first.checksums:
            shutil.copy(tmp_path / name, other)
            os.utime(other / name, (1, 1))
        moved = replace(recipe, data=replace(recipe.data, folder=str(other)))
        assert built(prepare(moved, show=False)) == before
        stamps = json.loads((first.folder / "manifest.json").read_text())["inputs"]
        assert {stamp["modified"] for stamp in stamps.values()} == {10**9}  # refreshed, so the next look is quick

    def test_other_text_of_the_same_size(self, recipe: TranslationRecipe, tmp_path: Path) -> None:
        first = prepare(recipe, show=False)
        before = built(first)
        write(tmp_path, "train", [TRAIN[1], TRAIN[0], *TRAIN[2:]])
        second = prepare(recipe, show=False)
        assert second.folder == first.folder
        assert built(second) != before
        assert text(second, second.train)[:2] == [TRAIN[1], TRAIN[0]]
        assert [each.name for each in second.folder.parent.iterdir()] == [second.folder.name]

    @pytest.mark.parametrize(
        "changed",
        [
            lambda recipe: replace(recipe, tokenizer=replace(recipe.tokenizer, vocabulary=330)),
            lambda recipe: replace(recipe, data=replace(recipe.data, max_tokens=50)),
            lambda recipe: replace(recipe, data=replace(recipe.data, train=("train.b", "train.a"))),
        ],
    )
    def test_other_settings_get_another_folder(self, recipe: TranslationRecipe, changed: Any) -> None:
        assert prepare(changed(recipe), show=False).folder != prepare(recipe, show=False).folder

    @pytest.mark.parametrize("name", ["manifest.json", "tokenizer.json", "train.ids", "valid.starts"])
    @pytest.mark.parametrize("damage", ["cut", "gone"])
    def test_a_damaged_folder_is_built_again(self, recipe: TranslationRecipe, name: str, damage: str) -> None:
        first = prepare(recipe, show=False)
        path = first.folder / name
        path.unlink() if damage == "gone" else path.write_bytes(path.read_bytes()[:-9])
        if path.suffix != ".json":
            with pytest.raises(DataError, match=rf"{name} has [\d,]+ bytes instead of .*`regard prepare`"):
                PairIds.open(first.folder, name.split(".")[0])
        assert text(first, prepare(recipe, show=False).train) == TRAIN


def test_changed_bytes_are_found_by_verify(recipe: TranslationRecipe) -> None:
    prepared = prepare(recipe, show=False)
    path = prepared.folder / "train.ids"
    content = bytearray(path.read_bytes())
    content[7] ^= 1
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"train\.ids was changed or damaged.*`regard prepare`"):
        PairIds.open(prepared.folder, "train").verify()


@pytest.mark.parametrize("name", ["train.ids", "valid.lengths", "tokenizer.json", "manifest.json"])
def test_what_was_overwritten_is_built_again_and_told(recipe: TranslationRecipe, name: str) -> None:
    """Of the same size, and though somebody has set back the time."""
    first = prepare(recipe, show=False)
    path, before = first.folder / name, built(first)
    content, stamp = path.read_bytes(), path.stat()
    path.write_bytes(content.replace(b"1", b"2") if name.endswith("json") else content[::-1])
    assert path.read_bytes() != content
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    again = prepare(recipe, show=False)
    assert built(again) != before
    assert again.note.startswith("built again: ")
    assert str(path) in again.note
    assert text(again, again.train) == TRAIN
    assert prepare(recipe, show=False).note == ""


def test_a_large_file_is_read_only_if_it_was_touched(
    recipe: TranslationRecipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = prepare(recipe, show=False)
    monkeypatch.setattr(preparing, "READ_ALWAYS", 0)
    monkeypatch.setattr(preparing, "checksum", lambda path: pytest.fail(f"read {path}"))
    assert built(prepare(recipe, show=False)) == built(first)
    monkeypatch.undo()
    monkeypatch.setattr(preparing, "READ_ALWAYS", 0)
    path = first.folder / "train.ids"
    os.utime(path, ns=(1, 1))
    assert built(prepare(recipe, show=False)) == built(first), "only its time has changed"
    path.write_bytes(path.read_bytes()[::-1])
    assert "train.ids was changed or damaged" in prepare(recipe, show=False).note


def test_a_folder_without_manifest_is_not_prepared(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"not a prepared corpus.*`regard prepare`"):
        PairIds.open(tmp_path, "train")


def test_a_failure_half_way_leaves_nothing_behind(
    recipe: TranslationRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(PairWriter, "finish", fail)
        with pytest.raises(KeyboardInterrupt):
            prepare(recipe, show=False)
    assert list((tmp_path / "prepared").iterdir()) == []
    prepared = prepare(recipe, show=False)
    assert text(prepared, prepared.train) == TRAIN


def test_what_a_killed_process_left_is_swept_after_a_day(recipe: TranslationRecipe, tmp_path: Path) -> None:
    folder = prepare(recipe, show=False).folder
    shutil.rmtree(folder)
    young, old = (folder.parent / f".{folder.name}-{age}" for age in ("young", "old"))
    for left in (young, old):
        (left / "built").mkdir(parents=True)
    os.utime(old, (1, 1))
    prepare(recipe, show=False)
    assert {each.name for each in folder.parent.iterdir()} == {folder.name, young.name}


def test_a_place_that_cannot_be_written_is_named(recipe: TranslationRecipe, tmp_path: Path) -> None:
    (tmp_path / "prepared").write_text("a file where a folder should be")
    with pytest.raises(DataError, match=r"cannot write the prepared corpus .*data\.prepared"):
        prepare(recipe, show=False)


@pytest.mark.slow  # three Pythons that import torch; the next test overtakes within one
def test_processes_that_prepare_at_once_do_not_harm_each_other(recipe: TranslationRecipe, tmp_path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        folders = pool.map(prepare_and_verify, [recipe] * 3, chunksize=1)
    assert len(set(folders)) == 1
    assert [each.name for each in (tmp_path / "prepared").iterdir()] == [Path(folders[0]).name]


def test_the_quicker_of_two_processes_wins(recipe: TranslationRecipe, monkeypatch: pytest.MonkeyPatch) -> None:
    begin, quicker = preparing._build, []

    def overtaken(*arguments: Any) -> None:
        monkeypatch.setattr(preparing, "_build", begin)
        quicker.append(built(prepare(recipe, show=False)))
        begin(*arguments)

    monkeypatch.setattr(preparing, "_build", overtaken)
    slower = prepare(recipe, show=False)
    assert quicker == [built(slower)]  # what the quicker one may have opened still stands
    assert text(slower, slower.train) == TRAIN


def prepare_and_verify(recipe: TranslationRecipe) -> str:
    prepared = prepare(recipe, show=False)
    prepared.train.verify()
    return str(prepared.folder)


def test_the_tokenizer_learns_from_the_whole_corpus(recipe: TranslationRecipe, tmp_path: Path) -> None:
    write(tmp_path, "train", [*TRAIN, *[(f"q{a}{b} zz", "Q ZZ") for a in "xyz" for b in "0123456789" * 20]])
    small = replace(recipe, tokenizer=replace(recipe.tokenizer, sample=200, vocabulary=320))
    first = prepare(small, show=False)
    assert "<0x" not in "".join(
        first.assets.tokenizer.tokens(first.assets.tokenizer.encode("q"), "source")
    )  # only stands at the end
    assert prepare(replace(small, name="again"), show=False).assets.tokenizer == first.assets.tokenizer


def test_a_report_survives_storage(recipe: TranslationRecipe) -> None:
    report = prepare(recipe, show=False).report
    assert Report.from_dict(json.loads(json.dumps(asdict(report)))) == report


@pytest.mark.parametrize("vocabulary", [300, 1 << 16, (1 << 16) + 1])
def test_ids_of_any_vocabulary_fit(tmp_path: Path, vocabulary: int) -> None:
    ids, lengths = np.array([4, vocabulary - 1, 5]), np.array([[1, 2]])
    with PairWriter(tmp_path, "train", smallest_type(vocabulary)) as writer:
        writer.add(ids, lengths)
        writer.add(ids, lengths[:, ::-1])
        manifest = {"splits": {"train": writer.finish()}}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    opened = PairIds.open(tmp_path, "train")
    assert [opened.source(0).tolist(), opened.target(0).tolist()] == [[4], [vocabulary - 1, 5]]
    assert [opened.source(1).tolist(), opened.target(1).tolist()] == [[4, vocabulary - 1], [5]]


@given(st.lists(st.lists(st.integers(0, 40), max_size=12), max_size=12))
@settings(deadline=None)
def test_fingerprints_are_new_once(batches: list[list[int]]) -> None:
    seen, known = Seen(), set[int]()
    for batch in batches:
        found = seen.add(np.array(batch, dtype=np.uint64)).tolist()
        for value, new in zip(batch, found, strict=True):
            assert new == (value not in known)
            known.add(value)


@pytest.mark.parametrize("shared", [0, 10, 40])
def test_pairs_that_were_trained_on_are_counted(recipe: TranslationRecipe, tmp_path: Path, shared: int) -> None:
    write(tmp_path, "valid", [*TRAIN[:shared], *VALID[shared:]])
    prepared = prepare(recipe, show=False)
    told = [line for line in prepared.lines() if "also in data.train" in line]
    assert prepared.report.valid.shared == shared
    assert told == (
        [f"  {shared} of its 40 pairs are also in data.train: what they score says nothing of new text"]
        if shared
        else []
    )
