"""`training.start`: what a recipe takes over from the trained model that it starts from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from regard.config.field import bounds_of
from regard.config.recipe import Recipe, TaskSettings
from regard.errors import shown

LEARNING = (
    "dropout",
    "attention_dropout",
    "activation_dropout",
    "embedding_dropout",
    "output_dropout",
    "stochastic_depth",
)
"""Of [model], what decides how it learns and not what it is."""
DEPTH = ("layers", "encoder_layers")
"""What a model that reads calls the number of its layers."""


def take_over(given: dict[str, Any], stored: Recipe, row: TaskSettings, where: Any) -> list[str]:
    """Fill what a recipe does not say with what `stored`, the recipe of its start, says → where the two contradict.

    `where(name)` tells in which line a setting stands.
    """
    same = stored.task == row.name
    start = given["training"]["start"]
    mistakes: list[str] = []

    def merge(section: str, theirs: Mapping[str, Any], changeable: tuple[str, ...] = ()) -> None:
        own = given.setdefault(section, {})
        for name, value in theirs.items():
            plain, said = _plain(value), _plain(own.get(name))
            if name in own and said != plain and name not in changeable:
                mistakes.append(
                    f"{section}.{name} = {shown(said)}{where(f'{section}.{name}')} contradicts training.start ="
                    f" {shown(start)}, where it is {shown(plain)}; leave it out, or start without"
                )
            own.setdefault(name, plain)

    if any(not isinstance(given.get(each, {}), dict) for each in ("model", "tokenizer", "data", "decoding")):
        return []  # which is told elsewhere
    if "tokenizer" in row.sections:
        if not hasattr(stored, "tokenizer"):
            return [f"training.start = {shown(start)} has no tokenizer: its task is {stored.task!r}"]
        merge("tokenizer", asdict(stored.tokenizer), changeable=("sample",))
    if same:
        _expand_size(given, stored, row)
        counted = getattr(stored.model, "positions", "") != "learned"  # which need no table: there may be more of them
        merge("model", asdict(stored.model), changeable=(*LEARNING, *(["max_positions"] if counted else [])))
        inherited = {
            each.name: getattr(stored.data, each.name) for each in fields(stored.data) if bounds_of(each).inherited
        }
        merge("data", inherited, changeable=tuple(inherited))
        if "decoding" in row.sections:
            given["decoding"] = {**asdict(stored.decoding), **given.get("decoding", {})}  # type: ignore[attr-defined]
    else:
        merge("model", _common(given, stored, row), changeable=(*LEARNING, *DEPTH))
    return mistakes


def _plain(value: Any) -> Any:
    """As a recipe writes it; sizes have tuples."""
    return list(value) if isinstance(value, tuple) else value


def _expand_size(given: dict[str, Any], stored: Recipe, row: TaskSettings) -> None:
    """A size that is stated stands for numbers, which must be those of the start; the name itself may differ."""
    model = given.setdefault("model", {})
    architecture = row.architectures.get(stored.model.architecture)
    size = model.pop("size", None)
    if architecture is not None and isinstance(size, str):
        numbers = {name: each for name, each in architecture.sizes.get(size, {}).items() if name not in LEARNING}
        given["model"] = {**numbers, **model}


def _common(given: Mapping[str, Any], stored: Recipe, row: TaskSettings) -> dict[str, Any]:
    """What the model of another task can tell this one."""
    name = given.get("model", {}).get("architecture", next(iter(row.architectures)))
    if not isinstance(name, str) or name not in row.architectures:
        return {}
    theirs = asdict(stored.model)
    depth = next((theirs[each] for each in DEPTH if each in theirs), None)
    if depth is not None:
        theirs |= dict.fromkeys(DEPTH, depth)
    if theirs.get("positions") != "learned":
        del theirs["max_positions"]  # they need no table, and other texts have other lengths
    own = {each.name for each in fields(row.architectures[name].settings)} - {"architecture", "size", "tied"}
    return {name: value for name, value in theirs.items() if name in own}
