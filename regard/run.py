"""Recipe → run folder: prepare, build, train, average. Where the stages meet for training."""

from __future__ import annotations

import platform
from copy import deepcopy
from dataclasses import fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from torch import Tensor

from regard import config
from regard.checkpoint import MODEL, save_model
from regard.data.prepare import Prepared, prepare
from regard.errors import CheckpointError
from regard.models.build import Model, build
from regard.tasks.translate import TranslationTask
from regard.training.diary import Diary
from regard.training.distributed import Workers, join
from regard.training.loop import Loop, Outcome
from regard.training.run_folder import Progress, RunFolder

# Settings that may change when a run goes on: they do not touch what was computed so far.
MAY_CHANGE = {
    "training": {"updates", "patience", "threads", "device", "tensorboard", "checkpoint_every", "compile", "sharding"},
    "data": {"folder", "test", "download", "prepared"},
    "decoding": {field.name for field in fields(config.Decoding)},
}


def train(recipe: config.Recipe, folder: Path, console: Console) -> Outcome:
    """Train a recipe in a folder, or go on where the folder stopped. Under torchrun, every process calls this."""
    workers = join(recipe.training)
    try:
        say = console.print if workers.first else (lambda *_, **__: None)
        check_same_run(folder, recipe)
        prepared = prepare_once(recipe, workers, console)
        if workers.first:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "config.toml").write_text(config.to_toml(recipe), encoding="utf-8")
        model = initial_model(recipe, prepared).to(workers.device)
        parameters = sum(parameter.numel() for parameter in model.parameters())
        say(f"model  {recipe.model.architecture}, {parameters:,} parameters, on {workers.device}", highlight=False)
        task = TranslationTask(recipe, prepared, recipe.training.accumulate * workers.count, workers.device)

        def publish(weights: dict[str, Tensor], progress: Progress) -> None:
            save_model(folder / MODEL, weights, recipe, prepared.tokenizer, provenance(recipe, prepared, progress))

        run_folder = RunFolder(folder, recipe.training, workers, publish)
        if recipe.training.sharding == "full":
            run_folder.blank = deepcopy(model)
        loop = Loop(model, task, recipe.training, workers, run_folder)
        if loop.progress.update:
            say(f"going on after update {loop.progress.update:,} of {recipe.training.updates:,}", highlight=False)
        with Diary(folder, recipe.training, loop.progress.update, console=console, active=workers.first) as diary:
            return loop.run(diary)
    finally:
        workers.close()


def initial_model(recipe: config.Recipe, prepared: Prepared) -> Model:
    """The untrained model, the same in every process: its weights follow from the seed."""
    torch.manual_seed(recipe.training.seed)
    return build(recipe.model, prepared.tokenizer.size("source"), prepared.tokenizer.size("target"))


def prepare_once(recipe: config.Recipe, workers: Workers, console: Console) -> Prepared:
    """The first process prepares and reports; the others open what it made."""
    if workers.first:
        prepared = prepare(recipe, show=True)
        for line in prepared.report.lines():
            console.print(line, highlight=False)
    workers.share(None)  # wait for the first
    return prepared if workers.first else prepare(recipe, show=False)


def check_same_run(folder: Path, recipe: config.Recipe) -> None:
    """A folder goes on only with the recipe that began it."""
    path = folder / "config.toml"
    if not path.is_file() or not (folder / "checkpoints" / "last.safetensors").is_file():
        return
    before, now = config.to_dict(config.load(path)), config.to_dict(recipe)
    changed = [
        f"{section}.{key}: {before[section].get(key)!r} → {value!r}"
        for section, content in now.items()
        if isinstance(content, dict)
        for key, value in content.items()
        if key not in MAY_CHANGE.get(section, set()) and before[section].get(key) != value
    ]
    if changed:
        raise CheckpointError(
            f"{folder} was begun with other settings ({'; '.join(changed)}). "
            "Choose another folder with --run, delete this one, or set them back."
        )


def provenance(recipe: config.Recipe, prepared: Prepared, progress: Progress) -> dict[str, Any]:
    """Where a model comes from: stored in its file."""
    lengths = prepared.train.lengths
    return {
        "versions": {name: version(name) for name in ("regard", "torch", "sentencepiece", "numpy")},
        "python": platform.python_version(),
        "seed": recipe.training.seed,
        "updates": progress.update,
        "averaged": [update for update, _ in progress.snapshots],
        "best": {"metric": recipe.training.metric, "value": progress.best, "update": progress.best_update},
        "training_pairs": len(prepared.train),
        # All but one in a thousand sources are at most this long: what the model can be trusted with.
        "source_pieces": int(np.quantile(lengths[:, 0], 0.999)),
        "data": {Path(name).name: checksum for name, checksum in prepared.checksums.items()},
        "scores": {},
    }
