"""The training loop, true of any model and task.

Everything random in update u follows from (seed, u): which batches, and the dropout of each part. So a run is its
weights, its optimizer and a few numbers, and going on from a checkpoint repeats what would have happened, to the bit.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, TypeVar

import torch
from torch import Tensor, nn

from regard.config import Training
from regard.errors import TrainingError
from regard.training.averaging import MovingAverage, Quality
from regard.training.distributed import Processes, Unsharded, spread, whole
from regard.training.log import TrainingLog
from regard.training.run_folder import RunFolder
from regard.training.stopping import StopRequest
from regard.training.trainable import Trainable
from regard.training.training_state import Progress
from regard.training.update import Objective, Update, autocast_of, build_optimizer, take_update
from regard.training.workers import Workers, count_workers

Found = TypeVar("Found")
Listener: TypeAlias = Callable[[dict[str, Any]], object]
"""Told the facts of an update or of a validation."""


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
        self,
        model: nn.Module,
        task: Trainable,
        settings: Training,
        processes: Processes,
        folder: RunFolder,
        *,
        on_update: Listener | None = None,
        on_validation: Listener | None = None,
    ) -> None:
        """The listeners are called in the first process. What one raises acts as Ctrl-C does, and is raised at the end."""
        self.model, self.task, self.settings = model, task, settings
        self.processes, self.folder = processes, folder
        self.on_update, self.on_validation = on_update, on_validation
        self.whole = Unsharded(model, processes, settings.sharding)
        objective = Objective(model, task.loss, autocast_of(settings, processes.device.type))
        layers = [layer for group in model.children() if isinstance(group, nn.ModuleList) for layer in group]
        self.objective = spread(objective, layers, processes, settings.sharding)
        if settings.compile:
            self.objective.compile()
        self.optimizer = build_optimizer(model, settings)
        self.ema = MovingAverage(model, settings.ema) if settings.ema else None
        self.progress = folder.restore(model, self.optimizer, self.ema)
        self.workers = Workers(self.objective, count_workers(model, settings, processes))
        self.stop = StopRequest()
        self.raised: BaseException | None = None  # by a listener
        self.took = 0.0  # seconds of the last update

    def run(self, log: TrainingLog) -> Outcome:
        began = time.perf_counter()
        settings = self.settings
        with self.stop, self.workers:
            if not self.progress.update and self.task.frame_due(0, validating=False):
                self.keep_frame(log)  # before anything is learned
            while self.ended() is None:
                stopping = self.update(log)
                update = self.progress.update
                validating = self.ended() is not None or update % settings.validate_every == 0
                if self.task.frame_due(update, validating):
                    self.keep_frame(log)
                if validating:
                    self.validate(log)
                elif stopping or (settings.checkpoint_every and update % settings.checkpoint_every == 0):
                    self.folder.save(self.model, self.optimizer, self.progress, self.ema)
                    self.processes.wait()
                if stopping:
                    break
        if self.raised is not None:
            raise self.raised
        seconds = time.perf_counter() - began
        return Outcome(self.ended() or "interrupted", self.progress, seconds, first=self.processes.first)

    def ended(self) -> str | None:
        """Why there is nothing more to do, once that is so."""
        if self.settings.patience and self.progress.since_best >= self.settings.patience:
            return "patience"
        if self.settings.minutes and self.progress.seconds >= 60 * self.settings.minutes:
            return "time"
        return "done" if self.progress.update >= self.settings.updates else None

    def update(self, log: TrainingLog) -> bool:
        """One step of the optimizer → whether any process wants to stop."""
        settings, processes, progress, began = self.settings, self.processes, self.progress, time.perf_counter()
        parts, position = self.task.take(progress.position, settings.accumulate * processes.count)
        tell = (float(self.stop.asked), self.took)
        try:
            done = take_update(
                self.objective,
                self.optimizer,
                parts,
                settings,
                progress.update + 1,
                processes,
                tell,
                self.workers.add_gradients,
            )
        except TrainingError as error:
            saved = self.folder.saved
            last = f"the last checkpoint is of update {saved}" if saved else "there is no checkpoint yet"
            mistake = TrainingError(
                f"{error} Nothing was overwritten; {last}."
            )  # the sums are the same in all processes
            raise processes.known_to_all(mistake) from None
        if self.ema is not None:
            self.ema.update(self.model, done.number)
        wishes, seconds = done.told
        progress.update, progress.position = done.number, position
        progress.seconds += seconds / processes.count  # all processes must agree on them
        self.took = time.perf_counter() - began
        log.update(done)
        self.tell(self.on_update, lambda: facts_of(done, progress.seconds))
        return bool(wishes)

    def validate(self, log: TrainingLog) -> None:
        """Measure, remember whether it is the best, and write a checkpoint with a snapshot of the weights. At the end of
        training, averages of the weights are measured, too."""
        metrics: dict[str, float] = self.processes.share(self.look(log, self.task.validate))
        progress, quality = self.progress, self.quality_of(metrics)
        hope = self.hope(log, quality)
        if progress.best is None or hope.rank() < progress.best.rank():
            progress.best, progress.best_update, progress.since_best = hope, progress.update, 0
        else:
            progress.since_best += 1
        progress.snapshots.append((progress.update, quality))
        log.validation(metrics)  # before the checkpoint: a line of metrics.jsonl is written again, but never missed
        judge = None if self.ended() is None else partial(self.judge, log)
        self.folder.save(self.model, self.optimizer, progress, self.ema, snapshot=True, judge=judge)
        self.tell(self.on_validation, lambda: {"update": progress.update, **metrics, "seconds": progress.seconds})
        self.processes.wait()

    def hope(self, log: TrainingLog, quality: Quality) -> Quality:
        """What patience waits for: the best of what may become the model. A moving average is measured for this only, since it goes
        on to become better for a while when single weights do not any more."""
        settings = self.settings
        if self.ema is None or not settings.patience or settings.keep not in ("auto", "ema"):
            return quality
        weights = whole(self.ema.weights, self.processes)  # every process helps
        moving: Quality = self.processes.share(self.judge(log, weights) if self.processes.first else None)
        return moving if settings.keep == "ema" else min(quality, moving, key=Quality.rank)

    def quality_of(self, metrics: dict[str, float]) -> Quality:
        """What decides which weights are best: the metric, and of equals, such as a BLEU of 0, the loss."""
        value, loss = metrics[self.settings.metric], metrics.get("loss", math.nan)
        return Quality(-value if self.settings.metric == "loss" else value, None if math.isnan(loss) else loss)

    def judge(self, log: TrainingLog, weights: Mapping[str, Tensor]) -> Quality:
        """How good a model with other weights is (first process only)."""
        model = self.whole.around(weights)
        with log.pause(), torch.inference_mode():
            return self.quality_of(self.task.validate(model.eval()))

    def tell(self, listener: Listener | None, facts: Callable[[], dict[str, Any]]) -> None:
        """What a listener raises is kept until all processes have agreed to stop, and saved. Ctrl-C is no error."""
        if listener is None or not self.processes.first or self.raised is not None:
            return
        try:
            listener(facts())
        except KeyboardInterrupt:
            self.stop.asked = True
        except BaseException as error:
            self.stop.asked, self.raised = True, error

    def keep_frame(self, log: TrainingLog) -> None:
        """One more frame of how attention forms. It takes no part in training: nothing random, nothing changed."""
        if probes := self.look(log, self.task.frame):
            self.folder.keep_frame(self.progress.update, probes)
        self.processes.wait()

    def look(self, log: TrainingLog, ask: Callable[[nn.Module], Found]) -> Found | None:
        """What the first process finds in the whole model, which is let go with this; None in the others."""
        model = self.whole()
        if model is None:
            return None
        with log.pause(), torch.inference_mode():
            return ask(model.eval())


def facts_of(done: Update, seconds: float) -> dict[str, Any]:
    """What a listener is told of an update."""
    return {
        "update": done.number,
        "loss": done.loss / done.tokens,
        "tokens": done.tokens,
        "gradient_norm": done.gradient_norm,
        "learning_rate": done.learning_rate,
        "seconds": seconds,
    }
