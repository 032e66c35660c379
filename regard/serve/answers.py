"""What the models say, as JSON. Runs in the worker's thread."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from regard import Translator
from regard.view.page import scenes_of

EXAMPLES = {
    "de": ["Ich habe gestern ein interessantes Buch gelesen.", "Wo ist der nächste Bahnhof?", "Ich weiß nicht, was ich sagen soll."],
    "en": ["I read an interesting book yesterday.", "Where is the nearest station?", "I do not know what to say."],
    "ko": ["저는 어제 재미있는 책을 읽었습니다.", "가장 가까운 역은 어디입니까?", "무슨 말을 해야 할지 모르겠습니다."],
}  # fmt: skip


def about(translators: Mapping[str, Translator], most_characters: int, most_beam: int | None = None) -> dict[str, Any]:
    """What the live page should know of the server behind it."""
    first = next(iter(translators.values()))
    return {
        "models": [
            {
                "name": name,
                "title": translator.recipe.name,
                "languages": translator.facts()["languages"],
                "attentions": translator.model.attention_names(),
                "heads": translator.model.heads,
                "beam": translator.recipe.decoding.beam,
            }
            for name, translator in translators.items()
        ],
        "most_characters": most_characters,
        "most_beam": most_beam,
        "examples": EXAMPLES.get(first.source_language, []),
    }


def translations(translator: Translator, options: Mapping[str, Any], attention: bool, texts: list[str]) -> list[bytes]:
    """Of texts that share a model and its options."""
    found = [each.to_dict() for each in translator.translate(texts, **options)]
    if attention:
        for text, each in zip(texts, found, strict=True):
            seen = list(translator.attentions(text, **options)) if each["parts"] else []
            each["attention"] = scenes_of(seen, walk=False)
    return [encode(each) for each in found]


def looks(translator: Translator, beam: int | None, walk: bool, texts: list[str], **changes: Any) -> list[bytes]:
    """Of each text the scenes of its parts, by a model that is changed meanwhile."""
    with translator.changed(**changes):
        return [encode(scenes_of(list(translator.attentions(text, beam=beam)), walk=walk)) for text in texts]


def scores(translator: Translator, pairs: list[tuple[str, str]]) -> list[bytes]:
    """Of sources with their translations."""
    found = translator.score([source for source, _ in pairs], [target for _, target in pairs])
    return [encode({**vars(each), "perplexity": each.perplexity}) for each in found]


def encode(content: object) -> bytes:
    """JSON. In the worker's thread, because megabytes of it would keep everybody else waiting."""
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
