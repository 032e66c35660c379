"""The training loop, true of any model and task.

Everything random in update u follows from (seed, u): which batches, and the dropout of each part. So a run is its
weights, its optimizer and a few numbers, and going on from a checkpoint repeats what would have happened, to the bit.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from regard.config import Training
from regard.errors import CheckpointError, TrainingError
from regard.training.diary import Diary
from regard.training.distributed import Whole, Workers, spread, without_exchange
from regard.training.loss import Loss
from regard.training.optimizer import build_optimizer, learning_rate
from regard.training.run_folder import Progress, RunFolder
from regard.training.stopping import StopRequest
from regard.training.trainable import Trainable

Found = TypeVar("Found")


class Objective(nn.Module):
    """Model and loss in one module, so that DDP and FSDP2 see one forward pass."""

    def __init__(self, model: nn.Module, task: Trainable, autocast: bool) -> None:
        super().__init__()
        self.model = model
        self.task = task
        self.autocast = autocast

    def forward(self, batch: Any) -> Loss:
        with torch.autocast("cuda", torch.bfloat16, enabled=self.autocast):
            return self.task.loss(self.model, batch)


@dataclass(frozen=True)
class Outcome:
    """How training ended."""

    reason: str  # "done", "time", "patience" or "interrupted"
    progress: Progress
    seconds: float
    first: bool  # whether this process is the one that reports


class Loop:
    """Trains until the updates are done, patience ends or somebody interrupts; every way out leaves a checkpoint."""

    def __init__(
        self, model: nn.Module, task: Trainable, settings: Training, workers: Workers, folder: RunFolder
    ) -> None:
        self.model, self.task, self.settings = model, task, settings
        self.workers, self.folder = workers, folder
        self.whole = Whole(model, workers, settings.sharding)
        objective = Objective(model, task, workers.device.type == "cuda" and settings.precision == "auto")
        layers = [layer for group in model.children() if isinstance(group, nn.ModuleList) for layer in group]
        self.objective = spread(objective, layers, workers, settings.sharding)
        if settings.compile:
            self.objective.compile()
        self.optimizer = build_optimizer(model, settings)
        self.progress = folder.restore(model, self.optimizer)
        self.took = 0.0  # seconds of the last update
        if workers.share(self.progress.update) != self.progress.update:
            raise CheckpointError(
                f"process {workers.rank} finds another {folder.last} than the first; they must share it"
            )

    def run(self, diary: Diary) -> Outcome:
        began = time.perf_counter()
        settings = self.settings
        with StopRequest() as stop:
            if not self.progress.update and self.task.frame_due(0, validating=False):
                self.keep_frame(diary)  # before anything is learned
            while self.ended() is None:
                stopping = self.update(diary, stop.asked)
                update = self.progress.update
                validating = self.ended() is not None or update % settings.validate_every == 0
                if self.task.frame_due(update, validating):
                    self.keep_frame(diary)
                if validating:
                    self.validate(diary)
                elif stopping or (settings.checkpoint_every and update % settings.checkpoint_every == 0):
                    self.folder.save(self.model, self.optimizer, self.progress)
                if stopping:
                    break
        return Outcome(
            self.ended() or "interrupted", self.progress, time.perf_counter() - began, first=self.workers.first
        )

    def ended(self) -> str | None:
        """Why there is nothing more to do, once that is so."""
        if self.settings.patience and self.progress.since_best >= self.settings.patience:
            return "patience"
        if self.settings.minutes and self.progress.seconds >= 60 * self.settings.minutes:
            return "time"
        return "done" if self.progress.update >= self.settings.updates else None

    def update(self, diary: Diary, stop: bool) -> bool:
        """One step of the optimizer → whether any process wants to stop."""
        settings, workers, progress, began = self.settings, self.workers, self.progress, time.perf_counter()
        parts, position = self.task.take(progress.position, settings.accumulate * workers.count)
        tokens = sum(part.tokens for part in parts)
        update = progress.update + 1
        self.model.train()
        totals = torch.zeros(3, dtype=torch.float64)  # plain loss, wishes to stop, seconds
        mine = range(workers.rank, len(parts), workers.count)
        for number in mine:
            torch.manual_seed(seed_of(settings.seed, update, number))
            with without_exchange(self.objective, last=number == mine[-1]):
                loss: Loss = self.objective(parts[number].batch)
                (loss.smoothed * (workers.count / tokens)).backward()  # type: ignore[no-untyped-call]
            totals[0] += loss.plain.item()
        totals[1], totals[2] = float(stop), self.took
        loss_sum, wishes, seconds = workers.sum(totals).tolist()
        norm = self.clip()
        if not (math.isfinite(loss_sum) and math.isfinite(norm)):
            saved = self.folder.saved
            raise TrainingError(
                f"update {update}: the loss is {loss_sum / tokens} and the gradient's length {norm}. Nothing was "
                f"overwritten; {f'the last checkpoint is of update {saved}' if saved else 'there is no checkpoint yet'}. "
                "Lower training.learning_rate, lengthen training.warmup or set training.clip = 1.0."
            )
        rate = learning_rate(settings, update)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        progress.update, progress.position = update, position
        progress.seconds += seconds / workers.count  # all processes must agree on them
        self.took = time.perf_counter() - began
        diary.update(loss_sum, tokens, norm, rate)
        return bool(wishes)

    def clip(self) -> float:
        limit = self.settings.clip or math.inf
        norm: Tensor = nn.utils.clip_grad_norm_(self.model.parameters(), limit)
        return float(norm.full_tensor() if hasattr(norm, "full_tensor") else norm)

    def validate(self, diary: Diary) -> None:
        """Measure, remember whether it is the best, and write a checkpoint with a snapshot of the weights."""
        metrics: dict[str, float] = self.workers.share(self.look(diary, self.task.validate))
        progress, sign = self.progress, -1.0 if self.settings.metric == "loss" else 1.0
        value = sign * metrics[self.settings.metric]
        if progress.best is None or value > progress.best:
            progress.best, progress.best_update, progress.since_best = value, progress.update, 0
        else:
            progress.since_best += 1
        progress.snapshots.append((progress.update, value))
        diary.validation(metrics)  # before the checkpoint: a line of metrics.jsonl is written again, but never missed
        self.folder.save(self.model, self.optimizer, progress, snapshot=True)

    def keep_frame(self, diary: Diary) -> None:
        """One more frame of how attention forms. It takes no part in training: nothing random, nothing changed."""
        if probes := self.look(diary, self.task.frame):
            self.folder.keep_frame(self.progress.update, probes)

    def look(self, diary: Diary, ask: Callable[[nn.Module], Found]) -> Found | None:
        """What the first process finds in the whole model, which is let go with this; None in the others."""
        model = self.whole()
        if model is None:
            return None
        with diary.pause(), torch.inference_mode():
            return ask(model.eval())


def seed_of(*numbers: int) -> int:
    """One seed from several numbers, well mixed."""
    mixed = 0
    for number in numbers:
        mixed = (mixed * 6_364_136_223_846_793_005 + number + 1_442_695_040_888_963_407) % 2**63
        mixed ^= mixed >> 29
    return mixed
