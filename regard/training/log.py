"""What a run tells: a progress bar for the person in front of it, `metrics.jsonl` and TensorBoard for later."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from regard.config import Training
from regard.errors import UsageError, install
from regard.run_log import append_metrics, forget_metrics_after
from regard.training.training_state import Progress
from regard.training.update import Update

LOG_EVERY = 50  # updates between two lines of metrics.jsonl


class TrainingLog:
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
        self.unit, self.folder = unit, folder
        self.live = console.is_terminal or in_notebook(console)
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
            disable=not (active and self.live),
        )
        total = None if settings.minutes else settings.updates  # nobody knows how many updates fit into the time
        self.line = self.bar.add_task("training", total=total, completed=progress.update, facts="")
        if active:
            forget_metrics_after(folder, progress.update)
            if settings.tensorboard:
                from torch.utils.tensorboard import SummaryWriter

                self.writer = SummaryWriter(str(folder / "tensorboard"), purge_step=progress.update + 1)

    def __enter__(self) -> TrainingLog:
        self.bar.start()
        self.clock = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()
        if self.writer is not None:
            self.writer.close()

    def update(self, done: Update) -> None:
        """After each. The mean loss of every 50 becomes a line."""
        progress = self.progress
        progress.loss_sum += done.loss
        progress.tokens += done.tokens
        self.tokens += done.tokens
        self.seconds += time.perf_counter() - self.clock
        self.clock = time.perf_counter()
        mean, speed = progress.loss_sum / progress.tokens, self.tokens / max(self.seconds, 1e-9)
        self.bar.update(self.line, completed=progress.update, facts=f"loss {mean:.3f}  {speed:,.0f} {self.unit}/s")
        if progress.update % LOG_EVERY == 0 or progress.update == self.settings.updates:
            facts = {"loss": mean, "gradient_norm": done.gradient_norm, "learning_rate": done.learning_rate}
            self._write({**facts, f"{self.unit}_per_second": speed}, "train")
            if not self.live:  # a log file gets lines instead of a bar
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
        seconds = round(self.progress.seconds, 3)
        append_metrics(self.folder, {"update": self.progress.update, "kind": kind, **facts, "seconds": seconds})
        if self.writer is not None:
            for name, value in facts.items():
                self.writer.add_scalar(f"{kind}/{name}", value, self.progress.update)


def in_notebook(console: Console) -> bool:
    """Whether a bar can move in a notebook: rich draws it with widgets, which may not be installed."""
    return console.is_jupyter and find_spec("ipywidgets") is not None


def require_tensorboard(settings: Training) -> None:
    """Say what is missing before an hour is spent."""
    if settings.tensorboard and find_spec("tensorboard") is None:
        raise UsageError(f"training.tensorboard = true needs TensorBoard: {install('tensorboard')}")
