"""What a race shows of language models: how probable they find a line, how fast, and where they look back meanwhile."""

from __future__ import annotations

from typing import Any

import numpy as np

from regard.config import LanguageRecipe
from regard.tasks.language_model.generator import TextGenerator
from regard.tasks.language_model.judging import quick, score
from regard.tasks.language_model.page import tokens_read
from regard.tasks.language_model.verbs import SCORED_TOGETHER
from regard.tasks.task import Racing
from regard.tasks.texts import in_blocks
from regard.view.arrays import pack_probabilities
from regard.view.words import merge, texts_of, words_of


def told(answer: list[float]) -> str:
    return f"perplexity {score(LanguageRecipe(), np.array(answer)):.1f}"


def timed(writer: TextGenerator, sources: list[str]) -> int:
    return sum(len(found.tokens) for block in in_blocks(sources, SCORED_TOGETHER) for found in writer.score(block))


def look(writer: TextGenerator, source: str) -> dict[str, Any] | None:
    """What was looked back at in order to predict each word: self-attention, the mean of all layers and heads."""
    seen = writer.look(source)
    if seen.weights is None:
        return None
    weights = np.asarray(seen.weights, dtype=np.float64).mean((0, 1))  # [tokens, read]
    return {
        "source": texts_of(tokens_read(seen.read)),
        "target": texts_of(seen.tokens),
        "weights": pack_probabilities(merge(weights, words_of(seen.tokens), words_of(seen.read))),
    }


RACING = Racing(
    curve="perplexity",
    answers=quick,
    told=told,
    timed=timed,
    longest=lambda writer: writer.context - 1,
    look=look,
    meaning=(
        "Look for columns that are dark far below the diagonal: words that are remembered for long. Shown is self-attention, the mean "
        "of all layers and heads; rows are words to predict, columns words read before.",
        "대각선에서 멀리 떨어진 아래쪽까지 짙은 열을 찾아보세요. 오래 기억되는 단어입니다. 모든 층과 헤드의 셀프 어텐션을 평균한 것이며, 행은 "
        "예측할 단어, 열은 앞서 읽은 단어입니다.",
    ),
    work=("reading and predicting", "읽고 예측하기"),
)
