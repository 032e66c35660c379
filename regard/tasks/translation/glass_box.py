"""How a server looks into a translator at work."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from regard.tasks.task import GlassBox
from regard.tasks.translation.attention import Attention
from regard.tasks.translation.portable import portable
from regard.tasks.translation.translator import Translator

EXAMPLES = {
    "de": ["Ich habe gestern ein interessantes Buch gelesen.", "Wo ist der nächste Bahnhof?", "Ich weiß nicht, was ich sagen soll."],
    "en": ["I read an interesting book yesterday.", "Where is the nearest station?", "I do not know what to say."],
    "ko": ["저는 어제 재미있는 책을 읽었습니다.", "가장 가까운 역은 어디입니까?", "무슨 말을 해야 할지 모르겠습니다."],
}  # fmt: skip
REMEDY = "Lower beam or nbest, shorten the prefix, or send fewer or shorter texts at a time."


def scenes(translator: Translator, text: str, **options: Any) -> Iterator[Attention]:
    return translator.attentions(text, **options)


def size(translator: Translator, text: str, **options: Any) -> int:
    return translator.look_size(text, **options)


def cost(translator: Translator, text: str, **options: Any) -> int:
    """It is translated, and then read and written once more, as for warnings."""
    return translator.cost([text], **{**options, "warnings": True})[0]


def about(translator: Translator) -> dict[str, Any]:
    return {
        "languages": ", ".join(dict.fromkeys(" → ".join(each.languages) for each in translator.data.directions)),
        "targets": translator.targets,
        "attentions": translator.model.attention_names(),
        "beam": translator.recipe.decoding.beam,
        "examples": EXAMPLES.get(translator.source_language, []),
    }


GLASS_BOX = GlassBox(scenes, size, cost, about, options=("beam", "to"), remedy=REMEDY, portable=portable)
