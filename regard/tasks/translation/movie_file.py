"""The movie of a run: how attention formed while it trained, from the frames that training left in its folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from regard.errors import CheckpointError
from regard.run_log import read_metrics

FOLDER = "movie"
MOST_FRAMES = 60
"""Frames that a page carries; of more, these many spread evenly, the first and the last among them."""


def load_movie(run: Path) -> dict[str, Any] | None:
    """What a page replays, or None if the run was not filmed."""
    paths = sorted((run / FOLDER).glob("*.json"))
    if not paths:
        return None
    last = len(paths) - 1
    shown = sorted({round(index * last / (MOST_FRAMES - 1)) for index in range(MOST_FRAMES)}) if last else [0]
    frames = [_read(paths[index]) for index in shown]
    probes = _sentences(frames[-1])
    metrics = _metrics(run)
    return {
        "probes": probes,
        "frames": [
            {
                "update": frame["update"],
                "metrics": metrics.get(frame["update"], {}),
                "probes": [{"cross": probe["cross"], "text": probe["text"]} for probe in frame["probes"]],
            }
            for frame in frames
            if _sentences(frame) == probes  # a run may go on with other probes
        ],
    }


def _sentences(frame: dict[str, Any]) -> list[dict[str, Any]]:
    return [{side: probe[side] for side in ("source", "target")} for probe in frame["probes"]]


def _read(path: Path) -> dict[str, Any]:
    try:
        frame: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        for probe in frame["probes"]:
            probe["cross"]["shape"], probe["text"], probe["source"]["tokens"], probe["target"]["tokens"]
        if type(frame["update"]) is not int or not frame["probes"]:
            raise ValueError("no update, or nothing seen")
    except (OSError, ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        raise CheckpointError(f"{path} is not a frame of a movie; delete it to see the others") from None
    return frame


def _metrics(run: Path) -> dict[int, dict[str, float]]:
    """By update, the training loss and the validation BLEU that were measured there."""
    found: dict[int, dict[str, float]] = {}
    for facts in read_metrics(run):
        wanted = "loss" if facts["kind"] == "train" else "bleu"
        if wanted in facts:
            found.setdefault(facts["update"], {})[wanted] = facts[wanted]
    return found
