"""One trial of an ablation: a row trained with one seed, in an ordinary run folder and a process of its own.

What is worth knowing of it is written once, when it is over; a trial without that file goes on where it stopped.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import threading
import traceback
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from multiprocessing import connection, parent_process
from pathlib import Path
from typing import Any

import torch
from rich.console import Console

from regard.config import Recipe, recipes
from regard.config.field import free_settings
from regard.errors import CheckpointError, RegardError, UsageError
from regard.experiments.ablation.rows import Row
from regard.files import replacing
from regard.run_log import read_metrics
from regard.runs import check_same_run, train
from regard.tasks.registry import count_parameters, find_task, prepare
from regard.tasks.task import Judge, Judged
from regard.tasks.trained import load_trained
from regard.training.run_folder import CONFIG

RESULT, LOG = "trial.json", "log.txt"
FORMER = {"texts": "answers"}  # what a trial of before called it
LENGTH = (
    "updates",
    "minutes",
    "patience",
)  # a run may go on with others, but rows trained for unequal times tell nothing


@dataclass(frozen=True, eq=False)  # a recipe holds dictionaries, so a trial is known by itself
class Trial:
    """A row and a seed."""

    row: Row
    seed: int
    folder: Path

    @property
    def recipe(self) -> Recipe:
        return replace(self.row.recipe, training=replace(self.row.recipe.training, seed=self.seed, threads=1))


@dataclass(frozen=True)
class Measured:
    """What came out of a trial."""

    parameters: int
    loss: float
    """Per token of the validation text, without label smoothing, of the model that the run left."""
    seconds: float
    """Spent on updates."""
    answers: list[Any]
    """To each example of the test set, as the task's judge counts them."""
    curve: list[tuple[int, float]] = field(default_factory=list)
    """The validation loss after so many updates."""


def judge_of(recipe: Recipe) -> Judge:
    """How runs of this recipe are compared."""
    judge = find_task(recipe.task).judge
    if judge is None:
        raise UsageError(f"runs of the task {recipe.task!r} cannot be compared: its row names no judge")
    return judge


def basis(trial: Trial, test_set: Judged, checksums: Mapping[str, str]) -> dict[str, Any]:
    """All that a trial's result rests on: with anything else it would have to be made again."""
    test = hashlib.sha256(json.dumps([test_set.sources, test_set.references]).encode()).hexdigest()
    return {"settings": _fixed(trial.recipe), "test": test, "text": dict(checksums)}


def _fixed(recipe: Recipe) -> dict[str, Any]:
    """All settings but those of the data that may change."""
    settings = recipes.to_dict(recipe)
    for key in free_settings(recipe.data):
        del settings["data"][key]
    return settings


def _as_now(basis: Mapping[str, Any]) -> dict[str, Any]:
    """A stored basis, with the defaults of settings that regard has since got."""
    return {**basis, "settings": _fixed(recipes.parse(basis["settings"]))}


def check(trial: Trial) -> None:
    """Refuse a folder that was begun with other settings, before hours are spent on the others."""
    check_same_run(trial.folder, trial.recipe)
    if (trial.folder / "checkpoints" / "last.safetensors").is_file():
        before, now = recipes.load(trial.folder / CONFIG, finished=True).training, trial.recipe.training
        for key in LENGTH:
            if getattr(before, key) != getattr(now, key):
                raise CheckpointError(
                    f"{trial.folder} was begun with training.{key} = {getattr(before, key)}, not {getattr(now, key)}, and "
                    "rows must be trained alike. Choose another folder with --run, delete this one, or set it back."
                )


def result_of(trial: Trial, basis: Mapping[str, Any]) -> Measured | str | None:
    """What a trial came to, or why it failed; None if neither is known."""
    try:
        content = json.loads((trial.folder / RESULT).read_text(encoding="utf-8"))
        if _as_now(content["basis"]) != basis:
            return None
        if "error" in content:
            return str(content["error"])
        return Measured(**{FORMER.get(name, name): value for name, value in content["measured"].items()})
    except (OSError, ValueError, KeyError, TypeError):
        return None


def work(trial: Trial, test_set: Judged, basis: Mapping[str, Any]) -> None:
    """The whole life of a trial's process. SIGTERM stops it politely, as it stops `regard train`."""
    if hasattr(os, "setpgrp"):
        os.setpgrp()  # Ctrl-C is for the parent, which passes it on once
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    run_trial(trial, test_set, basis)


def run_trial(trial: Trial, test_set: Judged, basis: Mapping[str, Any]) -> None:
    """Train, or go on, and write down what it came to; one that is interrupted leaves only its run folder."""
    trial.folder.mkdir(parents=True, exist_ok=True)
    (trial.folder / RESULT).unlink(missing_ok=True)
    content: dict[str, Any] = {"basis": basis}
    with (trial.folder / LOG).open("a", encoding="utf-8", buffering=1) as log:
        try:
            run = train(trial.recipe, run=trial.folder, show=Console(file=log, width=120))
            if run.reason == "interrupted":
                return
            content["measured"] = asdict(measure(trial, test_set, run.progress.seconds))
        except Exception as error:  # whatever it was, the other trials go on
            traceback.print_exc(file=log)
            content["error"] = str(error) if isinstance(error, RegardError) else repr(error)
    with replacing(trial.folder / RESULT) as temporary:
        temporary.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")


def measure(trial: Trial, test_set: Judged, seconds: float) -> Measured:
    """Look at the model that a finished run left."""
    recipe = trial.recipe
    trained = load_trained(trial.folder)
    task = find_task(recipe.task).training(recipe, prepare(recipe, show=False), 1, torch.device("cpu"))
    with torch.inference_mode():
        loss = task.validate(trained.model)["loss"]
    answers = judge_of(recipe).answers(trial.folder, test_set)
    lines = [line for line in read_metrics(trial.folder) if line.get("kind") == "valid" and "loss" in line]
    curve = [(int(line["update"]), float(line["loss"])) for line in lines]
    return Measured(count_parameters(recipe.model, *trained.assets.sizes), loss, seconds, answers, curve)


def _leave_with_parent() -> None:
    """A trial whose ablation was killed would go on, and meet the one that the next ablation starts in its folder."""
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)
