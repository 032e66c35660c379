"""What one entrant did, measured once and kept as JSON in its run folder: answers, curves, speed, memory, looks."""

from __future__ import annotations

import hashlib
import json
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

import regard
from regard.checkpoint import MODEL
from regard.data.progress import progress
from regard.data.sampling import evenly
from regard.errors import TrainingError
from regard.experiments.race.entrants import Entrant
from regard.experiments.race.footprint import training_memory
from regard.files import replacing
from regard.run_log import METRICS, read_metrics
from regard.tasks.provenance import told_count
from regard.tasks.registry import find_task
from regard.tasks.task import Judged, Racing
from regard.tasks.verbs import row_of

PER_SECOND = "_per_second"
FORMAT = 3  # raised whenever what is kept is called otherwise
RESULTS = "race.json"
SAMPLES = 12  # texts that are shown
TIMED = 200  # texts that are answered on time …
ROUNDS = 3  # … so often by each


def measure(
    entrants: Sequence[Entrant], folder: Path, test_set: Judged, say: Callable[[str], None]
) -> dict[str, dict[str, Any]]:
    """By entrant, what is kept of it; only what is missing, or of another model or test set, is measured."""
    found: dict[str, dict[str, Any]] = {}
    for entrant in entrants:
        stamp = stamp_of(entrant, folder, test_set)
        kept = read_results(folder / entrant.name)
        if kept.get("stamp") != stamp:
            say(f"measuring {entrant.name}: memory, answers, looks")
            kept = {"stamp": stamp, **measured(entrant, folder / entrant.name, test_set)}
            write_json(folder / entrant.name / RESULTS, kept)
        found[entrant.name] = kept
    if any(each.get("speed", {}).get("beside") != list(found) for each in found.values()):
        say("timing how fast each answers, in turns")
        racing = racing_of(entrants[0].recipe)
        for name, speed in answering_speed(list(found), folder, test_set, racing).items():
            found[name]["speed"] = speed
            write_json(folder / name / RESULTS, found[name])
    return found


def stamp_of(entrant: Entrant, folder: Path, test_set: Judged) -> dict[str, Any]:
    """What results are of: the model to the bit, the texts, and how they are decoded."""
    pairs = json.dumps([test_set.sources, test_set.references]).encode()
    return {
        "format": FORMAT,
        "model": hashlib.sha256((folder / entrant.name / MODEL).read_bytes()).hexdigest()[:16],
        "test_set": hashlib.sha256(pairs).hexdigest()[:16],
        "decoding": vars(entrant.recipe.decoding) if hasattr(entrant.recipe, "decoding") else {},
    }


def read_results(folder: Path) -> dict[str, Any]:
    """What was kept, or nothing; a file that cannot be read is measured anew."""
    try:
        kept: dict[str, Any] = json.loads((folder / RESULTS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return kept


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")


def measured(entrant: Entrant, folder: Path, test_set: Judged) -> dict[str, Any]:
    """All that one entrant alone can tell."""
    racing, model = racing_of(entrant.recipe), load_entrant(folder)
    lengths = tokens_of(model, test_set.sources)
    places = spread_over_length(lengths, racing.longest(model))
    return {
        "name": entrant.name,
        "parameters": entrant.parameters,
        "model": vars(entrant.recipe.model),
        "training": vars(entrant.recipe.training),
        "training_examples": told_count(model.provenance, "training_examples"),
        **curve_of(folder, racing.curve),
        "memory": training_memory(entrant.recipe),
        "tokens": lengths,
        "answers": list(racing.answers(model, test_set.sources)),
        "looks": {str(place): racing.look(model, test_set.sources[place]) for place in places},
    }


def racing_of(recipe: Any) -> Racing:
    racing = find_task(recipe.task).race
    assert racing is not None, "`build_entrants` has looked for it"
    return racing


def load_entrant(folder: Path) -> Any:
    """Its model in the engine that can be looked into."""
    glass = {"engine": "native"} if row_of(folder).understands("load", "engine") else {}
    return regard.load(folder, **glass)


def tokens_of(model: Any, texts: Sequence[str]) -> list[int]:
    return [len(ids) for ids in model.tokenizer.encode_all(texts, "source")]


def spread_over_length(lengths: Sequence[int], longest: int, count: int = SAMPLES) -> list[int]:
    """Places of texts whose lengths lie evenly between the short and the longest that are read in one go."""
    fit = sorted((length, place) for place, length in enumerate(lengths) if 0 < length <= longest)
    if len(fit) <= count:
        return [place for _, place in fit]
    short = fit[len(fit) // 20][0]
    chosen: list[tuple[int, int]] = []
    for wanted in np.linspace(fit[-1][0], short, count):  # long ones are rare, so they choose first
        left = (each for each in fit if each not in chosen)
        chosen.append(min(left, key=lambda each: (abs(each[0] - wanted), each[1])))
    return [place for _, place in sorted(chosen)]


def curve_of(run: Path, score: str) -> dict[str, Any]:
    """Validations over updates and seconds, and the speed of training (the median of lines of 50 updates each)."""
    lines = read_metrics(run)
    speeds = [(name, speed) for line in lines for name, speed in line.items() if name.endswith(PER_SECOND)]
    curve = [
        {**{name: line[name] for name in ("update", "seconds", "loss")}, "score": line[score]}
        for line in lines
        if line["kind"] == "valid" and score in line
    ]
    if not curve:
        raise TrainingError(f"{run / METRICS} tells of no validation; delete {run} to train it again")
    return {
        "curve": curve,
        "updates": curve[-1]["update"],  # of the training: the model that was kept may be an earlier one
        "seconds": curve[-1]["seconds"],
        "unit": speeds[0][0].removesuffix(PER_SECOND) if speeds else "tokens",
        "trained_per_second": statistics.median(speed for _, speed in speeds) if speeds else None,
    }


def answering_speed(names: Sequence[str], folder: Path, test_set: Judged, racing: Racing) -> dict[str, dict[str, Any]]:
    """With one thread, the same texts: a round of every entrant after the other, so that noise hits all alike."""
    models = {name: load_entrant(folder / name) for name in names}
    sources = evenly(test_set.sources, TIMED)
    rounds: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with progress() as bar:
            for number in bar.track(range(ROUNDS + 1), description="Timing"):
                for name, model in models.items():
                    began = time.perf_counter()
                    tokens = racing.timed(model, sources)
                    seconds = time.perf_counter() - began
                    if number:  # the first round warms up
                        rounds[name].append({"texts": len(sources) / seconds, "tokens": tokens / seconds})
    finally:
        torch.set_num_threads(threads)
    return {
        name: {
            "beside": list(names),
            "texts": len(sources),
            "texts_per_second": statistics.median(each["texts"] for each in of_entrant),
            "tokens_per_second": statistics.median(each["tokens"] for each in of_entrant),
        }
        for name, of_entrant in rounds.items()
    }
