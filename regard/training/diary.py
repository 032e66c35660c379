"""What a run tells: a progress bar for the person in front of it, `metrics.jsonl` and TensorBoard for later."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from regard.checkpoint import replacing
from regard.config import Training
from regard.errors import TrainingError, UsageError
from regard.run_log import METRICS
from regard.training.run_folder import Progress

LOG_EVERY = 50  # updates between two lines of metrics.jsonl


class Diary:
    """Written by the first process; the others write nothing."""

    def __init__(
        self,
        folder: Path,
        settings: Training,
        progress: Progress,
        *,
        console: Console,
        active: bool = True,
        unit: str = "tokens",
    ) -> None:
        self.progress, self.active, self.settings, self.console = progress, active, settings, console
        self.unit = unit
        self.path = folder / METRICS
        self.tokens, self.seconds = 0, 0.0
        self.clock = time.perf_counter()
        self.writer: Any = None
        self.bar = Bar(
            TextColumn("[bold]training"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[facts]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=console,
            disable=not (active and console.is_terminal),
        )
        total = None if settings.minutes else settings.updates  # nobody knows how many updates fit into the time
        self.line = self.bar.add_task("training", total=total, completed=progress.update, facts="")
        if active:
            self._forget_after(progress.update)
            if settings.tensorboard:
                from torch.utils.tensorboard import SummaryWriter

                self.writer = SummaryWriter(str(folder / "tensorboard"), purge_step=progress.update + 1)

    def __enter__(self) -> Diary:
        self.bar.start()
        self.clock = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()
        if self.writer is not None:
            self.writer.close()

    def update(self, loss: float, tokens: int, norm: float, rate: float) -> None:
        """After each update: its loss, summed over its tokens. The mean of every 50 becomes a line."""
        progress = self.progress
        progress.loss_sum += loss
        progress.tokens += tokens
        self.tokens += tokens
        self.seconds += time.perf_counter() - self.clock
        self.clock = time.perf_counter()
        mean, speed = progress.loss_sum / progress.tokens, self.tokens / max(self.seconds, 1e-9)
        self.bar.update(self.line, completed=progress.update, facts=f"loss {mean:.3f}  {speed:,.0f} {self.unit}/s")
        if progress.update % LOG_EVERY == 0 or progress.update == self.settings.updates:
            facts = {"loss": mean, "gradient_norm": norm, "learning_rate": rate, f"{self.unit}_per_second": speed}
            self._write(facts, "train")
            if not self.console.is_terminal:  # a log file gets lines instead of a bar
                self._say(f"loss {mean:.3f}  {speed:,.0f} {self.unit}/s")
            progress.loss_sum, progress.tokens = 0.0, 0
            self.tokens, self.seconds = 0, 0.0

    def validation(self, metrics: dict[str, float]) -> None:
        self._write(metrics, "valid")
        self._say("validation  " + "  ".join(f"{name} {value:.3f}" for name, value in metrics.items()))

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Time that is not training, such as validation, does not count for tokens/s."""
        yield
        self.clock = time.perf_counter()

    def _say(self, text: str) -> None:
        if self.active:
            self.console.print(f"update {self.progress.update:>7,}  {text}", highlight=False, soft_wrap=True)

    def _write(self, facts: dict[str, float], kind: str) -> None:
        if not self.active:
            return
        try:
            with self.path.open("a", encoding="utf-8") as file:
                seconds = round(self.progress.seconds, 3)
                file.write(
                    json.dumps({"update": self.progress.update, "kind": kind, **facts, "seconds": seconds}) + "\n"
                )
        except OSError as error:
            raise TrainingError(f"cannot write {self.path}: {error.strerror}. The same command goes on.") from None
        if self.writer is not None:
            for name, value in facts.items():
                self.writer.add_scalar(f"{kind}/{name}", value, self.progress.update)

    def _forget_after(self, update: int) -> None:
        """Drop lines that a killed run wrote after its last checkpoint: they will be written again."""
        if not self.path.is_file():
            return
        lines = self.path.read_text(encoding="utf-8").splitlines(keepends=True)
        kept = [line for line in lines if _update_of(line) <= update]
        if kept != lines:
            with replacing(self.path) as temporary:
                temporary.write_text("".join(kept), encoding="utf-8")


def _update_of(line: str) -> float:
    try:
        return float(json.loads(line)["update"])
    except ValueError:  # cut short by a kill, hence after the last checkpoint
        return math.inf


def require_tensorboard(settings: Training) -> None:
    """Say what is missing before an hour is spent."""
    if settings.tensorboard and find_spec("tensorboard") is None:
        raise UsageError("training.tensorboard = true needs TensorBoard: pip install 'regard[tensorboard]'")
