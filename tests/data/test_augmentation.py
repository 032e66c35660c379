"""Joined and changed lines: every row once in an epoch, within the limits, and a pure function of (seed, epoch, row)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import regard
from regard import config
from regard.data.augmentation import Augmentation, Batch, LineBatches, change_case, crossed, names_of, strip_punctuation
from regard.data.batching import Position, TokenBatches
from regard.data.sentences import space_between
from regard.data.tokenizer import Tokenizer, train_tokenizer
from tests.training.toy import contents, train, write_corpus

PAIRS = [
    ("Tom schläft.", "Tom is asleep."),
    ("Die Katze mag Maria.", "The cat likes Maria."),
    ("Wir haben 17 Hunde!", "We have 17 dogs!"),
    ("Wo wohnt der Schneider?", "Where does the tailor live?"),
    ("Es regnet", "It rains."),
]
ANY_LENGTHS = st.lists(st.tuples(st.integers(1, 60), st.integers(1, 60)), min_size=1, max_size=200)


class Corpus:
    """Ids in memory."""

    def __init__(self, pairs: Sequence[tuple[str, str]], tokenizer: Tokenizer) -> None:
        self._sources = [np.array(tokenizer.encode(source, "source")) for source, _ in pairs]
        self._targets = [np.array(tokenizer.encode(target, "target")) for _, target in pairs]

    def __len__(self) -> int:
        return len(self._sources)

    def source(self, row: int) -> Any:
        return self._sources[row]

    def target(self, row: int) -> Any:
        return self._targets[row]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    sides = [source for source, _ in PAIRS], [target for _, target in PAIRS]
    return train_tokenizer(*sides, config.Tokenizer(vocabulary=330, coverage=1.0))


def texts(tokenizer: Tokenizer, lines: list[list[int]], epoch: int = 0, **data: Any) -> list[tuple[str, str]]:
    augmentation = Augmentation(Corpus(PAIRS, tokenizer), tokenizer, config.ParallelText(**data), 1)  # type: ignore[arg-type]
    pairs = augmentation.pairs(Batch(epoch, [np.array(rows) for rows in lines]))
    return [(tokenizer.decode(source, "source"), tokenizer.decode(target)) for source, target in pairs]


@given(ANY_LENGTHS, st.floats(0, 1), st.integers(0, 9), st.integers(1, 120))
@settings(deadline=None)
def test_every_row_is_in_one_line_and_lines_stay_short(
    pairs: list[tuple[int, int]], join: float, epoch: int, longest: int
) -> None:
    lengths = np.array(pairs, dtype=np.int32)
    batches = LineBatches(lengths, 100, 3, join, longest)
    lines = batches.lines(epoch)
    rows = [lines.of(number) for number in range(len(lines.begins) - 1)]
    assert sorted(np.concatenate(rows).tolist()) == list(range(len(pairs)))
    assert all(len(line) == 1 or (lengths[line].sum(0) <= longest).all() for line in rows)
    assert max(map(len, rows)) <= 4
    assert batches.line_lengths(epoch).tolist() == [lengths[line].sum(0).tolist() for line in rows]
    assert sorted(np.concatenate(batches.plan(epoch)).tolist()) == list(range(len(rows)))


def test_the_share_of_joined_lines_is_as_asked() -> None:
    lines = LineBatches(np.full((30_000, 2), 9, dtype=np.int32), 1_000, 1, 0.2, 200).lines(0)
    sizes = np.diff(lines.begins)
    assert (sizes > 1).mean() == pytest.approx(0.2, abs=0.002)
    assert [(sizes == size).mean() for size in (2, 3, 4)] == pytest.approx([0.2 / 3] * 3, abs=0.006)


def test_without_join_batches_are_those_of_rows() -> None:
    lengths = np.random.default_rng(1).integers(1, 40, (500, 2)).astype(np.int32)
    plain, _ = TokenBatches(lengths, 300, 1).take(Position(2, 1), 4)
    taken, after = LineBatches(lengths, 300, 1, 0.0, 200).take_lines(Position(2, 1), 4)
    assert [np.concatenate(batch.lines).tolist() for batch in taken] == [rows.tolist() for rows in plain]
    assert after == Position(2, 5)


def test_a_position_can_be_sought_and_epochs_differ() -> None:
    lengths = np.random.default_rng(1).integers(1, 40, (300, 2)).astype(np.int32)

    def take(position: Position, count: int) -> tuple[list[Any], Position]:
        found, after = LineBatches(lengths, 300, 1, 0.3, 60).take_lines(position, count)
        return [(batch.epoch, [rows.tolist() for rows in batch.lines]) for batch in found], after

    whole, end = take(Position(), 60)  # more than one epoch
    first, middle = take(Position(), 15)
    assert end.epoch > middle.epoch == 0
    assert first + take(middle, 45)[0] == whole
    first_epoch = [lines for epoch, lines in whole if epoch == 0]
    assert first_epoch[0] not in [lines for epoch, lines in whole if epoch == 1]


def test_joined_ids_are_those_of_the_joined_text(tokenizer: Tokenizer) -> None:
    assert texts(tokenizer, [[0, 3], [2]]) == [
        ("Tom schläft. Wo wohnt der Schneider?", "Tom is asleep. Where does the tailor live?"),
        PAIRS[2],
    ]
    glued = texts(tokenizer, [[0, 3]], source_language="ja", target_language="zh_TW")
    assert glued == [("Tom schläft.Wo wohnt der Schneider?", "Tom is asleep.Where does the tailor live?")]
    assert [space_between(name) for name in ("ja-JP", "Chinese (simplified)", "ko", "de", "")] == [
        "",
        "",
        " ",
        " ",
        " ",
    ]


def test_changes_follow_from_seed_epoch_and_row(tokenizer: Tokenizer) -> None:
    asked = dict(strip_punctuation=0.5, change_case=0.5, copy=0.5)
    lines = [[0], [1], [2], [3, 0]]
    found = [texts(tokenizer, lines, epoch, **asked) for epoch in range(8)]
    assert found == [texts(tokenizer, lines, epoch, **asked) for epoch in range(8)]
    assert texts(tokenizer, lines[::-1], 3, **asked) == found[3][::-1]  # whatever else is in the batch
    assert len({tuple(each) for each in found}) > 4


def test_a_shared_name_or_number_becomes_the_same_on_both_sides(tokenizer: Tokenizer) -> None:
    found = {texts(tokenizer, [[0]], epoch, copy=1.0)[0] for epoch in range(80)}
    names = {source.removesuffix(" schläft.") for source, _ in found}
    assert found == {(f"{name} schläft.", f"{name} is asleep.") for name in names}
    words = {"Tom", "Katze", "Maria", "Hunde", "Schneider"}
    assert words < names
    invented = names - words
    assert len(invented) > 10
    assert all(any(name[:2] == word[:2] and len(name) >= 4 for word in words) for name in invented)
    numbers = {texts(tokenizer, [[2]], epoch, copy=1.0)[0] for epoch in range(10)}
    assert len(numbers) > 5
    assert all(source[10:12] == target[8:10] and target[8:10].isdecimal() for source, target in numbers)
    assert texts(tokenizer, [[3]], copy=1.0) == [PAIRS[3]]  # nothing is shared
    assert names_of("Die katze von Tom, DDR, Al, 7-mal") == {"Die", "Tom", "7"}


def test_a_crossed_word_begins_as_one_and_ends_as_the_other() -> None:
    found = {crossed("Katze", "Maria", Random(seed)) for seed in range(99)}
    assert found == {"Katze"[:begin] + "Maria"[end:] for begin in (2, 3, 4) for end in (1, 2, 3)}


def test_punctuation_goes_on_both_sides_or_stays() -> None:
    assert strip_punctuation("Ach so ?!", "Oh.", Random(1)) == ("Ach so", "Oh")
    assert strip_punctuation("Es regnet", "It rains.", Random(1)) == ("Es regnet", "It rains.")
    assert strip_punctuation("z. B. so。", "e.g. so…", Random(1)) == ("z. B. so", "e.g. so")


def test_case_is_capitals_on_both_sides_or_small_in_the_source() -> None:
    found = {change_case("Wo, Tom?", "Where, Tom?", Random(seed)) for seed in range(9)}
    assert found == {("WO, TOM?", "WHERE, TOM?"), ("wo, tom?", "Where, Tom?")}


def test_a_script_without_case_stays_since_nothing_would_tell_the_targets() -> None:
    pair = ("톰은 Seoul에 살아요.", "Tom lives in Seoul.")
    assert {change_case(*pair, Random(seed)) for seed in range(9)} == {pair}
    assert {change_case(*pair[::-1], Random(seed))[0] for seed in range(9)} == {pair[1].upper(), pair[1].lower()}


def test_what_would_be_too_long_or_empty_stays_as_it_is(tokenizer: Tokenizer) -> None:
    longest = max(len(tokenizer.encode(text)) for text in PAIRS[1])
    found = {texts(tokenizer, [[1]], epoch, change_case=1.0, max_tokens=longest)[0] for epoch in range(20)}
    assert PAIRS[1] in found
    assert not any(source.isupper() for source, _ in found)


def test_a_run_with_all_of_it_resumes_bit_equal_and_keeps_what_the_corpus_says(tmp_path: Path) -> None:
    recipe = write_corpus(tmp_path)
    asked = (
        "data.join=0.5", "data.strip_punctuation=0.3", "data.change_case=0.3", "data.copy=0.5", "training.validate_every=4",
        "training.checkpoint_every=2",
    )  # fmt: skip
    for run, stops in (("straight", (8,)), ("stopped", (4, 8))):
        for updates in stops:
            train(recipe, tmp_path / run, *asked, f"training.updates={updates}")
    stopped, straight = contents(tmp_path / "stopped"), contents(tmp_path / "straight")
    del stopped["metrics.jsonl"], straight["metrics.jsonl"]  # a run that ended at update 4 said so there
    assert stopped == straight
    told = regard.load(tmp_path / "straight", task="translation")
    assert told.sentences == 1  # joined lines make it sturdy; sentences are still given one at a time
    rows = (tmp_path / "train.tsv").read_text(encoding="utf-8").splitlines()
    assert told.longest > max(len(told.tokenizer.encode(row.split("\t")[0])) for row in rows)
