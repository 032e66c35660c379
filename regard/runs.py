"""Recipe → run folder: prepare, build, train, average. Where the stages meet for training."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any
from uuid import uuid4

import torch
from rich.console import Console
from torch import Tensor, nn

import regard
from regard import __version__, config, load
from regard.allocator import keep_memory
from regard.checkpoint import MODEL, load_weights, replacing
from regard.config import recipes
from regard.config.field import free_settings
from regard.config.paths import inside, without_paths
from regard.data.prepare import Prepared, prepare
from regard.errors import CheckpointError, UsageError
from regard.files import alone_in
from regard.run_log import read_metrics
from regard.tasks.registry import count_parameters, find_task
from regard.tasks.starting import Start, freeze, read_start
from regard.tasks.task import Task
from regard.tasks.trained import save_trained
from regard.training.distributed import Processes, equip, find_device, joined
from regard.training.log import TrainingLog, require_tensorboard
from regard.training.loop import Listener, Loop, Outcome
from regard.training.memory import require_memory
from regard.training.run_folder import CONFIG, MICRO_BATCHES, RunFolder, differences, problem_with
from regard.training.training_state import Progress, settings_of_checkpoint
from regard.view.curve import load_curve, write_curves

# When this file is imported: what cannot be told should be said before training, not after.
VERSIONS = {"regard": __version__, **{name: version(name) for name in ("torch", "sentencepiece", "numpy")}}


class Run:
    """A run folder, as `regard.train` left it."""

    def __init__(self, folder: Path, recipe: config.Recipe, outcome: Outcome) -> None:
        self.folder, self.recipe, self.outcome = folder, recipe, outcome

    @property
    def reason(self) -> str:
        """Why training ended: `done`, `time`, `patience` or `interrupted`."""
        return self.outcome.reason

    @property
    def progress(self) -> Progress:
        """How far it came: its updates, seconds and best validation."""
        return self.outcome.progress

    @property
    def first(self) -> bool:
        """Whether this process is the one that reports; of several under torchrun, one is."""
        return self.outcome.first

    @cached_property
    def model(self) -> Any:
        """What `regard.load` returns for the folder, loaded when first asked for; there is one after the first validation."""
        return load(self.folder)

    @property
    def metrics(self) -> list[dict[str, Any]]:
        """A record for every 50 updates and one for every validation, such as pandas.DataFrame takes."""
        return read_metrics(self.folder)

    def evaluate(self) -> Any:
        """The scores of the model on each test set of the recipe, by name."""
        return regard.evaluate(self.folder)

    def view(self, text: str) -> Any:
        """What the model attends to at a text; a notebook shows it."""
        return regard.view(self.folder, text)

    def page(self, path: str | Path | None = None) -> Path:
        """Write a page of how it learned, into the folder unless told where → its path."""
        path = self.folder / "curve.html" if path is None else Path(path)
        write_curves(path, [load_curve(self.folder)])
        return path

    def __repr__(self) -> str:
        return f"Run({str(self.folder)!r}, {self.reason!r} at update {self.progress.update:,})"


def train(
    recipe: config.Recipe | str | Path | Mapping[str, Any],
    *,
    data: str | Path | None = None,
    run: str | Path | None = None,
    overrides: Mapping[str, Any] | Iterable[str] = (),
    on_update: Listener | None = None,
    on_validation: Listener | None = None,
    show: bool | Console = True,
) -> Run:
    """Train a recipe, or go on where its run folder stopped: `regard.train("my.toml").model.translate("Hallo.")`.

    The recipe is a TOML file, its tables as nested dictionaries, or a Recipe. `data` is the folder of its files, `run` the
    run folder (`runs/NAME`), `overrides` are settings such as `{"model.heads": 4}` or `["model.heads=4"]`. `show` tells how
    it goes, as a bar in a terminal or a notebook; a Console says where.

    `on_update(facts)` hears of every update and `on_validation(metrics)` of every validation, in the first process. What
    they raise ends training as Ctrl-C does, after one more update and a checkpoint, and is raised then.

    Ctrl-C (in a notebook, to interrupt the kernel) finishes the update, writes a checkpoint and returns a Run whose reason
    is `interrupted`; the same call goes on. Signals reach only the main thread: in another, raise KeyboardInterrupt in
    `on_update`.
    """
    console = show if isinstance(show, Console) else Console(quiet=not show)
    with joined() as processes, ExitStack() as held:
        with processes.together() as facts:
            settings = recipes.read(recipe, overrides, data)
            require_tensorboard(settings.training)
            device = find_device(settings.training)
            facts |= identity(settings, processes, device.type)
        folder = Path("runs") / settings.name if run is None else Path(run)
        processes = equip(processes, settings.training, device)
        keep_memory()
        enter_folder(folder, settings, processes, held)
        outcome = _train(settings, folder, processes, console, on_update, on_validation)
    return Run(folder, settings, outcome)


def _train(
    recipe: config.Recipe,
    folder: Path,
    processes: Processes,
    console: Console,
    on_update: Listener | None = None,
    on_validation: Listener | None = None,
) -> Outcome:
    """Under torchrun, every process calls this."""
    settings = recipe.training

    def say(text: str) -> None:
        if processes.first:
            console.print(text, highlight=False, markup=False, soft_wrap=True)

    row = find_task(recipe.task)

    def publish(weights: Mapping[str, Tensor], progress: Progress) -> None:
        def published() -> nn.Module:
            filled = row.build(recipe.model, prepared.assets.sizes)
            load_weights(filled, weights, folder / MODEL)
            return filled.to(processes.device).eval()

        finished = trainable.finish(published)
        origin = {**provenance(recipe, prepared, progress), **finished.provenance}
        if start is not None:
            origin["start"] = start.ancestry
        save_trained(folder / MODEL, {**weights, **finished.weights}, recipe, finished.assets, origin)

    with processes.together():
        require_room(recipe, row.dry_run.sizes(recipe), processes)  # a guess, before an hour of preparing
    with processes.together() as facts:
        start = read_start(recipe)
        facts["training.start"] = start.checksum if start is not None else ""
    prepared = prepare_once(recipe, row, processes, console, start)
    say("\n".join([*filter(None, [prepared.note]), *prepared.report.lines()]))
    micro_batches = settings.accumulate * processes.count
    with processes.together():
        require_room(recipe, prepared.assets.sizes, processes)
        model, taken = initial_model(recipe, row, prepared, start)
        trainable = row.training(recipe, prepared, micro_batches, processes.device)
        run_folder = RunFolder(
            folder, settings, processes, basis(prepared, micro_batches, start), publish, fixed_settings(recipe), say
        )
    parameters = sum(parameter.numel() for parameter in model.parameters())
    say(f"model  {recipe.model.architecture}, {parameters:,} parameters, on {processes.device}")
    for line in taken:
        say(line)
    with processes.together() as facts:
        loop = Loop(model, trainable, settings, processes, run_folder, on_update=on_update, on_validation=on_validation)
        facts["last update"] = loop.progress.update
    return _go_on(loop, recipe, folder, console, say)


def _go_on(loop: Loop, recipe: config.Recipe, folder: Path, console: Console, say: Callable[[str], None]) -> Outcome:
    """From the last checkpoint to the end, if that is not reached yet."""
    settings, first, done = recipe.training, loop.processes.first, loop.progress.update
    if ended := loop.ended():
        say(f"nothing is left to do: this run ended at update {done:,}. With more updates or patience it goes on.")
        return Outcome(ended, loop.progress, seconds=0.0, first=first)
    if done:
        say(f"going on after update {done:,} of {settings.updates:,}")
    if first:
        with replacing(folder / CONFIG) as temporary:
            temporary.write_text(recipes.to_toml(recipe), encoding="utf-8")
    with TrainingLog(folder, settings, loop.progress, console=console, active=first, unit=loop.task.unit) as log:
        return loop.run(log)


def initial_model(
    recipe: config.Recipe, row: Task, prepared: Prepared, start: Start | None = None
) -> tuple[nn.Module, list[str]]:
    """The model before the first update, the same in every process: its weights follow from the seed, and from the model
    that it starts from → and what was taken from there, in words."""
    torch.manual_seed(recipe.training.seed)
    model = row.build(recipe.model, prepared.assets.sizes)
    taken = [] if start is None else start.fill(model, row, prepared.assets)
    return model, taken + freeze(model, recipe.training.freeze)


def require_room(recipe: config.Recipe, sizes: Iterable[int], processes: Processes) -> None:
    """Refuse a model that cannot be in memory; with sharding, the processes share it."""
    parts = processes.count if recipe.training.sharding == "full" else 1
    require_memory(count_parameters(recipe.model, *sizes), processes.device, parts, ema=bool(recipe.training.ema))


def make_folder(folder: Path) -> None:
    """Before preparing, which may take long."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the run folder {folder}: {error.strerror}; choose another with --run") from None


