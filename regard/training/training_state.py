"""The state of a training in one file, from which it can go on: weights, Adam's moments, the moving average, and how far it has
come."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from regard.checkpoint import open_tensors, present_name, read, unique_weights
from regard.errors import CheckpointError, DamagedError
from regard.training.averaging import Choice, MovingAverage, Quality, Snapshot
from regard.training.distributed import fill

MOMENTS = ("exp_avg", "exp_avg_sq")


@dataclass
class Progress:
    """How far training has come; all that must be saved besides tensors."""

    update: int = 0
    position: tuple[int, int] = (0, 0)
    """Epoch and number of the next batch in it."""
    best: Quality | None = None
    best_update: int = 0
    since_best: int = 0
    """Validations since the best one."""
    snapshots: list[Snapshot] = field(default_factory=list)
    """Every snapshot kept on disk."""
    model: Choice | None = None
    """Which weights the model file holds; None before there is one, or if it was written before this was kept."""
    loss_sum: float = 0.0
    """Of the updates since the last line of metrics.jsonl …"""
    tokens: int = 0
    """… and their tokens."""
    seconds: float = field(default=0.0, compare=False)
    """Spent on updates, over all that went on from each other."""

    def mistakes(self, micro_batches: int | None) -> list[str]:
        """What no training can have written. Of the position, all but the epoch's length follows from the update."""
        counts = {
            "update": self.update, "epoch": self.position[0], "batch": self.position[1], "best_update": self.best_update,
            "since_best": self.since_best, "tokens": self.tokens, **{f"snapshot {each}": each for each, _ in self.snapshots},
        }  # fmt: skip
        qualities = [*(quality for _, quality in self.snapshots), *filter(None, [self.best])]
        if self.model is not None:
            counts |= {f"update {each} of the model": each for each in self.model.updates}
            qualities.append(self.model.quality)
        numbers = [
            self.loss_sum,
            self.seconds,
            *(number for each in qualities for number in each if number is not None),
        ]
        found = [f"{name} {value!r}" for name, value in counts.items() if type(value) is not int or value < 0]
        found += [repr(each) for each in numbers if not isinstance(each, int | float) or math.isnan(each)]
        if not found and micro_batches is not None:
            epoch, index = self.position
            taken = self.update * micro_batches  # from all epochs, of which each has a batch or more
            if epoch + index > taken or (epoch == 0 and index != taken):
                found.append(f"batch {index} of epoch {epoch} after {self.update} updates")
        return found


def read_progress(path: Path, metadata: Mapping[str, str], micro_batches: int | None) -> Progress:
    """What a checkpoint tells of how far it came, `micro_batches` to an update."""
    try:
        saved = json.loads(metadata["progress"])
        saved["position"] = tuple(saved["position"])
        saved["snapshots"] = [(update, read_quality(told)) for update, told in saved["snapshots"]]
        if saved["best"] is not None:
            saved["best"] = read_quality(saved["best"])
        if saved.get("model") is not None:
            saved["model"] = Choice(**{**saved["model"], "updates": tuple(saved["model"]["updates"])})
        progress = Progress(**saved)
        mistakes = progress.mistakes(micro_batches)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise DamagedError(
            f"{path} was not written by this version of regard ({error!r}); choose another --run folder"
        ) from None
    if mistakes:
        raise DamagedError(f"{path} tells of a place where no training can have been ({', '.join(mistakes)})")
    return progress


def read_quality(told: Any) -> Quality:
    """With its loss, or the metric alone, as it was kept before."""
    return Quality(*told) if isinstance(told, list) else Quality(told)


def snapshots_in(checkpoint: Path, name: Callable[[int], Path]) -> list[Path]:
    """Those that a checkpoint tells of, as far as it can be read."""
    try:
        with open_tensors(checkpoint) as file:
            return [name(update) for update, _ in json.loads((file.metadata() or {})["progress"])["snapshots"]]
    except (CheckpointError, KeyError, TypeError, ValueError, RecursionError):
        return []


def settings_of_checkpoint(run: Path) -> dict[str, str] | None:
    """What a run was begun with, if its newest checkpoint tells: before anything is prepared, and without reading it all."""
    path = run / "checkpoints" / "last.safetensors"
    try:
        with open_tensors(path) as file:
            told = json.loads((file.metadata() or {})["fixed"])
    except (CheckpointError, KeyError, TypeError, ValueError, RecursionError):
        return None
    return told if isinstance(told, dict) else None


def tensors_of(kind: str, checkpoint: Path) -> dict[str, Tensor]:
    """Of `model` or `ema`, what a checkpoint holds."""
    stored = read(checkpoint)[0].items()
    return {present_name(name).removeprefix(f"{kind}."): each for name, each in stored if name.startswith(f"{kind}.")}


def fill_from(
    path: Path,
    file: Any,
    update: int,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    ema: MovingAverage | None = None,
) -> None:
    """A checkpoint's weights, moments and moving average into model and optimizer: one at a time, of which a process may
    keep but a part. In a run that had no moving average yet, it begins here."""
    names = {present_name(name): name for name in file.keys()}  # noqa: SIM118

    def fill_with(kind: str, name: str, tensor: Tensor) -> None:
        stored = names.get(f"{kind}.{name}")
        if stored is None or file.get_slice(stored).get_shape() != list(tensor.shape):
            raise CheckpointError(f"{path} is of another model ({name} differs); choose another --run folder")
        fill(tensor, file.get_tensor(stored))

    for name, tensor in unique_weights(model).items():
        fill_with("model", name, tensor)
        if ema is not None:
            fill_with("ema" if f"ema.{name}" in names else "model", name, ema.weights[name])
        if f"optimizer.{MOMENTS[0]}.{name}" in names:
            moments = {moment: torch.zeros_like(tensor) for moment in MOMENTS}
            for moment in MOMENTS:
                fill_with(f"optimizer.{moment}", name, moments[moment])
            steps = torch.tensor(float(update), device=tensor.device)
            optimizer.state[tensor] = {"step": steps, **moments}


def optimizer_state(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Adam's moments by parameter name."""
    return {
        f"{moment}.{name}": optimizer.state[tensor][moment]
        for name, tensor in unique_weights(model).items()
        for moment in MOMENTS
        if tensor in optimizer.state
    }
