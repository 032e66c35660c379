"""How a server looks into a translator at work."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from regard.data.languages import code_of, letters_of
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
    pairs = [each.languages for each in translator.data.directions]
    targets = [translator.recipe.data.target_language] if translator.fixed else translator.targets
    sources = [next(source for source, target in pairs if target == each) for each in targets]
    shown = 3 if len(sources) == 1 else max(1, 4 - len(sources))
    return {
        "languages": ", ".join(dict.fromkeys(" → ".join(pair) for pair in pairs if pair[1] in targets)),
        "targets": targets,
        "by_letters": not translator.fixed and len({letters_of(source) for source, _ in pairs}) > 1,
        "attentions": translator.model.attention_names(),
        "beam": translator.recipe.decoding.beam,
        "examples": [text for source in sources for text in EXAMPLES.get(code_of(source), [])[:shown]],
    }


GLASS_BOX = GlassBox(scenes, size, cost, about, options=("beam", "to"), remedy=REMEDY, portable=portable)
