"""What a run keeps on disk: `checkpoints/last.safetensors` to go on from, and snapshots of weights that the model is made of.

`last` holds weights, optimizer, moving average and progress in one file, replaced atomically, so that a run killed at any moment goes
on from a state that existed. What it replaces stays as `previous`: if `last` is damaged or gone, the run goes on from there,
to the same bits.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

from regard.checkpoint import (
    MODEL,
    average,
    compare_checksum,
    open_tensors,
    replacing,
    unique_weights,
    write,
)
from regard.config import Training
from regard.errors import CheckpointError, DamagedError
from regard.files import remove_leftovers
from regard.training.averaging import (
    Choice,
    MovingAverage,
    Quality,
    Snapshot,
    averaged,
    best_so_far,
    candidates,
    needed,
)
from regard.training.distributed import Processes, whole
from regard.training.training_state import Progress, fill_from, optimizer_state, read_progress, snapshots_in, tensors_of

CONFIG = "config.toml"
MICRO_BATCHES = "micro-batches of an update (training.accumulate × processes)"
FORMER_BASIS = {"parts of an update (training.accumulate × processes)": MICRO_BATCHES}
"""What parts of the basis were called when model files had format 1, and are called now."""

Judge: TypeAlias = Callable[[Mapping[str, Tensor]], Quality]
"""Weights → how good they are on the validation data."""


class RunFolder:
    """Saves and restores a run.

    `basis` is what a position in the data means nothing without, such as checksums of the text, `fixed` the settings that
    decide what is computed: a run goes on only with the same. `publish(weights, progress)` is called with the weights
    of the model, when there are better ones, `say(text)` with what was lost and what became the model.
    """

    def __init__(
        self,
        path: Path,
        settings: Training,
        processes: Processes,
        basis: Mapping[str, str] = {},
        publish: Callable[[Mapping[str, Tensor], Progress], None] = lambda weights, progress: None,
        fixed: Mapping[str, str] = {},
        say: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.path = path / "checkpoints"
        self.settings, self.processes, self.basis, self.publish = settings, processes, dict(basis), publish
        self.fixed, self.say = dict(fixed), say
        self.saved = 0
        self.last_is_whole = False
        self.named: list[Path] = []  # snapshots that `last` tells of
        self.named_before: list[Path] = []  # … and `previous`
        if processes.first:
            make_folder(self.path)
            for folder in (path, self.path, path / "movie"):
                remove_leftovers(folder)

    @property
    def micro_batches(self) -> int | None:
        return int(self.basis[MICRO_BATCHES]) if MICRO_BATCHES in self.basis else None

    @property
    def last(self) -> Path:
        return self.path / "last.safetensors"

    @property
    def previous(self) -> Path:
        return self.path / "previous.safetensors"

    @property
    def model(self) -> Path:
        return self.path.parent / MODEL

    def snapshot(self, update: int) -> Path:
        return self.path / f"weights-{update:08d}.safetensors"

    def save(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        progress: Progress,
        ema: MovingAverage | None,
        *,
        snapshot: bool = False,
        judge: Judge | None = None,
    ) -> None:
        """Write a checkpoint, `last` after all that it tells of: a run killed in between does it again, the same.

        With a snapshot, the model is written if there is a better one; `judge` finds how good averages are, at the end.
        Snapshots that it does not need any more go when neither `last` nor `previous` names them.
        """
        if snapshot:
            before, new = progress.snapshots[:-1], progress.snapshots[-1:]
            progress.snapshots = needed([*self.whole_snapshots(before), *new], self.settings)
        weights = whole(unique_weights(model), self.processes)  # every process helps
        state = whole(optimizer_state(model, optimizer), self.processes)
        moving = whole(ema.weights, self.processes) if ema is not None else {}
        self.saved = progress.update
        if not self.processes.first:
            return
        kept = [self.snapshot(update) for update, _ in progress.snapshots]
        if snapshot:
            if self.snapshot(progress.update) in kept:
                write(self.snapshot(progress.update), weights, {"update": str(progress.update)})
            self.write_model(progress, moving, judge)
        tensors = {f"model.{name}": tensor for name, tensor in weights.items()}
        tensors |= {f"optimizer.{name}": tensor for name, tensor in state.items()}
        tensors |= {f"ema.{name}": tensor for name, tensor in moving.items()}
        told = {"progress": asdict(progress), "basis": self.basis, "fixed": self.fixed}
        previous = self.previous if self.last_is_whole else None  # a damaged one does not take the place of a whole one
        write(self.last, tensors, {name: json.dumps(each) for name, each in told.items()}, previous)
        if self.last_is_whole:
            self.named_before = self.named
        self.named, self.last_is_whole = kept, True
        self.forget_all_but([*kept, *self.named_before])

    def write_model(self, progress: Progress, moving: Mapping[str, Tensor], judge: Judge | None) -> None:
        """While training goes on the best weights so far, at its end the best of all; nothing if the file holds them."""
        if judge is None:
            best, *others = [best_so_far(progress.snapshots, self.settings)]
        else:
            best, *others = candidates(progress.snapshots, self.settings, progress.update, self.mean, moving, judge)
            sign = -1.0 if self.settings.metric == "loss" else 1.0
            told = "; ".join(f"{each}: {sign * each.value:.3f}" for each in others)
            self.say(
                f"the model is {best}, validation {self.settings.metric} {sign * best.value:.3f}"
                + f" ({told})" * bool(told)
            )
        if best != progress.model or not self.model.exists():
            progress.model = best
            self.publish(moving if best.weights == "ema" else self.mean(best.updates), progress)

    def mean(self, updates: Iterable[int]) -> dict[str, Tensor]:
        """Of snapshots."""
        return average(map(self.snapshot, updates))

    def keep_frame(self, update: int, probes: list[dict[str, Any]]) -> None:
        """Keep a frame of the movie; one that a killed run had taken already is replaced by the same."""
        if not probes:
            return
        movie = self.path.parent / "movie"
        make_folder(movie)
        with replacing(movie / f"{update:08d}.json") as temporary:
            temporary.write_text(json.dumps({"update": update, "probes": probes}, ensure_ascii=False), encoding="utf-8")

    def forget_all_but(self, kept: list[Path]) -> None:
        for old in set(self.path.glob("weights-*.safetensors")) - set(kept):
            try:
                old.unlink()
            except OSError as error:
                raise CheckpointError(f"cannot delete {old}, which is no longer needed: {error.strerror}") from None

    def restore(self, model: nn.Module, optimizer: torch.optim.Optimizer, ema: MovingAverage | None = None) -> Progress:
        """Fill model, optimizer and moving average from the newest whole checkpoint, if there is one."""
        damage: dict[Path, DamagedError] = {}
        for path in (self.last, self.previous):
            try:
                with open_tensors(path) as file:
                    metadata = compare_checksum(path, file)
                    self.check_same(path, metadata)
                    progress = read_progress(path, metadata, self.micro_batches)
                    fill_from(path, file, progress.update, model, optimizer, ema)
            except DamagedError as error:
                damage[path] = error
                continue
            self.saved, self.last_is_whole = progress.update, path == self.last
            self.named = [self.snapshot(update) for update, _ in progress.snapshots]
            if damage:
                self.say(f"{damage[self.last]}\n{self.lost(progress.update)}")
            if self.processes.first:
                self.mend(progress, path)
            return progress
        self.require_nothing_lost(list(damage.values()))
        return Progress()

    def lost(self, update: int) -> str:
        """What going on from `previous` costs: to the update that `last` still tells of, or else to when it was due."""
        try:
            with open_tensors(self.last) as file:
                until, at_most = int(json.loads((file.metadata() or {})["progress"])["update"]), ""
        except (CheckpointError, KeyError, TypeError, ValueError, RecursionError):
            every = [each for each in (self.settings.checkpoint_every, self.settings.validate_every) if each]
            until, at_most = min([update - update % each + each for each in every], default=update), "at most "
        count = f"{at_most}{until - update:,} updates are" if until > update else "what came after it is"
        return f"Going on from {self.previous} of update {update:,}: {count} computed again, to the same numbers."

    def require_nothing_lost(self, damage: list[DamagedError]) -> None:
        """Begin anew only where nothing was: a model or snapshots of a training that cannot go on would be overwritten."""
        run, snapshots = self.path.parent, len(list(self.path.glob("weights-*.safetensors")))
        advice = (
            f"Nothing was overwritten. Put back a copy of {self.last.name} or {self.previous.name}, delete {run} to begin anew, "
            "or choose another folder with --run"
        )
        if self.last.exists() or self.previous.exists():
            told = " ".join(f"{str(each).rstrip('.')}." for each in damage)
            raise CheckpointError(f"no checkpoint in {self.path} is whole. {told} {advice}")
        # Killed while it wrote its first checkpoint, a run has one snapshot, and perhaps a model of it.
        if snapshots > 1 or (self.model.exists() and not snapshots):
            raise CheckpointError(f"{run} holds a model or snapshots, but {self.last} is gone. {advice}")
        if (run / CONFIG).exists():
            self.say(f"{run} was begun before, but has no checkpoint {self.last.name}: training begins anew")

    def mend(self, progress: Progress, checkpoint: Path) -> None:
        """Make what is damaged or gone beside a whole checkpoint again, as far as possible; say what is not."""
        newest = self.snapshot(progress.update)
        if newest in self.named and problem_with(
            newest, progress.update
        ):  # a checkpoint and its snapshot hold the same weights
            write(newest, tensors_of("model", checkpoint), {"update": str(progress.update)})
        progress.snapshots = self.whole_snapshots(progress.snapshots)
        self.named = [self.snapshot(update) for update, _ in progress.snapshots]
        self.named_before = self.named if not self.last_is_whole else snapshots_in(self.previous, self.snapshot)
        self.forget_all_but([*self.named, *self.named_before])
        if self.named and (problem := problem_with(self.model, wanted="provenance")):
            self.say(f"{problem}\n{self.model} is made again from the snapshots.")
            self.make_model_again(progress, checkpoint)

    def make_model_again(self, progress: Progress, checkpoint: Path) -> None:
        """As it was, or if what it was made of is gone, of the best weights that there are."""
        there = {update for update, _ in progress.snapshots}
        was = progress.model or Choice(
            "mean", tuple(update for update, _ in averaged(progress.snapshots, self.settings)), 0.0
        )
        if was.weights == "ema" and was.updates == (progress.update,):
            weights = tensors_of("ema", checkpoint)
        elif was.weights != "ema" and there.issuperset(was.updates):
            weights = self.mean(was.updates)
        else:
            was = progress.model = best_so_far(progress.snapshots, self.settings)
            weights = self.mean(was.updates)
        self.publish(weights, progress)

    def whole_snapshots(self, snapshots: list[Snapshot]) -> list[Snapshot]:
        """Those that an average can be made of. The others are told, and missing from it."""
        if not self.processes.first:
            return snapshots
        problems = {update: problem_with(self.snapshot(update), update) for update, _ in snapshots}
        kept = [(update, quality) for update, quality in snapshots if problems[update] is None]
        for update, problem in problems.items():
            if problem is not None:
                self.say(f"{problem}\nThe average goes on without the snapshot of update {update:,}, of {len(kept)}.")
        return kept

    def check_same(self, path: Path, metadata: Mapping[str, str]) -> None:
        """Go on only on the data and with the settings that a checkpoint was made with."""
        try:
            told = {name: json.loads(metadata.get(name, "{}")) for name in ("basis", "fixed")}
            basis = {FORMER_BASIS.get(name, name): each for name, each in told["basis"].items()}
            pairs = (("with other settings", told["fixed"], self.fixed), ("on other data", basis, self.basis))
            changed = {kind: differences(before, now) for kind, before, now in pairs}
        except (TypeError, ValueError, AttributeError, RecursionError) as error:
            raise DamagedError(f"{path} does not tell what it was begun with ({error!r})") from None
        for kind, found in changed.items():
            if found:
                raise CheckpointError(
                    f"{self.path.parent} was begun {kind} ({'; '.join(found)}). "
                    "Choose another folder with --run, delete this one, or set it back."
                )


def make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CheckpointError(f"cannot make {folder}: {error.strerror}; choose another folder with --run") from None


def differences(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """What has changed; what was not written down then has not."""
    return [f"{name}: {before[name]} → {value}" for name, value in now.items() if before.get(name, value) != value]


def problem_with(path: Path, update: int | None = None, wanted: str = "") -> str | None:
    """Why a file cannot be used, if it cannot: it is damaged, no snapshot of this update, or tells nothing of what is wanted."""
    try:
        with open_tensors(path) as file:
            metadata = compare_checksum(path, file)
    except CheckpointError as error:
        return str(error)
    if update is not None and metadata.get("update") != str(update):
        return f"{path} is another file: no snapshot of update {update:,}."
    return f"{path} is another file: it has no {wanted}." if wanted and wanted not in metadata else None
