"""How a server looks into a language model that reads a text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from regard.tasks.language_model.generator import TextGenerator
from regard.tasks.language_model.page import TextAttention
from regard.tasks.language_model.portable import portable
from regard.tasks.task import GlassBox


def scenes(writer: TextGenerator, text: str) -> Iterator[TextAttention]:
    yield writer.look(text)


def size(writer: TextGenerator, text: str) -> int:
    return writer.inside_size([min(writer.read_tokens(text), writer.context)])


def cost(writer: TextGenerator, text: str) -> int:
    return writer.read_tokens(text)


def about(writer: TextGenerator) -> dict[str, Any]:
    return {
        "attentions": writer.model.attention_names(),
        "beam": None,
        "languages": "",
        "targets": [],
        "by_letters": False,
        "examples": [],
    }


GLASS_BOX = GlassBox(scenes, size, cost, about, portable=portable)
