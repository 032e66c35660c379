"""What a run tells: a progress bar for the person in front of it, `metrics.jsonl` and TensorBoard for later."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from regard.config import Training
from regard.errors import UsageError

LOG_EVERY = 50  # updates between two lines of metrics.jsonl


class Diary:
    """Written by the first process; in the others every method does nothing."""

    def __init__(self, folder: Path, settings: Training, update: int, *, console: Console, active: bool = True) -> None:
        self.active, self.settings, self.console = active, settings, console
        self.path = folder / "metrics.jsonl"
        self.loss_sum, self.tokens, self.seconds = 0.0, 0, 0.0
        self.clock = time.perf_counter()
        self.writer: Any = None
        self.bar = Progress(
            TextColumn("[bold]training"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[facts]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=console,
            disable=not active,
        )
        self.line = self.bar.add_task("training", total=settings.updates, completed=update, facts="")
        if active:
            self._forget_after(update)
            if settings.tensorboard:
                self.writer = _tensorboard(folder, update)

    def __enter__(self) -> Diary:
        self.bar.start()
        self.clock = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()
        if self.writer is not None:
            self.writer.close()

    def update(self, update: int, loss: float, norm: float, rate: float, tokens: int) -> None:
        if not self.active:
            return
        now = time.perf_counter()
        self.loss_sum += loss * tokens
        self.tokens += tokens
        self.seconds += now - self.clock
        self.clock = now
        speed, mean = self.tokens / max(self.seconds, 1e-9), self.loss_sum / max(self.tokens, 1)
        self.bar.update(self.line, completed=update, facts=f"loss {mean:.3f}  {speed:,.0f} tokens/s")
        if update % LOG_EVERY == 0 or update == self.settings.updates:
            facts = {"loss": mean, "gradient_norm": norm, "learning_rate": rate, "tokens_per_second": speed}
            self._write(update, facts, "train")
            if not self.console.is_terminal:  # a log file gets lines instead of a bar
                self.console.print(f"update {update:>7,}  loss {mean:.3f}  {speed:,.0f} tokens/s", highlight=False)
            self.loss_sum, self.tokens, self.seconds = 0.0, 0, 0.0

    def validation(self, update: int, metrics: dict[str, float]) -> None:
        if not self.active:
            return
        self._write(update, metrics, "valid")
        shown = "  ".join(f"{name} {value:.3f}" for name, value in metrics.items())
        self.console.print(f"update {update:>7,}  validation  {shown}", highlight=False)

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Time that is not training, such as validation, does not count for tokens/s."""
        yield
        self.clock = time.perf_counter()

    def _write(self, update: int, facts: dict[str, float], kind: str) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"update": update, "kind": kind, **facts}) + "\n")
        if self.writer is not None:
            for name, value in facts.items():
                self.writer.add_scalar(f"{kind}/{name}", value, update)

    def _forget_after(self, update: int) -> None:
        """Drop lines that a killed run wrote after its last checkpoint: they will be written again."""
        if not self.path.is_file():
            return
        kept = []
        for line in self.path.read_text(encoding="utf-8").splitlines():
            try:
                if json.loads(line)["update"] <= update:
                    kept.append(line + "\n")
            except (ValueError, KeyError):  # a line cut short by the kill
                continue
        self.path.write_text("".join(kept), encoding="utf-8")


def _tensorboard(folder: Path, update: int) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise UsageError("training.tensorboard = true needs TensorBoard: pip install 'regard[tensorboard]'") from None
    return SummaryWriter(str(folder / "tensorboard"), purge_step=update + 1)
