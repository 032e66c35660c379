"""What the models say, as plain JSON values. Runs in the worker's thread."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from regard import Translator

EXAMPLES = {
    "de": ["Ich habe gestern ein interessantes Buch gelesen.", "Wo ist der nächste Bahnhof?", "Ich weiß nicht, was ich sagen soll."],
    "en": ["I read an interesting book yesterday.", "Where is the nearest station?", "I do not know what to say."],
    "ko": ["저는 어제 재미있는 책을 읽었습니다.", "가장 가까운 역은 어디입니까?", "무슨 말을 해야 할지 모르겠습니다."],
}  # fmt: skip


def about(translators: Mapping[str, Translator], most_characters: int) -> dict[str, Any]:
    """What the live page should know of the server behind it."""
    first = next(iter(translators.values()))
    return {
        "models": [
            {
                "name": name,
                "title": translator.recipe.name,
                "languages": translator.facts()["languages"],
                "attentions": translator.model.attention_names(),
                "heads": translator.recipe.model.heads,
            }
            for name, translator in translators.items()
        ],
        "most_characters": most_characters,
        "examples": EXAMPLES.get(first.recipe.data.source_language, []),
    }


def translations(
    translator: Translator, options: Mapping[str, Any], attention: bool, texts: list[str]
) -> list[dict[str, Any]]:
    """Of texts that share a model and its options."""
    found = [each.to_dict() for each in translator.translate(texts, **options)]
    if attention:
        for text, each in zip(texts, found, strict=True):
            each["attention"] = scenes(translator, text, False, options) if each["parts"] else []
    return found


def looks(
    translator: Translator, beam: int | None, walk: bool, texts: list[str], **changes: Any
) -> list[list[dict[str, Any]]]:
    """Of each text the scenes of its parts, by a model that is changed meanwhile."""
    with translator.changed(**changes):
        return [scenes(translator, text, walk, {"beam": beam}) for text in texts]


def scenes(translator: Translator, text: str, walk: bool, options: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One for each part of the text."""
    first = translator.attention(text, **options)
    others = (translator.attention(text, part=part, **options) for part in range(1, first.parts))
    return [each.to_dict(walk=walk) for each in (first, *others)]


def scores(translator: Translator, pairs: list[tuple[str, str]]) -> list[dict[str, Any]]:
    """Of sources with their translations."""
    found = translator.score([source for source, _ in pairs], [target for _, target in pairs])
    return [{**vars(each), "perplexity": each.perplexity} for each in found]
