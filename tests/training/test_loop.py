"""What the loop promises of any model and task: exact resume, sums over parts, averages, patience, no NaN."""

from __future__ import annotations

import io
import json
import math
import re
from pathlib import Path

import pytest
import torch
from rich.console import Console

from regard.checkpoint import read
from regard.config import Training
from regard.errors import CheckpointError, TrainingError
from regard.training.averaging import Quality, averaged
from regard.training.log import TrainingLog
from regard.training.loop import Loop
from regard.training.run_folder import RunFolder
from regard.training.update import clip, seed_of
from tests.training.stand_in import ALONE, SETTINGS, Regression, Small, equal, loop, run, small, weights


def metrics(folder: Path) -> list[dict[str, float]]:
    lines = (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return [
        {key: value for key, value in json.loads(line).items() if key not in ("tokens_per_second", "seconds")}
        for line in lines
    ]


def without_time(metadata: dict[str, str]) -> dict[str, str]:
    return {name: re.sub(r'"seconds": [^,}]+', "", value) for name, value in metadata.items()}


def test_time_ends_a_run_and_more_of_it_goes_on(tmp_path: Path) -> None:
    settings = dict(updates=1_000_000, validate_every=1_000_000, checkpoint_every=0)
    timed, outcome = run(tmp_path, minutes=0.2 / 60, **settings)
    assert outcome.reason == "time"
    assert timed.progress.seconds >= 0.2
    done = timed.progress.update
    assert [line["update"] for line in metrics(tmp_path) if line["kind"] == "valid"] == [done], "the end is measured"
    again, outcome = run(tmp_path, minutes=0.2 / 60, **settings)
    assert (outcome.reason, again.progress.update) == ("time", done)
    more, _ = run(tmp_path, minutes=0.4 / 60, **settings)
    assert more.progress.update > done
    assert more.progress.seconds >= 0.4


def test_it_learns(tmp_path: Path) -> None:
    _, outcome = run(tmp_path, updates=300, validate_every=100, checkpoint_every=0)
    losses = [line["loss"] for line in metrics(tmp_path) if line["kind"] == "valid"]
    assert outcome.reason == "done"
    assert losses[-1] < losses[0] / 2


@pytest.mark.parametrize("stopped", [1, 3, 4, 7, 11])
def test_stopping_and_going_on_changes_nothing(tmp_path: Path, stopped: int) -> None:
    straight, _ = run(tmp_path / "straight")
    begun = loop(tmp_path / "resumed")
    with TrainingLog(tmp_path / "resumed", begun.settings, begun.progress, console=Console(file=io.StringIO())) as log:
        for _ in range(stopped):
            begun.update(log)
            if begun.progress.update % begun.settings.validate_every == 0:
                begun.validate(log)
    begun.folder.save(begun.model, begun.optimizer, begun.progress, begun.ema)
    resumed, _ = run(tmp_path / "resumed")
    assert equal(weights(straight.model), weights(resumed.model))
    assert straight.progress == resumed.progress
    for name in ("last", "weights-00000012"):
        one, other = (read(tmp_path / run / "checkpoints" / f"{name}.safetensors") for run in ("straight", "resumed"))
        assert equal(one[0], other[0])
        assert without_time(one[1]) == without_time(other[1])
    assert metrics(tmp_path / "straight") == metrics(tmp_path / "resumed")


def test_a_run_depends_on_its_seed(tmp_path: Path) -> None:
    one, _ = run(tmp_path / "1")
    other, _ = run(tmp_path / "2", seed=2)
    assert not equal(weights(one.model), weights(other.model)), "dropout should differ"


def test_seeds_differ() -> None:
    seeds = {seed_of(seed, update, part) for seed in range(5) for update in range(50) for part in range(8)}
    assert len(seeds) == 5 * 50 * 8
    assert all(0 <= seed < 2**63 for seed in seeds)


class Halves(Regression):
    """Part n holds what parts 2n and 2n+1 of a Regression hold."""

    rows = 2 * Regression.rows

    def loss(self, model: Small, batch: int):  # type: ignore[no-untyped-def]
        one, other = (Regression().loss(model, number) for number in (2 * batch, 2 * batch + 1))
        return type(one)(one.smoothed + other.smoothed, one.plain + other.plain)


def test_accumulating_two_parts_is_one_batch_of_both(tmp_path: Path) -> None:
    def trained(name: str, task: Regression, accumulate: int) -> Small:
        settings = dict(accumulate=accumulate, clip=0.0, epsilon=1e-3)
        training = loop(tmp_path / name, task, **settings)
        training.model.drop.p = 0.0  # parts draw their own dropout
        with TrainingLog(tmp_path, training.settings, training.progress, console=Console(file=io.StringIO())) as log:
            for _ in range(6):
                training.update(log)
        return training.model  # type: ignore[return-value]

    together, apart = trained("together", Halves(), 1), trained("apart", Regression(), 2)
    for one, other in zip(together.parameters(), apart.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-6)


def test_every_part_is_taken_once_and_in_order(tmp_path: Path) -> None:
    task = Regression()
    run(tmp_path, task, accumulate=3, updates=4)
    assert task.taken == list(range(12))


@pytest.mark.parametrize("limit", [0.0, 1e-3, 1e6])
def test_clipping(tmp_path: Path, limit: float) -> None:
    training = loop(tmp_path, clip=limit)
    training.task.loss(training.model, 0).smoothed.backward()
    free = math.sqrt(sum(float(each.grad.square().sum()) for each in training.model.parameters()))
    norm = clip(training.objective, limit)
    clipped = math.sqrt(sum(float(each.grad.square().sum()) for each in training.model.parameters()))
    assert norm == pytest.approx(free), "what is reported is the length before clipping"
    assert clipped == pytest.approx(min(free, limit or math.inf), rel=1e-3)


def test_not_a_number_stops_before_anything_is_overwritten(tmp_path: Path) -> None:
    with pytest.raises(TrainingError) as caught:
        run(tmp_path, Regression(poisoned=7))
    message = str(caught.value)
    assert "update 8" in message
    assert "nan" in message
    assert "last checkpoint is of update 6" in message
    assert "training.learning_rate" in message
    tensors, metadata = read(tmp_path / "checkpoints" / "last.safetensors")
    assert json.loads(metadata["progress"])["update"] == 6
    assert all(tensor.isfinite().all() for tensor in tensors.values())
    assert [line["update"] for line in metrics(tmp_path)] == [4]


def test_not_a_number_at_once(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match=r"update 1: .* there is no checkpoint yet"):
        run(tmp_path, Regression(poisoned=0))
    assert not (tmp_path / "checkpoints" / "last.safetensors").exists()


def test_patience(tmp_path: Path) -> None:
    scores = [1.0, 3.0, 2.0, 2.5]
    training, outcome = run(tmp_path, Regression(scores), metric="bleu", ema=0.0, patience=2, updates=40)
    assert outcome.reason == "patience"
    assert training.progress.update == 16
    assert (training.progress.best and training.progress.best.value, training.progress.best_update) == (3.0, 8)
    again, outcome = run(tmp_path, Regression([9.0]), metric="bleu", ema=0.0, patience=2, updates=40)
    assert (outcome.reason, again.progress.update) == ("patience", 16), "stays at its end"
    more, outcome = run(tmp_path, Regression([9.0, 1.0, 1.0, 1.0]), metric="bleu", ema=0.0, patience=3, updates=40)
    assert (outcome.reason, more.progress.best_update) == ("patience", 20), "more patience goes on"


def test_the_lowest_loss_is_the_best(tmp_path: Path) -> None:
    training, _ = run(tmp_path, updates=40)
    losses = {line["update"]: line["loss"] for line in metrics(tmp_path) if line["kind"] == "valid"}
    assert training.progress.best_update == min(losses, key=losses.__getitem__)
    assert training.progress.best is not None
    assert training.progress.best.value == -min(losses.values())


SCORES = [5.0, 9.0, 1.0, 8.0, 2.0, 3.0]  # of updates 4, 8, … 24


@pytest.mark.parametrize(
    ("average_of", "count", "kept", "before"),
    [("last", 2, [8, 20, 24], [16]), ("last", 1, [8, 24], [20]), ("best", 3, [4, 8, 16], []), ("best", 1, [8], []),
     ("last", 9, [4, 8, 12, 16, 20, 24], [])],
)  # fmt: skip
def test_snapshots_that_may_be_needed_are_kept(
    tmp_path: Path, average_of: str, count: int, kept: list[int], before: list[int]
) -> None:
    """Files hold those of the mean and the best, and what the checkpoint before the last one needs besides."""
    settings = dict(updates=24, metric="bleu", average=count, average_of=average_of)
    training, _ = run(tmp_path, Regression(SCORES), **settings)
    files = sorted((tmp_path / "checkpoints").glob("weights-*"))
    assert [update for update, _ in training.progress.snapshots] == kept
    assert [int(path.stem.removeprefix("weights-")) for path in files] == sorted([*before, *kept])


def test_a_tie_falls_to_the_loss(tmp_path: Path) -> None:
    """BLEU is 0 throughout where targets have three words: the first weights are not the best of them."""
    settings = dict(metric="bleu", average=1, average_of="best", patience=2, ema=0.0, updates=24)
    training, outcome = run(tmp_path, Regression([0.0] * 6), **settings)
    losses = {line["update"]: line["loss"] for line in metrics(tmp_path) if line["kind"] == "valid"}
    best = min(losses, key=losses.__getitem__)
    assert best > 4
    assert outcome.reason == "done", "patience hears of the loss, too"
    assert [update for update, _ in training.progress.snapshots] == [best]
    assert (training.progress.best_update, training.progress.best) == (best, (0.0, losses[best]))


def test_of_equals_the_earlier_is_best() -> None:
    settings = Training(average=1, average_of="best")
    assert averaged([(4, Quality(5.0, 1.0)), (8, Quality(5.0, 1.0))], settings) == [(4, Quality(5.0, 1.0))]
    assert averaged([(4, Quality(5.0)), (8, Quality(5.0, 1.0))], settings) == [(8, Quality(5.0, 1.0))]


def test_a_checkpoint_of_another_model(tmp_path: Path) -> None:
    run(tmp_path)
    other = small()
    other.layers[1] = torch.nn.Linear(6, 2)
    with pytest.raises(CheckpointError, match=r"another model \(layers\.1\.weight differs\)"):
        Loop(other, Regression(), SETTINGS, ALONE, RunFolder(tmp_path, SETTINGS, ALONE))


def test_a_run_goes_on_only_on_its_own_data(tmp_path: Path) -> None:
    def begin(text: str) -> Loop:
        basis = {"sha256 of train.tsv": text, "parts": "1"}
        return Loop(small(), Regression(), SETTINGS, ALONE, RunFolder(tmp_path, SETTINGS, ALONE, basis))

    training = begin("abc")
    training.folder.save(training.model, training.optimizer, training.progress, training.ema)
    assert begin("abc").progress == training.progress
    with pytest.raises(CheckpointError, match=r"begun on other data \(sha256 of train\.tsv: abc → xyz\)"):
        begin("xyz")


def test_what_a_kill_left_behind_is_removed(tmp_path: Path) -> None:
    run(tmp_path)
    checkpoints = tmp_path / "checkpoints"
    left = [checkpoints / "last.safetensors.123.tmp", tmp_path / "model.safetensors.123.tmp"]
    left.append(checkpoints / "weights-00000016.safetensors")  # written, but not yet named by `last` or `previous`
    mine = tmp_path / "notes.tmp"
    for path in [*left, mine]:
        path.write_bytes(b"half")
    loop(tmp_path)
    assert not any(path.exists() for path in left)
    assert mine.exists(), "not ours"
