"""A race that nobody ran: what the page of one needs, with numbers made up."""

from __future__ import annotations

from typing import Any

import numpy as np

from regard.view.arrays import pack_probabilities

ENTRANTS = ("rnn", "conv", "transformer")
BUCKETS = ((1, 10, 400), (11, 20, 300), (21, 35, 50))


def comparison(entrants: tuple[str, ...] = ENTRANTS, **changes: Any) -> dict[str, Any]:
    """Every entrant is three points of BLEU better than the one before; the first has no attention."""
    pairs = [(a, b) for place, a in enumerate(entrants) for b in entrants[place + 1 :]]
    return {
        "name": "toy",
        "task": "translation",
        "facts": {"languages": "de → en", "beam": "5"},
        "budget": {"parameters": 100_000, "minutes": None},
        "training_examples": 60_000,
        "vocabulary": 2_000,
        "curve": "bleu",
        "lower": False,
        "meaning": {"en": "Look for a diagonal.", "ko": "대각선을 찾아보세요."},
        "work": {"en": "translating greedily", "ko": "탐욕적(greedy) 번역"},
        "test_set": {"name": "test", "texts": 750},
        "buckets": [{"low": low, "high": high, "texts": count} for low, high, count in BUCKETS],
        "entrants": [entrant(name, number) for number, name in enumerate(entrants)],
        "pairs": [
            {"a": a, "b": b, "metrics": [
                {"name": name, "value": 3.0 * (entrants.index(b) - entrants.index(a)), "low": 1.0, "high": 5.0, "p_value": 0.001}
                for name in ("BLEU", "chrF2")]}
            for a, b in pairs
        ],
        "samples": [sample(entrants, "Ein Hund rennt .", 5), sample(entrants, "Zwei Hunde rennen über die Wiese .", 12)],
        "command": "regard race toy.toml",
        **changes,
    }  # fmt: skip


def entrant(name: str, number: int) -> dict[str, Any]:
    bleu = 20.0 + 3 * number
    return {
        "name": name,
        "parameters": 90_000 + number,
        "model": {"architecture": name, "width": 16 * (number + 1)},
        "training": {"learning_rate": 0.001},
        "updates": 1_000,
        "seconds": 60.0 * (number + 1),
        "curve": [
            {"update": 500 * step, "seconds": 30.0 * (number + 1) * step, "loss": 5.0 / step, "score": bleu * step / 2}
            for step in (1, 2)
        ],
        "unit": "tokens",
        "trained_per_second": 3_000.0 + number,
        "memory": 400_000_000,
        "speed": {"beside": [], "texts": 200, "texts_per_second": 50.0 + number, "tokens_per_second": 900.0},
        "scores": [score("BLEU", bleu), score("chrF2", 2 * bleu)],
        "lengths": [score("BLEU", bleu - place * (5 if number == 0 else 0)) for place in range(len(BUCKETS))],
    }


def score(name: str, value: float) -> dict[str, Any]:
    signature = f"nrefs:1|case:mixed|of:{name}|version:2"
    return {"name": name, "value": value, "low": value - 1, "high": value + 1, "signature": signature}


def sample(entrants: tuple[str, ...], source: str, tokens: int) -> dict[str, Any]:
    words = [*source.split(), "</s>"]
    weights = np.eye(len(words)) * 0.8 + 0.2 / len(words)
    looks = {"source": words, "target": words, "weights": pack_probabilities(weights)}
    return {
        "source": source,
        "reference": f"the reference of {tokens} tokens",
        "tokens": tokens,
        "answers": {name: f"{name} wrote this" for name in entrants},
        "looks": {name: None if name == entrants[0] else looks for name in entrants},
    }
