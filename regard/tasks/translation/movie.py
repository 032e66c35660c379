"""A few validation sentences that are looked at again and again during training: the frames of a movie."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from regard import config
from regard.attention.record import record
from regard.data.tokenizer import END, Tokenizer
from regard.decoding.options import Search
from regard.models.encoder_decoder import EncoderDecoder as Model
from regard.tasks.movie import choose
from regard.tasks.translation.native import decode, known_pairs
from regard.view.arrays import pack_probabilities
from regard.view.inside import side_of


class Probe(NamedTuple):
    """A sentence and its reference. The reference is what is looked at: it stays, while what the model writes changes."""

    source: list[int]
    target: list[int]
    reference: str


def choose_probes(
    sources: Sequence[list[int]], references: Sequence[str], tokenizer: Tokenizer, count: int
) -> list[Probe]:
    """Some of the sentences, spread evenly, of a length that is good to see where there are such."""
    chosen = choose(list(zip(sources, references, strict=True)), lambda pair: len(pair[0]), count)
    return [Probe(source, tokenizer.encode(reference, "target"), reference) for source, reference in chosen]


def record_probes(
    model: Model, probes: Sequence[Probe], tokenizer: Tokenizer, settings: config.Decoding
) -> list[dict[str, Any]]:
    """Cross-attention of each probe's reference, and what the model would write now; nothing if it has no such attention."""
    modules = model.attention_names().get("cross", [])
    if not modules or not probes:
        return []
    greedy = Search(beam=1, length_penalty="none")
    written = decode(model, [probe.source for probe in probes], greedy, settings)
    return [
        _frame(model, modules, probe, tokenizer, best[0].tokens) for probe, best in zip(probes, written, strict=True)
    ]


def _frame(
    model: Model, modules: list[str], probe: Probe, tokenizer: Tokenizer, written: Sequence[int]
) -> dict[str, Any]:
    with record(model) as seen:
        model(*known_pairs(model, [probe.source], [probe.target]))
    weights = torch.stack([seen[module]["weights"][0] for module in modules])  # [L, H, T, S]
    return {
        "source": side_of(tokenizer.decode(probe.source, "source"), tokenizer.tokens([*probe.source, END], "source")),
        "target": side_of(probe.reference, tokenizer.tokens([*probe.target, END], "target")),
        "cross": pack_probabilities(weights.cpu().numpy()),
        "text": tokenizer.line(written),
    }