def identity(recipe: config.Recipe, processes: Processes, device: str) -> dict[str, Any]:
    """What must be the same in all processes before anything is read; where each keeps its files may differ."""
    versions = {"python": ".".join(platform.python_version_tuple()[:2]), **VERSIONS}
    settings = recipes.to_dict(without_paths(recipe))
    named = {
        f"{section}.{name}": value
        for section, content in settings.items()
        for name, value in (content.items() if isinstance(content, dict) else [])
        if name not in ("threads", "device")
    }
    return {**versions, "task": recipe.task, "processes": processes.count, "device": device, **named}


def enter_folder(folder: Path, recipe: config.Recipe, processes: Processes, held: ExitStack) -> None:
    """Check that a run folder is this run's, nobody else's, and one and the same for all processes."""
    mark = folder / f"shared-{uuid4().hex}.{os.getpid()}.tmp"  # a leftover, if this is killed
    try:
        with processes.together():
            check_same_run(folder, recipe)
            if processes.first:
                make_folder(folder)
                held.enter_context(alone_in(folder))
                if processes.count > 1:
                    mark.touch()
        name, place = processes.share((mark.name, str(folder.resolve())))
        with processes.together():
            if processes.count > 1 and not (folder / name).exists():
                raise UsageError(
                    f"the run folder {folder.resolve()} is not that of process 0 ({place} on {processes.hosts[0]}), which "
                    "writes the checkpoints for all. Put it on a disk that all machines share, and name it with --run"
                )
    finally:
        with suppress(OSError):  # what went wrong before is worth more
            mark.unlink()


