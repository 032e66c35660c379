"""What a run keeps on disk: `checkpoints/last.safetensors` to go on from, and snapshots of weights to average.

`last` holds weights, optimizer and progress in one file, replaced atomically, so that a run killed at any moment goes
on from a state that existed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from regard.checkpoint import average, open_tensors, present_name, replacing, unique_weights, write
from regard.config import Training
from regard.errors import CheckpointError
from regard.files import remove_leftovers
from regard.training.distributed import Processes, fill, whole

MOMENTS = ("exp_avg", "exp_avg_sq")
MICRO_BATCHES = "micro-batches of an update (training.accumulate × processes)"
FORMER_BASIS = {"parts of an update (training.accumulate × processes)": MICRO_BATCHES}
"""What parts of the basis were called when model files had format 1, and are called now."""


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
    loss_sum: float = 0.0
    """Of the updates since the last line of metrics.jsonl …"""
    tokens: int = 0
    """… and their tokens."""
    seconds: float = field(default=0.0, compare=False)
    """Spent on updates, over all that went on from each other."""


class RunFolder:
    """Saves and restores a run.

    `basis` is what a position in the data means nothing without, such as checksums of the text: a run goes on only on
    the same. `publish(weights, progress)` is called with the averaged model at each snapshot.
    """

    def __init__(
        self,
        path: Path,
        settings: Training,
        processes: Processes,
        basis: Mapping[str, str] = {},
        publish: Callable[[dict[str, Tensor], Progress], None] = lambda weights, progress: None,
    ) -> None:
        self.path = path / "checkpoints"
        self.settings, self.processes, self.basis, self.publish = settings, processes, dict(basis), publish
        self.saved = 0
        if processes.first:
            self.path.mkdir(parents=True, exist_ok=True)
            for folder in (path, self.path, path / "movie"):
                remove_leftovers(folder)

    @property
    def last(self) -> Path:
        return self.path / "last.safetensors"

    def snapshot(self, update: int) -> Path:
        return self.path / f"weights-{update:08d}.safetensors"

    def save(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, progress: Progress, snapshot: bool = False
    ) -> None:
        """Write a checkpoint, `last` after all that it tells of: a run killed in between does it again, the same.

        Snapshots that no average needs any more go when `last` no longer names them.
        """
        if snapshot:
            progress.snapshots = chosen(progress.snapshots, self.settings)
        weights = whole(unique_weights(model), self.processes)  # every process helps
        state = whole(optimizer_state(model, optimizer), self.processes)
        self.saved = progress.update
        if not self.processes.first:
            return
        kept = [self.snapshot(update) for update, _ in progress.snapshots]
        if snapshot:
            if self.snapshot(progress.update) in kept:
                write(self.snapshot(progress.update), weights, {"update": str(progress.update)})
            self.publish(average(kept), progress)
        tensors = {f"model.{name}": tensor for name, tensor in weights.items()}
        tensors |= {f"optimizer.{name}": tensor for name, tensor in state.items()}
        write(self.last, tensors, {"progress": json.dumps(asdict(progress)), "basis": json.dumps(self.basis)})
        self.forget_all_but(kept)

    def keep_frame(self, update: int, probes: list[dict[str, Any]]) -> None:
        """Keep a frame of the movie; one that a killed run had taken already is replaced by the same."""
        if not probes:
            return
        movie = self.path.parent / "movie"
        movie.mkdir(exist_ok=True)
        with replacing(movie / f"{update:08d}.json") as temporary:
            temporary.write_text(json.dumps({"update": update, "probes": probes}, ensure_ascii=False), encoding="utf-8")

    def forget_all_but(self, kept: list[Path]) -> None:
        for old in set(self.path.glob("weights-*.safetensors")) - set(kept):
            old.unlink()

    def restore(self, model: nn.Module, optimizer: torch.optim.Optimizer) -> Progress:
        """Fill model and optimizer from `last`, if there is one."""
        if not self.last.is_file():
            return Progress()
        with open_tensors(self.last) as file:  # one tensor in memory at a time: each process may keep but a part of it
            progress, names = (
                self.read_progress(file.metadata() or {}),
                {present_name(name): name for name in file.keys()},  # noqa: SIM118,
            )
            for name, tensor in unique_weights(model).items():
                if f"model.{name}" not in names or file.get_slice(names[f"model.{name}"]).get_shape() != list(
                    tensor.shape
                ):
                    raise CheckpointError(
                        f"{self.last} is of another model ({name} differs); choose another --run folder"
                    )
                fill(tensor, file.get_tensor(names[f"model.{name}"]))
                if f"optimizer.{MOMENTS[0]}.{name}" in names:
                    moments = {moment: torch.zeros_like(tensor) for moment in MOMENTS}
                    for moment in MOMENTS:
                        fill(moments[moment], file.get_tensor(names[f"optimizer.{moment}.{name}"]))
                    steps = torch.tensor(float(progress.update), device=tensor.device)
                    optimizer.state[tensor] = {"step": steps, **moments}
        self.saved = progress.update
        return progress

    def read_progress(self, metadata: Mapping[str, str]) -> Progress:
        """What `last` tells, if it is of this run: of this version, on this data, with its snapshots at hand."""
        try:
            saved, stored = json.loads(metadata["progress"]), json.loads(metadata.get("basis", "{}"))
            basis = {FORMER_BASIS.get(name, name): each for name, each in stored.items()}
            saved["position"] = tuple(saved["position"])
            saved["snapshots"] = [(update, value) for update, value in saved["snapshots"]]
            progress = Progress(**saved)
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            raise CheckpointError(
                f"{self.last} was not written by this version of regard ({error!r}); choose another --run folder"
            ) from None
        changed = [f"{name}: {basis[name]} → {now}" for name, now in self.basis.items() if basis.get(name, now) != now]
        if changed:
            raise CheckpointError(
                f"{self.path.parent} was begun on other data ({'; '.join(changed)}). "
                "Choose another folder with --run, delete this one, or set it back."
            )
        kept = [self.snapshot(update) for update, _ in progress.snapshots]
        if missing := [str(path) for path in kept if not path.is_file()]:
            raise CheckpointError(f"{', '.join(missing)} is gone, which the average needs; choose another --run folder")
        if self.processes.first:
            self.forget_all_but(kept)
        return progress


def optimizer_state(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Adam's moments by parameter name."""
    return {
        f"{moment}.{name}": optimizer.state[tensor][moment]
        for name, tensor in unique_weights(model).items()
        for moment in MOMENTS
        if tensor in optimizer.state
    }


def chosen(snapshots: list[tuple[int, float]], settings: Training) -> list[tuple[int, float]]:
    """The snapshots whose mean is the model: the last k, or the k best."""
    if settings.average_of == "best":
        return sorted(sorted(snapshots, key=lambda each: (-each[1], each[0]))[: settings.average])
    return snapshots[-settings.average :]
