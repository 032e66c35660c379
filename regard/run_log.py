"""What a run writes down while it trains: `metrics.jsonl`, a line for every 50 updates and one for every validation."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from regard.errors import TrainingError
from regard.files import replacing

METRICS = "metrics.jsonl"


def read_metrics(run: Path) -> list[dict[str, Any]]:
    """Its lines in order, none if it has not begun. The last one may still be being written: it is left out."""
    found: list[dict[str, Any]] = []
    try:
        lines = (run / METRICS).read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return found
    for line in lines:
        try:
            facts = json.loads(line)
        except ValueError:
            break
        found.append(facts)
    return found


def append_metrics(run: Path, facts: Mapping[str, Any]) -> None:
    """One more line."""
    path = run / METRICS
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(facts) + "\n")
    except OSError as error:
        raise TrainingError(f"cannot write {path}: {error.strerror}. The same command goes on.") from None


def forget_metrics_after(run: Path, update: int) -> None:
    """Drop lines that a killed run wrote after its last checkpoint: they will be written again."""
    path = run / METRICS
    try:
        if not path.is_file():
            return
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        kept = [line for line in lines if _update_of(line) <= update]
        if kept != lines:
            with replacing(path) as temporary:
                temporary.write_text("".join(kept), encoding="utf-8")
    except OSError as error:
        raise TrainingError(f"cannot write {path}: {error.strerror}. What was there before is untouched.") from None


def _update_of(line: str) -> float:
    try:
        return float(json.loads(line)["update"])
    except ValueError:  # cut short by a kill, hence after the last checkpoint
        return math.inf
