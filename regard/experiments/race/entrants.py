"""Who runs: each architecture as a recipe of its own, on the same text and tokens, as large as the budget allows."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from regard import config
from regard.config import recipes
from regard.errors import ConfigError, UsageError, did_you_mean
from regard.tasks.registry import count_parameters

STEP = 16  # widths are multiples of it, which suits every processor
ENDLESS = 1_000_000_000  # updates, where time is what ends

# What suits an architecture better than settings that were found for another. It holds for an entrant that is not of the
# recipe's own architecture, and every --set wins over it.
SUITED: dict[str, tuple[str, ...]] = {
    # Gradients through many steps of recurrence may explode.
    "rnn": ("training.learning_rate=2e-3", "training.clip=1.0"),
    "rnn-attention": ("training.learning_rate=2e-3", "training.clip=1.0"),
    # Gated convolutions diverge at rates that a pre-norm Transformer thrives on.
    "conv": ("training.learning_rate=1.5e-3", "training.clip=1.0"),
    "transformer": (),
}


class Budget(NamedTuple):
    """What all entrants get alike. Neither: as many parameters as the recipe's own model has."""

    parameters: int | None = None
    minutes: float | None = None


class Entrant(NamedTuple):
    """One runner: its name is that of its architecture, and of its run folder."""

    name: str
    recipe: config.TranslationRecipe
    parameters: int


def build_entrants(
    path: Path, names: Sequence[str], overrides: Iterable[str], budget: Budget, data: Path | None = None
) -> tuple[list[Entrant], Budget]:
    """An entrant for each name, in the order given, and what each may have; what cannot run is said before anything does."""
    if budget.parameters is not None and budget.minutes is not None:
        raise UsageError("`parameters` and `minutes` are two ways to be fair; give one of them")
    shared, own = sort_overrides(overrides, names)
    recipe = recipes.load_as(config.TranslationRecipe, path, shared, folder=data)
    recipes.require_data(recipe)
    check_names(names, config.task_settings(recipe.task).architectures)
    as_given = recipe.model.architecture if budget == Budget() else None
    if as_given is not None:
        budget = Budget(parameters_of(recipe.model, recipe.tokenizer))
    entrants, mistakes = [], []
    for name in names:
        given = [*settings_of(name, recipe, budget), *shared, *own[name], f"model.architecture={name}"]
        try:
            changed = recipes.load_as(config.TranslationRecipe, path, given, folder=data)
        except ConfigError as error:
            mistakes += [f"entrant {name}: {mistake}" for mistake in error.mistakes]
            continue
        if budget.parameters is not None and name != as_given:
            if fixed := [each for each in own[name] if each.startswith("model.width")]:
                raise UsageError(
                    f"--set {name}:{fixed[0]} says what a budget of parameters should find; give one of them"
                )
            changed = replace(changed, model=widest(changed.model, changed.tokenizer, budget.parameters))
        entrants.append(Entrant(name, changed, parameters_of(changed.model, changed.tokenizer)))
    if mistakes:
        hint = "A setting of one entrant is given as --set NAME:section.key=value."
        raise ConfigError([*mistakes, hint])
    return entrants, budget


def check_names(names: Sequence[str], known: Mapping[str, object]) -> None:
    if not names:
        raise UsageError(f"a race needs somebody to run: `architectures` {','.join(known)}")
    for name in names:
        if name not in known:
            raise UsageError(f"unknown architecture {name!r}.{did_you_mean(name, known)} There are {', '.join(known)}")
        if names.count(name) > 1:
            raise UsageError(f"{name} cannot run twice in one race; give another variant its own `run` folder")


def sort_overrides(overrides: Iterable[str], names: Sequence[str]) -> tuple[list[str], dict[str, list[str]]]:
    """Overrides of all entrants, and of each: `conv:training.learning_rate=1e-3` is of the entrant conv alone."""
    shared: list[str] = []
    own: dict[str, list[str]] = {name: [] for name in names}
    for override in overrides:
        entrant, colon, rest = override.partition(":")
        if not colon or not re.fullmatch(r"[\w-]+", entrant):  # a colon after "=" belongs to the value
            shared.append(override)
        elif entrant not in own:
            entrants = ", ".join(names)
            raise UsageError(
                f"--set {override}: no entrant {entrant!r}.{did_you_mean(entrant, names)} There are {entrants}"
            )
        elif re.split("[.=]", rest)[0].strip() in ("data", "tokenizer", "decoding", "name", "task"):
            raise UsageError(f"--set {override}: only model and training may differ between entrants; set it for all")
        else:
            own[entrant].append(rest)
    return shared, own


def settings_of(name: str, recipe: config.TranslationRecipe, budget: Budget) -> list[str]:
    """What an entrant has besides the recipe and what is set by hand, which wins.

    Of another architecture than its own, the recipe's model gives only its size and whether embeddings are tied;
    positions that no sentence reaches would only eat up parameters where they are learned.
    """
    given = []
    if name != recipe.model.architecture:
        sizes = config.task_settings(recipe.task).architectures[name].sizes
        size = recipe.model.size if recipe.model.size in sizes or not sizes else list(sizes)[-1]
        tied, positions = str(recipe.model.tied).lower(), recipe.data.max_tokens + 1
        given = [f'model={{size="{size}", tied={tied}, max_positions={positions}}}', *SUITED.get(name, ())]
    if budget.minutes is not None:
        given += [f"training.minutes={budget.minutes}", f"training.updates={ENDLESS}"]
        if recipe.training.schedule in ("linear", "cosine"):  # they would need to know the last update
            given.append("training.schedule=inverse-sqrt")
    return given


def parameters_of(model: config.TranslationModel, tokenizer: config.Tokenizer) -> int:
    """How many numbers a model learns."""
    return count_parameters(model, tokenizer.vocabulary, tokenizer.vocabulary)


def widest(model: config.TranslationModel, tokenizer: config.Tokenizer, limit: int) -> config.TranslationModel:
    """The model with the width whose parameters come nearest below the limit; its feed-forward grows in proportion."""
    step = math.lcm(STEP, getattr(model, "heads", 1))

    def of(times: int) -> config.TranslationModel:
        changes: dict[str, Any] = {"width": times * step}
        if isinstance(model, config.Transformer) and model.feed_forward:
            changes["feed_forward"] = max(1, round(model.feed_forward * times * step / model.width))
        return replace(model, **changes)

    def count(times: int) -> int:
        return parameters_of(of(times), tokenizer)

    if (least := count(1)) > limit:
        raise UsageError(
            f"a budget of {limit:,} parameters is too small for {model.architecture}: with {tokenizer.vocabulary:,} tokens "
            f"and a width of {step}, its least, it has {least:,}"
        )
    fits, exceeds = 1, 2
    while count(exceeds) <= limit:
        fits, exceeds = exceeds, 2 * exceeds
    while exceeds - fits > 1:
        middle = (fits + exceeds) // 2
        fits, exceeds = (middle, exceeds) if count(middle) <= limit else (fits, middle)
    return of(fits)
