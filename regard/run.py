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

from regard import __version__, config, recipes
from regard.checkpoint import MODEL, load_weights, replacing, save_model, sizes_of, without_paths
from regard.data.prepare import Prepared, prepare
from regard.errors import CheckpointError, UsageError
from regard.files import alone_in
from regard.memory import keep_memory
from regard.models.build import build
from regard.tasks.table import TASKS
from regard.training.diary import Diary, require_tensorboard
from regard.training.distributed import Workers, join
from regard.training.loop import Loop, Outcome
from regard.training.run_folder import Progress, RunFolder

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

    def publish(weights: dict[str, Tensor], progress: Progress) -> None:
        def averaged() -> nn.Module:
            filled = build(recipe.model, *sizes_of(recipe, prepared.tokenizer, prepared.labels))
            load_weights(filled, weights, folder / MODEL)
            return filled.to(workers.device).eval()

        origin, extras = provenance(recipe, prepared, progress), task.extras(averaged)
        weights = {**weights, **extras.weights}
        save_model(
            folder / MODEL, weights, recipe, prepared.tokenizer, origin, lexicon=extras.lexicon, facts=extras.facts
        )

    try:
        check_same_run(folder, recipe)
        make_folder(folder)
        with alone_in(folder) if workers.first else nullcontext():
            prepared = prepare_once(recipe, workers)
            say("\n".join(prepared.report.lines()))
            model = initial_model(recipe, prepared)
            parameters = sum(parameter.numel() for parameter in model.parameters())
            say(f"model  {recipe.model.architecture}, {parameters:,} parameters, on {workers.device}")
            parts = settings.accumulate * workers.count
            task = TASKS[recipe.task].training(recipe, prepared, parts, workers.device)
            run_folder = RunFolder(folder, settings, workers, basis(prepared, parts), publish)
            loop = Loop(model, task, settings, workers, run_folder)
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
            with Diary(folder, settings, loop.progress, console=console, active=workers.first, unit=task.unit) as diary:
                return loop.run(diary)
    except Exception as error:
        workers.report(error)
        raise
    finally:
        workers.close()


def initial_model(recipe: config.Recipe, prepared: Prepared) -> nn.Module:
    """The untrained model, the same in every process: its weights follow from the seed."""
    torch.manual_seed(recipe.training.seed)
    return build(recipe.model, *sizes_of(recipe, prepared.tokenizer, prepared.labels))


def make_folder(folder: Path) -> None:
    """Before preparing, which may take long."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the run folder {folder}: {error.strerror}; choose another with --run") from None


def prepare_once(recipe: config.Recipe, workers: Workers) -> Prepared:
    """The first process prepares; the others open what it made."""
    if workers.first:
        prepared = prepare(recipe, show=sys.stderr.isatty())
    workers.share(None)  # wait for the first
    return prepared if workers.first else prepare(recipe, show=False)


def basis(prepared: Prepared, parts: int) -> dict[str, str]:
    """What a position in the data rests on: the text, its pieces and how updates are cut."""
    tokenizer = hashlib.sha256(json.dumps(prepared.tokenizer.to_dict()).encode()).hexdigest()
    return {
        "parts of an update (training.accumulate × processes)": str(parts),
        "tokenizer": tokenizer[:12],
        **{f"sha256 of {name}": checksum[:12] for name, checksum in prepared.checksums.items()},
    }


def check_same_run(folder: Path, recipe: config.Recipe) -> None:
    """A folder goes on only with the recipe that began it."""
    path = folder / CONFIG
    if not path.is_file() or not (folder / "checkpoints" / "last.safetensors").is_file():
        return
    before, now = recipes.to_dict(recipes.load(path)), recipes.to_dict(recipe)
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
        "training_pairs": len(prepared.train),
        # All but one in a thousand sources are at most this long: what the model can be trusted with.
        "source_pieces": int(np.quantile(lengths[:, 0], 0.999)),
        "data": without_paths(prepared.checksums),
        "scores": {},
    }
