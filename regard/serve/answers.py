"""What the models say, as JSON. Runs in the worker's thread."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from regard import Classifier, TextGenerator, Translator
from regard.serve.desk import AtWork, path_of
from regard.serve.limits import Limits
from regard.tasks.translation.page import scenes_of

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


def asked_of(models: Mapping[str, AtWork], limits: Limits) -> dict[str, Any]:
    """What the page for other tasks should know of the server behind it."""
    return {
        "models": [
            {
                "name": name,
                "title": model.recipe.name,
                "path": path_of(model),
                "labels": list(model.labels) if isinstance(model, Classifier) else None,
            }
            for name, model in models.items()
        ],
        "most_characters": {"/classify": limits.classified_characters, "/generate": limits.characters},
        "most_pieces": limits.pieces,
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


def classifications(classifier: Classifier, texts: list[str]) -> list[bytes]:
    return [encode(each.to_dict()) for each in classifier.classify(texts)]


def generations(writer: TextGenerator, options: Mapping[str, Any], prompts: list[str]) -> list[bytes]:
    """Of prompts that share a model and its options."""
    return [encode(each.to_dict()) for each in writer.generate(prompts, **options)]


def generation_told(
    writer: TextGenerator, options: Mapping[str, Any], name: str, on_text: Callable[[str], None], prompts: list[str]
) -> list[bytes]:
    """Of one prompt, whose text is told while it is written; then the whole answer."""
    [prompt] = prompts
    written = writer.generate(prompt, on_text=on_text, **options)
    return [encode({"model": name, "generations": [written.to_dict()]})]


def encode(content: object) -> bytes:
    """JSON. In the worker's thread, because megabytes of it would keep everybody else waiting."""
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
