"""Which weights become the model: the best of mean, moving average and single updates, and the file says which."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from rich.console import Console
from torch import Tensor

from regard.checkpoint import read, write
from regard.config import Training, recipes
from regard.data.prepare import prepare
from regard.errors import ConfigError
from regard.tasks.registry import find_task
from regard.tasks.trained import load_trained
from regard.training.averaging import Choice
from regard.training.distributed import ALONE
from regard.training.log import TrainingLog
from regard.training.loop import Loop
from regard.training.run_folder import RunFolder
from regard.training.training_state import Progress
from tests.training.stand_in import SETTINGS, Regression, equal, loop, run, small, weights
from tests.training.toy import train

SINGLES = [5.0, 9.0, 1.0, 8.0, 2.0, 3.0]  # of updates 4, 8, … 24


class Published:
    """A run with given scores, and what it wrote as the model, after which update."""

    def __init__(self, folder: Path, scores: Sequence[float], **changes: Any) -> None:
        self.settings: Training = replace(SETTINGS, **{"updates": 24, "metric": "bleu", **changes})
        self.models: dict[int, Mapping[str, Tensor]] = {}
        self.seen: dict[int, dict[str, Tensor]] = {}
        self.said: list[str] = []
        model = small()

        def publish(published: Mapping[str, Tensor], progress: Progress) -> None:
            self.models[progress.update] = published
            write(folder / "model.safetensors", published, {"provenance": "{}"})

        files = RunFolder(folder, self.settings, ALONE, publish=publish, say=self.said.append)
        self.loop = Loop(
            model, Regression(scores), self.settings, ALONE, files,
            on_update=lambda facts: self.seen.__setitem__(facts["update"], weights(model)),
        )  # fmt: skip
        with TrainingLog(folder, self.settings, self.loop.progress, console=Console(file=io.StringIO())) as log:
            self.loop.run(log)

    def mean(self, *updates: int) -> dict[str, Tensor]:
        return {
            name: (sum(self.seen[each][name].double() for each in updates) / len(updates)).float()
            for name in self.seen[updates[0]]
        }


def moving_average(
    seen: Mapping[int, Mapping[str, Tensor]], first: Mapping[str, Tensor], decay: float
) -> dict[str, Tensor]:
    """By its definition, in double precision."""
    mean = {name: tensor.double() for name, tensor in first.items()}
    for number in sorted(seen):
        share = min(decay, (1 + number) / (10 + number))
        mean = {name: share * each + (1 - share) * seen[number][name] for name, each in mean.items()}
    return mean


@pytest.mark.parametrize("decay", [0.5, 0.9])
def test_a_moving_average_is_what_it_is_called(tmp_path: Path, decay: float) -> None:
    done = Published(tmp_path, SINGLES, ema=decay)
    wanted = moving_average(done.seen, weights(small()), decay)
    assert done.loop.ema is not None
    for name, tensor in done.loop.ema.weights.items():
        torch.testing.assert_close(tensor.double(), wanted[name], rtol=1e-5, atol=1e-6)


def test_a_moving_average_takes_no_part_in_training(tmp_path: Path) -> None:
    one, _ = run(tmp_path / "with", ema=0.9)
    other, _ = run(tmp_path / "without", ema=0.0)
    assert equal(weights(one.model), weights(other.model))
    assert other.ema is None
    stored, _ = read(tmp_path / "without" / "checkpoints" / "last.safetensors")
    assert not [name for name in stored if name.startswith("ema.")]


def test_a_run_that_had_none_begins_one_where_it_goes_on(tmp_path: Path) -> None:
    before, _ = run(tmp_path, ema=0.0)
    after = loop(tmp_path, ema=0.9, updates=20)
    assert after.ema is not None
    assert equal(after.ema.weights, weights(before.model))


@pytest.mark.parametrize(
    ("keep", "last"),
    [("ema", 20), ("auto", 24), ("best", 12), ("mean", 12)],
)
def test_patience_waits_for_what_may_become_the_model(tmp_path: Path, keep: str, last: int) -> None:
    """Single weights are best at update 4, their moving average at update 12, or 16 if it is the better of both."""
    single, moving = [5.0, 4.0, 3.0, 2.0, 1.0, 1.0], [1.0, 2.0, 4.5, 4.0, 3.0, 1.0]
    if keep == "auto":
        moving[2:4] = [5.5, 6.0]
    measured = keep in ("ema", "auto")
    scores = [each for pair in zip(single, moving, strict=True) for each in pair] if measured else [*single]
    done = Published(
        tmp_path, [*scores[: last // 4 * (1 + measured)], 7.0, 7.0], keep=keep, ema=0.9, patience=2, updates=40
    )
    assert (done.loop.ended(), done.loop.progress.update) == ("patience", last)


@pytest.mark.parametrize(
    ("average", "ema", "kind", "updates"),
    [(10.0, 1.0, "mean", (20, 24)), (1.0, 10.0, "ema", (24,)), (1.0, 1.0, "best", (8,)), (10.0, 10.0, "mean", (20, 24)),
     (float("nan"), 1.0, "best", (8,))],
)  # fmt: skip
def test_the_best_of_all_becomes_the_model(
    tmp_path: Path, average: float, ema: float, kind: str, updates: tuple[int, ...]
) -> None:
    done = Published(tmp_path, [*SINGLES, average, ema])
    assert done.loop.progress.model == Choice(kind, updates, max(10.0 if kind != "best" else 9.0, 9.0))
    wanted = dict(done.loop.ema.weights) if kind == "ema" and done.loop.ema else done.mean(*updates)
    assert equal(dict(done.models[24] if kind != "best" else done.models[8]), wanted)
    assert list(done.models) == ([4, 8] if kind == "best" else [4, 8, 24]), "written when there is a better one"
    assert done.said[-1].startswith("the model is the ")
    assert len(done.said[-1].split(";")) == 2, "the others are told, too"


def test_the_last_is_called_so(tmp_path: Path) -> None:
    done = Published(tmp_path, [1.0, 2.0, 3.0], updates=12)
    assert done.loop.progress.model == Choice("last", (12,), 3.0)


@pytest.mark.parametrize(
    ("keep", "average_of", "kind", "updates"),
    [("mean", "last", "mean", (20, 24)), ("mean", "best", "mean", (8, 16)), ("ema", "last", "ema", (24,)),
     ("best", "last", "best", (8,)), ("last", "last", "last", (24,)), ("last", "best", "last", (24,))],
)  # fmt: skip
def test_what_is_asked_for_becomes_the_model(
    tmp_path: Path, keep: str, average_of: str, kind: str, updates: tuple[int, ...]
) -> None:
    done = Published(tmp_path, SINGLES, keep=keep, average_of=average_of)
    assert done.loop.progress.model is not None
    assert (done.loop.progress.model.weights, done.loop.progress.model.updates) == (kind, updates)


@pytest.mark.parametrize(("average_of", "update"), [("last", 24), ("best", 8)])
def test_the_mean_of_one_is_that_one(tmp_path: Path, average_of: str, update: int) -> None:
    done = Published(tmp_path, SINGLES, keep="mean", average=1, average_of=average_of)
    assert done.loop.progress.model is not None
    assert done.loop.progress.model.updates == (update,)


def test_going_on_after_the_end_writes_what_an_uninterrupted_run_does(tmp_path: Path) -> None:
    whole, _ = run(tmp_path / "whole", updates=24)
    run(tmp_path / "twice", updates=12)
    twice, _ = run(tmp_path / "twice", updates=24)
    assert whole.progress == twice.progress
    assert whole.ema is not None
    assert twice.ema is not None
    assert equal(whole.ema.weights, twice.ema.weights)


@pytest.mark.parametrize(("average", "ema"), [(10.0, 1.0), (1.0, 10.0), (1.0, 1.0)])
def test_a_lost_model_is_made_again(tmp_path: Path, average: float, ema: float) -> None:
    done = Published(tmp_path, [*SINGLES, average, ema])
    model = tmp_path / "model.safetensors"
    before, _ = read(model)
    before = {name: tensor.clone() for name, tensor in before.items()}
    model.unlink()
    again = Published(tmp_path, [])
    assert equal(dict(read(model)[0]), before)
    assert again.loop.progress.model == done.loop.progress.model


def test_a_moving_average_that_is_not_kept_cannot_become_the_model(recipe: Path) -> None:
    with pytest.raises(ConfigError, match=r"training\.keep = 'ema' needs .* training\.ema"):
        recipes.load(recipe, ["training.keep=ema", "training.ema=0"])


@pytest.mark.parametrize("keep", ["auto", "mean", "ema", "last"])
def test_the_score_in_the_file_is_that_of_the_model(recipe: Path, tmp_path: Path, keep: str) -> None:
    _, said = train(recipe, tmp_path / "run", f"training.keep={keep}", "training.metric=loss")
    trained = load_trained(tmp_path / "run")
    row = find_task(trained.recipe.task)
    settings = recipes.load(recipe)
    task = row.training(settings, prepare(settings, row.data, show=False), 1, torch.device("cpu"))
    with torch.inference_mode():
        found = task.validate(trained.model)["loss"]
    assert trained.provenance["validation"] == {"metric": "loss", "value": pytest.approx(found, abs=1e-5)}
    assert f"validation loss {found:.2f}" in said
    assert keep in ("auto", trained.provenance["weights"]["of"])
