"""Several trained models that answer as one: which they are, and what they must have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from regard.errors import UsageError

ModelName = str | Path
ModelNames = ModelName | Sequence[ModelName]
"""One model, or several that answer together."""


def names_of(model: ModelNames) -> list[ModelName]:
    """Of one model or several, each by itself."""
    names: list[ModelName] = [model] if isinstance(model, str | Path) else list(model)
    if not names:
        raise UsageError("name at least one model")
    return names


def first_of(model: ModelNames) -> ModelName:
    """The one whose recipe counts where there can be only one: decoding settings, test sets."""
    return names_of(model)[0]


def told(model: ModelNames) -> str:
    """For messages: `a`, `a and b`, `a, b and c`."""
    *before, last = map(str, names_of(model))
    return f"{', '.join(before)} and {last}" if before else last


def require_one(model: ModelNames, what: str) -> ModelName:
    """Refuse several models where each can only be looked at by itself."""
    names = names_of(model)
    if len(names) > 1:
        raise UsageError(f"{what} is of one model; several have none in common. Name one of {told(names)}")
    return names[0]


def none_in_common(what: str) -> UsageError:
    """What to say of something that every member has, and all of them together have not."""
    return UsageError(f"models that answer together have no {what} in common; load one of them by itself")


def require_alike(names: Sequence[ModelName], found: Sequence[Any], what: str, remedy: str) -> None:
    """Refuse models that differ in what all must share, and say which do."""
    kinds: list[tuple[Any, list[ModelName]]] = []
    for name, each in zip(names, found, strict=True):
        same = next((members for kind, members in kinds if kind == each), None)
        if same is None:
            kinds.append((each, [name]))
        else:
            same.append(name)
    if len(kinds) > 1:
        (_, usual), *others = kinds
        differing = told([name for _, members in others for name in members])
        raise UsageError(
            f"{told(names)} cannot answer together: {what} of {differing} "
            f"{'is' if len(others) == 1 and len(others[0][1]) == 1 else 'are'} not that of {told(usual)}. {remedy}"
        )


def agreed(provenances: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What all members say of their origin in the same words."""
    first, *others = provenances
    return {name: value for name, value in first.items() if all(each.get(name) == value for each in others)}
