"""What a run wrote down while it trained: `metrics.jsonl`, a line for every 50 updates and one for every validation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

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
