"""Recipe → run folder: prepare, build, train, average. Where the stages meet for training."""

from __future__ import annotations

import hashlib
import json
import platform
import sys
from contextlib import nullcontext
from dataclasses import fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from torch import Tensor, nn

from regard import __version__, config
from regard.allocator import keep_memory
from regard.checkpoint import MODEL, load_weights, replacing
from regard.config import recipes
from regard.data.prepare import Prepared, prepare
from regard.errors import CheckpointError, UsageError
from regard.files import alone_in
from regard.tasks.registry import find_task
from regard.tasks.task import Task
from regard.tasks.trained import save_trained
from regard.training.diary import Diary, require_tensorboard
from regard.training.distributed import Workers, join
from regard.training.loop import Loop, Outcome
from regard.training.run_folder import MICRO_BATCHES, Progress, RunFolder

CONFIG = "config.toml"
# When this file is imported: what cannot be told should be said before training, not after.
VERSIONS = {"regard": __version__, **{name: version(name) for name in ("torch", "sentencepiece", "numpy")}}

# Settings that may change when a run goes on: they do not touch what was computed so far. `accumulate` may as long as
# an update keeps its number of parts (see `basis`): two processes can take over from one that accumulates two parts.
MAY_CHANGE = {
    "training": {
        "updates", "minutes", "patience", "threads", "device", "tensorboard", "checkpoint_every", "compile", "sharding",
        "accumulate", "probes", "probe_every",
    },
    "data": {"folder", "test", "download", "prepared"},
    "decoding": {field.name for field in fields(config.Decoding)},
}  # fmt: skip


def train(recipe: config.Recipe, folder: Path, console: Console) -> Outcome:
    """Train a recipe in a folder, or go on where the folder stopped. Under torchrun, every process calls this."""
    settings = recipe.training
    require_tensorboard(settings)
    workers = join(settings)
    keep_memory()

    def say(text: str) -> None:
        if workers.first:
            console.print(text, highlight=False, markup=False, soft_wrap=True)

    row = find_task(recipe.task)

    def publish(weights: dict[str, Tensor], progress: Progress) -> None:
        def averaged() -> nn.Module:
            filled = row.build(recipe.model, prepared.assets.sizes)
            load_weights(filled, weights, folder / MODEL)
            return filled.to(workers.device).eval()

        finished = trainable.finish(averaged)
        origin = provenance(recipe, prepared, progress)
        save_trained(folder / MODEL, {**weights, **finished.weights}, recipe, finished.assets, origin)

    try:
        check_same_run(folder, recipe)
        make_folder(folder)
        with alone_in(folder) if workers.first else nullcontext():
            prepared = prepare_once(recipe, row, workers)
            say("\n".join(prepared.report.lines()))
            model = initial_model(recipe, row, prepared)
            parameters = sum(parameter.numel() for parameter in model.parameters())
            say(f"model  {recipe.model.architecture}, {parameters:,} parameters, on {workers.device}")
            micro_batches = settings.accumulate * workers.count
            trainable = row.training(recipe, prepared, micro_batches, workers.device)
            run_folder = RunFolder(folder, settings, workers, basis(prepared, micro_batches), publish)
            loop = Loop(model, trainable, settings, workers, run_folder)
            done, ended = loop.progress.update, loop.ended()
            if ended:
                say(
                    f"nothing is left to do: this run ended at update {done:,}. With more updates or patience it goes on."
                )
                return Outcome(ended, loop.progress, seconds=0.0, first=workers.first)
            if done:
                say(f"going on after update {done:,} of {settings.updates:,}")
            if workers.first:
                with replacing(folder / CONFIG) as temporary:
                    temporary.write_text(recipes.to_toml(recipe), encoding="utf-8")
            with Diary(
                folder, settings, loop.progress, console=console, active=workers.first, unit=trainable.unit
            ) as diary:
                return loop.run(diary)
    except Exception as error:
        workers.report(error)
        raise
    finally:
        workers.close()


def initial_model(recipe: config.Recipe, row: Task, prepared: Prepared) -> nn.Module:
    """The untrained model, the same in every process: its weights follow from the seed."""
    torch.manual_seed(recipe.training.seed)
    return row.build(recipe.model, prepared.assets.sizes)


def make_folder(folder: Path) -> None:
    """Before preparing, which may take long."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the run folder {folder}: {error.strerror}; choose another with --run") from None


def prepare_once(recipe: config.Recipe, row: Task, workers: Workers) -> Prepared:
    """The first process prepares; the others open what it made."""
    if workers.first:
        prepared = prepare(recipe, row.data, show=sys.stderr.isatty())
    workers.share(None)  # wait for the first
    return prepared if workers.first else prepare(recipe, row.data, show=False)


def basis(prepared: Prepared, micro_batches: int) -> dict[str, str]:
    """What a position in the data rests on: the data, what was made of it, and how updates are cut."""
    assets = {
        name: hashlib.sha256(json.dumps(each).encode()).hexdigest()[:12]
        for name, each in prepared.assets.write().content.items()
    }
    return {
        MICRO_BATCHES: str(micro_batches),
        **assets,
        **{f"sha256 of {name}": checksum[:12] for name, checksum in prepared.checksums.items()},
    }


def check_same_run(folder: Path, recipe: config.Recipe) -> None:
    """A folder goes on only with the recipe that began it."""
    path = folder / CONFIG
    if not path.is_file() or not (folder / "checkpoints" / "last.safetensors").is_file():
        return
    before, now = recipes.to_dict(recipes.load(path, finished=True)), recipes.to_dict(recipe)
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
    lengths, metric, best = prepared.train.lengths, recipe.training.metric, progress.best
    return {
        "versions": VERSIONS,
        "python": platform.python_version(),
        "seed": recipe.training.seed,
        "updates": progress.update,
        "averaged": [update for update, _ in progress.snapshots],
        "best": {
            "metric": metric,
            "value": -best if best and metric == "loss" else best,
            "update": progress.best_update,
        },
        "training_examples": len(prepared.train),
        # All but one in a thousand sources are at most this long: what the model can be trusted with.
        "source_tokens": int(np.quantile(lengths[:, 0], 0.999)),
        "data": {recipes.inside(name): checksum for name, checksum in prepared.checksums.items()},
        "scores": {},
    }