def prepare_once(
    recipe: config.Recipe, row: Task, processes: Processes, console: Console, start: Start | None = None
) -> Prepared:
    """The first process prepares; the others open what it made, or make it again where they do not share it."""
    tokenizer = start.tokenizer if start is not None else None
    with processes.together():
        if processes.first:
            show = sys.stderr.isatty() and not console.quiet
            prepared = prepare(recipe, row.data, show=show, tokenizer=tokenizer)
    with processes.together() as facts:
        if not processes.first:
            prepared = prepare(recipe, row.data, show=False, tokenizer=tokenizer)
        checksums = {inside(name): checksum for name, checksum in prepared.checksums.items()}
        facts |= basis(replace(prepared, checksums=checksums), recipe.training.accumulate * processes.count)
    return prepared


def basis(prepared: Prepared, micro_batches: int, start: Start | None = None) -> dict[str, str]:
    """What a position in the data rests on: the data, what was made of it, how updates are cut, and where it began."""
    assets = {
        name: hashlib.sha256(json.dumps(each).encode()).hexdigest()[:12]
        for name, each in prepared.assets.write().content.items()
    }
    return {
        MICRO_BATCHES: str(micro_batches),
        **({} if start is None else {"the model of training.start": start.checksum[:12]}),
        **assets,
        **{f"sha256 of {name}": checksum[:12] for name, checksum in prepared.checksums.items()},
    }


def fixed_settings(recipe: config.Recipe) -> dict[str, str]:
    """Those that a run cannot go on with others of."""
    return {
        f"{section}.{key}": json.dumps(value, ensure_ascii=False)
        for section, content in recipes.to_dict(recipe).items()
        if isinstance(content, dict)
        for key, value in content.items()
        if key not in free_settings(getattr(recipe, section))
    }


def check_same_run(folder: Path, recipe: config.Recipe) -> None:
    """A folder goes on only with the recipe that began it: what its checkpoint says, or of an old one the recipe beside it.
    Checked before anything is prepared; what seems to be changed in a damaged checkpoint, its restoring decides."""
    path, last = folder / CONFIG, folder / "checkpoints" / "last.safetensors"
    if not last.is_file():
        return
    before = settings_of_checkpoint(folder)
    if before is None:
        before = fixed_settings(recipes.load(path, finished=True)) if path.is_file() else {}
    changed = differences(before, fixed_settings(recipe))
    if changed and problem_with(last) is None:
        raise CheckpointError(
            f"{folder} was begun with other settings ({'; '.join(changed)}). "
            "Choose another folder with --run, delete this one, or set them back."
        )


def provenance(recipe: config.Recipe, prepared: Prepared, progress: Progress) -> dict[str, Any]:
    """Where a model comes from: stored in its file."""
    metric, model = recipe.training.metric, progress.model
    return {
        "versions": VERSIONS,
        "python": platform.python_version(),
        "seed": recipe.training.seed,
        "updates": progress.update,
        "weights": model and {"of": model.weights, "updates": model.updates},
        "validation": model and {"metric": metric, "value": -model.value if metric == "loss" else model.value},
        "training_examples": len(prepared.train),
        "data": {inside(name): checksum for name, checksum in prepared.checksums.items()},
        "scores": {},
    }
