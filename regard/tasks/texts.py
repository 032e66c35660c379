"""What all models at work share: many texts in bounded memory, and a word for a wrong argument."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias, TypeVar

from regard.errors import RegardError, UsageError
from regard.files import about_file
from regard.notes import note

T = TypeVar("T")
Texts: TypeAlias = list[str] | tuple[str, ...]  # a string is a Sequence[str], too, and means one text

LOOK_AHEAD = 2_048  # bounds memory on files of any length


def in_blocks(texts: Iterable[T], size: int) -> Iterator[list[T]]:
    """Texts, `size` at a time. What was read before a line that cannot be read is handed on before the error."""
    block: list[T] = []
    try:
        for text in texts:
            block.append(text)
            if len(block) == size:
                yield block
                block = []
    except RegardError:
        if block:
            yield block
        raise
    if block:
        yield block


def shown(value: object) -> str:
    """A wrong argument, short enough for a message."""
    return f"{repr(value)[:60]} of type {type(value).__name__}"


def require_text(model: object, text: str | None, instead: str = "regard curve shows how a run learned") -> str:
    """What a model is to be looked at with."""
    if text is None:
        raise UsageError(f"say what to look at in {model}, such as 'some text'; {instead}")
    if meant := about_file(text):
        note(meant)
    return text


def described(at_work: Any) -> str:
    """A model at work in a line, as Python shows it: its class, recipe, architecture and size."""
    settings, parameters = at_work.recipe, sum(each.numel() for each in at_work.model.parameters())
    kind = f"{settings.name!r}, {settings.model.architecture}, {parameters:,} parameters"
    return f"{type(at_work).__name__}({kind})"
