"""What a race shows of classifiers: the labels they give, how fast, and which words they look at."""

from __future__ import annotations

from typing import Any

import numpy as np

from regard.tasks.classification.classifier import Classifier
from regard.tasks.classification.judging import quick
from regard.tasks.task import Racing
from regard.view.arrays import pack_probabilities


def timed(classifier: Classifier, sources: list[str]) -> int:
    return sum(each.token_count for each in classifier.stream(sources))


def look(classifier: Classifier, source: str) -> dict[str, Any] | None:
    """One row: how much of what was decided on attention can have carried from each word."""
    seen = classifier.look(source)
    if seen.attention is None:
        return None
    words = seen.by_word("attention")
    return {
        "source": [seen.spelled(word) for word, _ in words],
        "target": [f"{seen.label} {100 * seen.probabilities[seen.label]:.0f} %"],
        "weights": pack_probabilities(np.array([[share for _, share in words]])),
    }


RACING = Racing(
    curve="accuracy",
    answers=quick,
    told=str,
    timed=timed,
    longest=lambda classifier: classifier.recipe.data.max_tokens,
    look=look,
    meaning=(
        "Look at whether it is the telling words that are dark. Of a Transformer it is attention followed from the pooled vector "
        "down to the words (rollout), of a recurrent model the weights of the query that pools its states.",
        "판단을 이끈 단어가 짙게 나타나는지 보세요. 트랜스포머는 풀링된 벡터에서 단어까지 어텐션을 거슬러 올라간 값(rollout)이고, 순환 "
        "모델은 상태를 풀링하는 쿼리의 가중치입니다.",
    ),
    work=("classifying", "분류"),
)
