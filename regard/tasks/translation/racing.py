"""What a race shows of translators: what they write, how fast, and where they look meanwhile."""

from __future__ import annotations

from typing import Any

import numpy as np

from regard.config import TranslationRecipe
from regard.tasks.task import Racing
from regard.tasks.translation.evaluation import translate_all
from regard.tasks.translation.translator import Translator
from regard.view.arrays import pack_probabilities
from regard.view.words import texts_of


def timed(translator: Translator, sources: list[str]) -> int:
    return sum(len(each.tokens) for each in translator.stream(sources, beam=1))


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


def facts(recipe: TranslationRecipe) -> dict[str, str]:
    data = recipe.data
    return {"languages": f"{data.source_language} → {data.target_language}", "beam": str(recipe.decoding.beam)}


RACING = Racing(
    curve="bleu",
    answers=translate_all,
    told=str,
    timed=timed,
    longest=lambda translator: translator.longest,
    look=look,
    meaning=(
        "Look for a dark diagonal with jumps where word order differs: an alignment that nobody taught. Shown is "
        "cross-attention, the mean of all layers and heads; rows are words written, columns words read.",
        "어순이 달라지는 곳에서 끊기는 짙은 대각선을 찾아보세요. 아무도 가르치지 않은 정렬입니다. 모든 층과 헤드의 크로스 어텐션을 "
        "평균한 것이며, 행은 쓴 단어, 열은 읽은 단어입니다.",
    ),
    work=("translating greedily", "탐욕적(greedy) 번역"),
    facts=facts,
)
