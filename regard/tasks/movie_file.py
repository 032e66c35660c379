"""The movie of a run: how attention formed while it trained, from the frames that training left in its folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from regard.checkpoint import find_model
from regard.errors import CheckpointError
from regard.run_log import read_metrics
from regard.tasks.texts import require_text

FOLDER = "movie"
KINDS = ("cross", "encoder", "decoder", "pooling")
"""Of attention that is filmed, by what a probe calls its weights."""
SCORES = ("bleu", "accuracy", "perplexity")
"""What validations may tell."""
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
    kind = kind_of(frames[-1]["probes"][0])
    return {
        "run": run.resolve().name,
        "kind": kind,
        "probes": probes,
        "frames": [
            {
                "update": frame["update"],
                "metrics": metrics.get(frame["update"], {}),
                "probes": [{"weights": probe[kind], "text": probe["text"]} for probe in frame["probes"]],
            }
            for frame in frames
            if _sentences(frame) == probes and kind in frame["probes"][0]  # a run may go on with other probes
        ],
    }


def text_and_movie(model: str | Path, text: str | None) -> tuple[str, dict[str, Any] | None]:
    """What to look at, and the movie of the model's run if there is one: unless a text is given, it is the movie's first."""
    movie = load_movie(find_model(model).parent)
    if text is None and movie is not None:
        text = str(movie["probes"][0]["source"]["text"])
    return require_text(model, text, "it has no movie to take it from"), movie


def kind_of(probe: dict[str, Any]) -> str:
    """Which attention was filmed."""
    return next(kind for kind in KINDS if kind in probe)


def _sentences(frame: dict[str, Any]) -> list[dict[str, Any]]:
    return [{side: probe[side] for side in ("source", "target")} for probe in frame["probes"]]


def _read(path: Path) -> dict[str, Any]:
    try:
        frame: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        for probe in frame["probes"]:
            probe[kind_of(probe)]["shape"], probe["text"], probe["source"]["tokens"], probe["target"]["tokens"]
        if type(frame["update"]) is not int or not frame["probes"]:
            raise ValueError("no update, or nothing seen")
    except (OSError, StopIteration, ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        raise CheckpointError(f"{path} is not a frame of a movie; delete it to see the others") from None
    return frame


def _metrics(run: Path) -> dict[int, dict[str, float]]:
    """By update, the training loss and the validation score that were measured there."""
    found: dict[int, dict[str, float]] = {}
    for facts in read_metrics(run):
        for wanted in ("loss",) if facts["kind"] == "train" else SCORES:
            if wanted in facts:
                found.setdefault(facts["update"], {})[wanted] = facts[wanted]
    return found
