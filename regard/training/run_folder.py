"""What a run keeps on disk: `checkpoints/last.safetensors` to go on from, and snapshots of weights to average.

`last` holds weights, optimizer and progress in one file, replaced atomically, so that a run killed at any moment goes
on from a state that existed.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from torch import Tensor, nn

from regard.checkpoint import average, load_weights, read, unique_weights, write
from regard.config import Training
from regard.errors import CheckpointError
from regard.training.distributed import Workers, fill, whole

MOMENTS = ("exp_avg", "exp_avg_sq")


@dataclass
class Progress:
    """How far training has come; all that must be saved besides tensors."""

    update: int = 0
    position: tuple[int, int] = (0, 0)
    """Epoch and number of the next batch in it."""
    best: float | None = None
    best_update: int = 0
    since_best: int = 0
    """Validations since the best one."""
    snapshots: list[tuple[int, float]] = field(default_factory=list)
    """Update and metric (higher is better) of every snapshot kept on disk."""


class RunFolder:
    """Saves and restores a run. `publish(weights, progress)` is called with the averaged model after each snapshot."""

    def __init__(
        self,
        path: Path,
        settings: Training,
        workers: Workers,
        publish: Callable[[dict[str, Tensor], Progress], None] = lambda weights, progress: None,
    ) -> None:
        self.path = path / "checkpoints"
        self.settings, self.workers, self.publish = settings, workers, publish
        self.saved = 0
        if workers.first:
            self.path.mkdir(parents=True, exist_ok=True)
            for leftover in self.path.glob("*.tmp"):  # of a run that was killed while writing
                leftover.unlink()

    @property
    def last(self) -> Path:
        return self.path / "last.safetensors"

    def snapshot(self, update: int) -> Path:
        return self.path / f"weights-{update:08d}.safetensors"

    def save(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, progress: Progress, snapshot: bool = False
    ) -> None:
        """Write a checkpoint. Snapshots that no average needs any more go only after `last` no longer names them."""
        if snapshot:
            progress.snapshots = chosen(progress.snapshots, self.settings)
        weights = {name: whole(tensor) for name, tensor in unique_weights(model).items()}  # every process helps
        state = optimizer_state(model, optimizer)
        if not self.workers.first:
            return
        kept = {self.snapshot(update) for update, _ in progress.snapshots}
        if snapshot and self.snapshot(progress.update) in kept:
            write(self.snapshot(progress.update), weights, {"update": str(progress.update)})
        tensors = {f"model.{name}": tensor for name, tensor in weights.items()}
        tensors |= {f"optimizer.{name}": tensor for name, tensor in state.items()}
        write(self.last, tensors, {"progress": json.dumps(asdict(progress))})
        self.saved = progress.update
        for old in set(self.path.glob("weights-*.safetensors")) - kept:
            old.unlink()
        if snapshot:
            self.publish(average(sorted(kept)), progress)

    def restore(self, model: nn.Module, optimizer: torch.optim.Optimizer) -> Progress:
        """Fill model and optimizer from `last`, if there is one."""
        if not self.last.is_file():
            return Progress()
        tensors, metadata = read(self.last)
        saved = json.loads(metadata["progress"])
        progress = Progress(**saved)
        progress.position = (saved["position"][0], saved["position"][1])
        progress.snapshots = [(update, value) for update, value in saved["snapshots"]]
        for name, tensor in unique_weights(model).items():
            if f"model.{name}" not in tensors or tensors[f"model.{name}"].shape != tensor.shape:
                raise CheckpointError(f"{self.last} is of another model ({name} differs); choose another --run folder")
            fill(tensor, tensors[f"model.{name}"])
            if progress.update:
                moments = {moment: torch.zeros_like(tensor) for moment in MOMENTS}
                for moment in MOMENTS:
                    fill(moments[moment], tensors[f"optimizer.{moment}.{name}"])
                steps = torch.tensor(float(progress.update), device=tensor.device)
                optimizer.state[tensor] = {"step": steps, **moments}
        self.saved = progress.update
        return progress

    def plain_model(self, model: nn.Module) -> nn.Module:
        """The model as one process holds it, for validation: itself, or a gathered copy when it is sharded."""
        if self.settings.sharding == "none" or self.workers.count == 1:
            return model
        weights = {name: whole(tensor) for name, tensor in unique_weights(model).items()}
        copy = deepcopy(self.blank)
        load_weights(copy, weights, self.last)
        return copy.to(self.workers.device)

    blank: nn.Module = nn.Identity()
    """An untouched copy of the model, kept when the trained one is sharded."""


def optimizer_state(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Adam's moments by parameter name."""
    return {
        f"{moment}.{name}": whole(optimizer.state[tensor][moment])
        for name, tensor in unique_weights(model).items()
        for moment in MOMENTS
        if tensor in optimizer.state
    }


def chosen(snapshots: list[tuple[int, float]], settings: Training) -> list[tuple[int, float]]:
    """The snapshots whose mean is the model: the last k, or the k best."""
    if settings.average_of == "best":
        return sorted(sorted(snapshots, key=lambda each: (-each[1], each[0]))[: settings.average])
    return snapshots[-settings.average :]
