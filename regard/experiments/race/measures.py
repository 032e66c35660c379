"""What one entrant did, measured once and kept as JSON in its run folder: translations, curves, speed, memory, looks."""

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
from regard.tasks.translation.evaluation import TestSet, translate_all
from regard.tasks.translation.translator import Translator
from regard.view.arrays import pack_probabilities
from regard.view.words import texts_of

FORMAT = 2  # raised whenever what is kept is called otherwise
RESULTS = "race.json"
SAMPLES = 12  # sentences that are shown
TIMED = 200  # sentences that are translated on time …
ROUNDS = 3  # … so often by each


def measure(
    entrants: Sequence[Entrant], folder: Path, test_set: TestSet, say: Callable[[str], None]
) -> dict[str, dict[str, Any]]:
    """By entrant, what is kept of it; only what is missing, or of another model or test set, is measured."""
    found: dict[str, dict[str, Any]] = {}
    for entrant in entrants:
        stamp = stamp_of(entrant, folder, test_set)
        kept = read_results(folder / entrant.name)
        if kept.get("stamp") != stamp:
            say(f"measuring {entrant.name}: memory, translations, looks")
            kept = {"stamp": stamp, **measured(entrant, folder / entrant.name, test_set)}
            write_json(folder / entrant.name / RESULTS, kept)
        found[entrant.name] = kept
    if any(each.get("speed", {}).get("beside") != list(found) for each in found.values()):
        say("timing how fast each decodes, in turns")
        for name, speed in decoding_speed(list(found), folder, test_set).items():
            found[name]["speed"] = speed
            write_json(folder / name / RESULTS, found[name])
    return found


def stamp_of(entrant: Entrant, folder: Path, test_set: TestSet) -> dict[str, Any]:
    """What results are of: the model to the bit, the sentences, and how they are decoded."""
    pairs = json.dumps([test_set.sources, test_set.references]).encode()
    return {
        "format": FORMAT,
        "model": hashlib.sha256((folder / entrant.name / MODEL).read_bytes()).hexdigest()[:16],
        "test_set": hashlib.sha256(pairs).hexdigest()[:16],
        "decoding": vars(entrant.recipe.decoding),
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


def measured(entrant: Entrant, folder: Path, test_set: TestSet) -> dict[str, Any]:
    """All that one entrant alone can tell."""
    translator = regard.load(folder, task="translation", engine="native")
    places = spread_over_length(tokens_of(translator, test_set.sources), translator.longest)
    return {
        "name": entrant.name,
        "parameters": entrant.parameters,
        "model": vars(entrant.recipe.model),
        "training": vars(entrant.recipe.training),
        "training_pairs": translator.provenance["training_examples"],
        **curve_of(folder),
        "memory": training_memory(entrant.recipe),
        "tokens": tokens_of(translator, test_set.sources),
        "translations": translate_all(translator, test_set.sources),
        "looks": {str(place): look(translator, test_set.sources[place]) for place in places},
    }


def tokens_of(translator: Translator, texts: Sequence[str]) -> list[int]:
    return [len(ids) for ids in translator.tokenizer.encode_all(texts, "source")]


def spread_over_length(lengths: Sequence[int], longest: int, count: int = SAMPLES) -> list[int]:
    """Places of sentences whose lengths lie evenly between the short and the longest that are read in one go."""
    fit = sorted((length, place) for place, length in enumerate(lengths) if 0 < length <= longest)
    if len(fit) <= count:
        return [place for _, place in fit]
    short = fit[len(fit) // 20][0]
    chosen: list[tuple[int, int]] = []
    for wanted in np.linspace(fit[-1][0], short, count):  # long ones are rare, so they choose first
        left = (each for each in fit if each not in chosen)
        chosen.append(min(left, key=lambda each: (abs(each[0] - wanted), each[1])))
    return [place for _, place in sorted(chosen)]


def curve_of(run: Path) -> dict[str, Any]:
    """Validations over updates and seconds, and the speed of training (the median of lines of 50 updates each)."""
    lines = read_metrics(run)
    speeds = [line["tokens_per_second"] for line in lines if "tokens_per_second" in line]
    names = ("update", "seconds", "loss", "bleu")
    curve = [{name: line[name] for name in names} for line in lines if line["kind"] == "valid" and "bleu" in line]
    if not curve:
        raise TrainingError(f"{run / METRICS} tells of no validation; delete {run} to train it again")
    return {
        "curve": curve,
        "updates": curve[-1]["update"],  # of the training: the model that was kept may be an earlier one
        "seconds": curve[-1]["seconds"],
        "tokens_per_second": statistics.median(speeds) if speeds else None,
    }


def look(translator: Translator, source: str) -> dict[str, Any] | None:
    """Where each word of the translation looked: cross-attention, the mean of all layers and heads, between words."""
    layers = len(translator.model.attention_names().get("cross", []))
    if not layers:
        return None
    seen = translator.attention(source)
    weights = np.mean([seen.words("cross", layer) for layer in range(layers)], axis=0)  # [target words, source words]
    return {
        "source": texts_of(seen.source_tokens),
        "target": texts_of(seen.target_tokens),
        "weights": pack_probabilities(weights),
    }


def decoding_speed(names: Sequence[str], folder: Path, test_set: TestSet) -> dict[str, dict[str, Any]]:
    """Greedy, with one thread, the same sentences: a round of every entrant after the other, so that noise hits all alike."""
    translators = {name: regard.load(folder / name, task="translation", engine="native") for name in names}
    sources = evenly(test_set.sources, TIMED)
    rounds: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with progress() as bar:
            for number in bar.track(range(ROUNDS + 1), description="Timing"):
                for name, translator in translators.items():
                    began = time.perf_counter()
                    translations = list(translator.stream(sources, beam=1))
                    seconds = time.perf_counter() - began
                    if number:  # the first round warms up
                        written = sum(len(each.tokens) for each in translations)
                        rounds[name].append({"sentences": len(sources) / seconds, "tokens": written / seconds})
    finally:
        torch.set_num_threads(threads)
    return {
        name: {
            "beside": list(names),
            "sentences": len(sources),
            "sentences_per_second": statistics.median(each["sentences"] for each in of_entrant),
            "tokens_per_second": statistics.median(each["tokens"] for each in of_entrant),
        }
        for name, of_entrant in rounds.items()
    }
