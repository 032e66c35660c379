"""What a run writes down while it trains: `metrics.jsonl`, a line for every 50 updates and one for every validation."""

from __future__ import annotations

import errno
import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from regard.errors import TrainingError
from regard.files import replacing

METRICS = "metrics.jsonl"
KINDS: dict[str, tuple[str, ...]] = {"train": ("loss", "learning_rate"), "valid": ()}
"""Kinds of lines, and what each tells of besides update and seconds."""


def read_metrics(run: Path) -> list[dict[str, Any]]:
    """Its lines by update, none if it has not begun. What is no line of metrics is left out; of two of the same kind and
    update, the later one counts."""
    return read_odd_metrics(run)[0]


def read_odd_metrics(run: Path) -> tuple[list[dict[str, Any]], list[int]]:
    """As `read_metrics`, and the numbers of the lines that were left out; the last one may still be being written."""
    path = run / METRICS
    found: dict[tuple[int, str], dict[str, Any]] = {}
    odd: list[int] = []
    if path.exists() and not path.is_file():  # a device would be read without end
        raise TrainingError(f"{path} is a folder or a device, not a file")
    try:
        content = path.read_bytes().decode("utf-8", errors="replace")
    except FileNotFoundError:
        return [], []
    except OSError as error:
        raise TrainingError(f"cannot read {path}: {error.strerror}") from None
    for number, line in enumerate(content.split("\n"), start=1):
        facts = _facts(line)
        if facts is not None:
            found.pop((facts["update"], facts["kind"]), None)
            found[facts["update"], facts["kind"]] = facts
        elif line:
            odd.append(number)
    if odd and not content.endswith("\n") and odd[-1] == content.count("\n") + 1:
        odd.pop()
    return sorted(found.values(), key=lambda facts: facts["update"]), odd


def _facts(line: str) -> dict[str, Any] | None:
    """What a line of metrics says, if it is one."""
    try:
        facts = json.loads(line)
        numbers = [value for name, value in facts.items() if name != "kind"]
        sound = all(type(each) in (int, float) and math.isfinite(each) for each in (*numbers, facts["seconds"]))
        sound = sound and _update_of(line) >= 0 and all(name in facts for name in KINDS[facts["kind"]])
    except (ValueError, AttributeError, KeyError, TypeError, OverflowError, RecursionError):
        return None
    return facts if sound else None


def _update_of(line: str) -> int:
    """−1 if it tells none."""
    try:
        update = json.loads(line)["update"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return -1
    return update if type(update) is int else -1


def append_metrics(run: Path, facts: Mapping[str, Any]) -> None:
    """One more line."""
    path = run / METRICS
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(facts) + "\n")
    except OSError as error:
        raise TrainingError(f"cannot write {path}: {error.strerror}. The same command goes on.") from None


def forget_metrics_after(run: Path, update: int) -> None:
    """Drop lines that a killed run wrote after its last checkpoint: they will be written again. What is no line of metrics
    goes, too: after a line that was cut short, the next would be lost."""
    path = run / METRICS
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not path.is_file():  # nothing yet, or a device, which would be read without end
            return
        lines = path.read_bytes().splitlines(keepends=True)
        kept = [line for line in lines if 0 <= _update_of(line.decode("utf-8", errors="replace")) <= update]
        if kept and not kept[-1].endswith(b"\n"):
            kept[-1] += b"\n"
        if kept != lines:
            with replacing(path) as temporary:
                temporary.write_bytes(b"".join(kept))
    except OSError as error:
        raise TrainingError(f"cannot write {path}: {error.strerror}. What was there before is untouched.") from None
