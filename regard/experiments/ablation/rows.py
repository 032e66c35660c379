"""What an ablation varies: rows that each change one thing of a recipe, of any task. Unless stated they are those of a preset:
the paper's Table 3, scaled to the recipe's model, or the Transformer without each of its parts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from regard.config import AttentionModel, Recipe, recipes
from regard.errors import ConfigError, UsageError, did_you_mean

BASE = "base"
LAYERS = ("model.encoder_layers", "model.decoder_layers")
VARIED = ("model", "tokenizer", "training", "decoding")


@dataclass(frozen=True)
class Row:
    """A recipe that differs from the base in one thing."""

    name: str
    """Names its run folders."""
    change: str
    """For people: `heads 4 → 1`."""
    recipe: Recipe


def read_rows(
    path: Path, overrides: Sequence[str], data: Path | None, vary: Sequence[str] = (), preset: str = "paper"
) -> tuple[list[Row], list[str]]:
    """The base and its variations, and what was left out of the preset's since this recipe cannot have it.

    A variation that is asked for and cannot be, or changes nothing, is an error: all of them at once.
    """
    if preset not in PRESETS:
        raise UsageError(f"no preset {preset!r}.{did_you_mean(preset, PRESETS)} There are {', '.join(PRESETS)}")
    base = recipes.load(path, overrides, folder=data)
    recipes.require_data(base)
    if not vary and preset in SUITED:
        overrides = [*SUITED[preset](base), *overrides]
        base = recipes.load(path, overrides, folder=data)
    rows = {BASE: Row(BASE, BASE, base)}
    mistakes: list[str] = []
    for variation in vary or PRESETS[preset](base):
        try:
            found = list(_read(variation, base, path, overrides, data))
        except ConfigError as error:
            mistakes += error.mistakes
            continue
        for row in found:
            if _resolved(row.recipe) == _resolved(base):
                mistakes.append(f"--vary {variation}: {row.change} changes nothing, the base is like that")
            elif row.name in rows:
                mistakes.append(f"--vary {variation}: {row.change} is there already")
            else:
                rows[row.name] = row
    if vary and mistakes:
        raise ConfigError(mistakes)
    if len(rows) == 1:
        raise ConfigError(["nothing is left to vary; say what by `vary`, such as model.heads=1,2"])
    return list(rows.values()), mistakes


def paper_variations(recipe: Recipe) -> list[str]:
    """The rows (A) to (E), as `--vary` would ask for them, of the settings that this model has."""
    model = recipe.model
    asked: dict[str, list[Any]] = {}
    if isinstance(model, AttentionModel):
        asked["model.heads"] = [1, 2 * model.heads]
        asked["model.key_width"] = [max(1, _key_width(model) // 2)]
    for names in _layers(recipe):
        layers = _value(recipe, names.split(",")[0])
        asked[names] = [max(1, layers // 2), layers + max(1, layers // 3)]
    asked["model.width"] = [model.width // 2]
    if isinstance(model, AttentionModel) and model.feed_forward:
        asked["model.feed_forward"] = [max(1, model.feed_forward // 2), 2 * model.feed_forward]
    asked["model.dropout"] = [0.0, min(0.5, 2 * model.dropout) or 0.1]
    asked["training.label_smoothing"] = [0.0, 0.2]
    if isinstance(model, AttentionModel):
        asked["model.positions"] = ["sinusoidal", "learned"]
    if getattr(model, "pointer", False):
        del asked["training.label_smoothing"]  # which a pointer cannot have
    return _asked(recipe, asked)


def part_variations(recipe: Recipe) -> list[str]:
    """The Transformer without each of its parts, or with another in its place."""
    if not isinstance(recipe.model, AttentionModel):
        raise UsageError(
            f"the preset 'parts' takes a Transformer apart; this is a model of {recipe.model.architecture!r}"
        )
    return _asked(recipe, {
        "model.positions": ["none"],
        "model.residual": [False],
        "model.norm": ["none", "pre", "post"],
        "model.scale": [False],
        "model.feed_forward": [0],
        "model.bias": [False],
        "model.activation": ["relu", "gelu", "swish"],
        "model.norm_epsilon": [0.1],
    })  # fmt: skip


def regularization_variations(recipe: Recipe) -> list[str]:
    """What keeps a model from knowing its text by heart, each by itself, as far as this one can have it."""
    asked = {
        "training.subword_sampling": [0.1],
        "training.word_dropout": [0.1],
        "model.attention_dropout,model.activation_dropout": [0.1],
        "training.bidirectional": [0.33],
        "training.r_drop": [5.0],
        "training.simcut": [3.0],
    }
    return _asked(recipe, {
        names: values for names, values in asked.items() if all(_has(recipe, name) for name in names.split(","))
    })  # fmt: skip


def _has(recipe: Recipe, name: str) -> bool:
    section, _, key = name.partition(".")
    return hasattr(getattr(recipe, section), key)


def without_ngrams(recipe: Recipe) -> list[str]:
    """A bag of n-grams answers beside attention: what attention lacks would not be seen."""
    return ["model.ngrams=1"] if getattr(recipe.model, "ngrams", 1) > 1 else []


SUITED: dict[str, Callable[[Recipe], list[str]]] = {"parts": without_ngrams}
"""What a preset changes of the base, unless somebody sets it."""
PRESETS: dict[str, Callable[[Recipe], list[str]]] = {
    "paper": paper_variations,
    "parts": part_variations,
    "regularization": regularization_variations,
}


def _layers(recipe: Recipe) -> tuple[str, ...]:
    """The settings that say how many layers there are, joined where they change together."""
    model = recipe.model
    if not hasattr(model, "encoder_layers"):
        return ("model.layers",)
    together = _value(recipe, LAYERS[0]) == _value(recipe, LAYERS[1])
    return (",".join(LAYERS),) if together else LAYERS


def _asked(recipe: Recipe, asked: dict[str, list[Any]]) -> list[str]:
    """As `--vary` would ask for them, without what the recipe says already."""
    return [
        f"{names}={_toml(value)}"
        for names, values in asked.items()
        for value in values
        if value != _value(recipe, names.split(",")[0])
    ]


def _toml(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _read(variation: str, base: Recipe, path: Path, overrides: Sequence[str], data: Path | None) -> list[Row]:
    """`model.heads=1,2` is two rows; `model.encoder_layers,model.decoder_layers=1` is one that changes both."""
    left, equals, right = variation.partition("=")
    names, values = tuple(name.strip() for name in left.split(",")), [value.strip() for value in right.split(",")]
    if not equals or not all(names) or not all(values):
        raise ConfigError([f"cannot read --vary {variation!r}: write section.key=value,value, such as model.heads=1,2"])
    for name in names:
        if name.partition(".")[0] not in VARIED:
            raise ConfigError([f"--vary {variation}: rows are compared on the same text; {', '.join(VARIED)} may vary"])
        if name == "training.seed":
            raise ConfigError([f"--vary {variation}: for more seeds of every row there is `seeds`"])
    rows, mistakes = [], []
    for value in values:
        changes = [f"{name}={value}" for name in names]
        try:
            recipe = recipes.load(path, [*overrides, *changes], folder=data)
        except ConfigError as error:
            mistakes += [f"--vary {variation}: {mistake.replace('--set', '--vary')}" for mistake in error.mistakes]
            continue
        label, before, now = _label(names), _shown(_value(base, names[0])), _shown(_value(recipe, names[0]))
        rows.append(Row(re.sub(r"[^\w.+-]", "_", f"{label}-{now}"), f"{label} {before} → {now}", recipe))
    if mistakes:
        raise ConfigError(mistakes)
    return rows


def _label(names: tuple[str, ...]) -> str:
    """The settings without their section where that is clear."""
    return "layers" if names == LAYERS else "+".join(re.sub(r"^(model|training)\.", "", name) for name in names)


def _value(recipe: Recipe, name: str) -> Any:
    """What a setting stands for; of one that only the row's architecture has, nothing."""
    section, _, key = name.partition(".")
    return getattr(getattr(_resolved(recipe), section), key, "none")


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else _toml(value)


def _resolved(recipe: Recipe) -> Recipe:
    """With the widths of keys and values that 0 stands for."""
    model = recipe.model
    if not isinstance(model, AttentionModel):
        return recipe
    value_width = model.value_width or model.width // model.heads
    return replace(recipe, model=replace(model, key_width=_key_width(model), value_width=value_width))


def _key_width(model: AttentionModel) -> int:
    return model.key_width or model.width // model.heads
