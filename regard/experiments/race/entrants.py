"""Who runs: each architecture as a recipe of its own, on the same text and tokens, as large as the budget allows."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from regard import config
from regard.config import recipes
from regard.errors import ConfigError, UsageError, did_you_mean
from regard.tasks.registry import count_parameters, find_task

STEP = 16  # widths are multiples of it, which suits every processor
ENDLESS = 1_000_000_000  # updates, where time is what ends

OUTSIDE = (
    "tied",
    "cutoffs",
    "adaptive_factor",
    "ngrams",
    "buckets",
)  # what every architecture of a task may have around its layers

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
    recipe: Any
    parameters: int


def build_entrants(
    path: Path, names: Sequence[str] | None, overrides: Iterable[str], budget: Budget, data: Path | None = None
) -> tuple[list[Entrant], Budget]:
    """An entrant for each name, in the order given, and what each may have; what cannot run is said before anything does.

    Unless named, all architectures run that the recipe's task has.
    """
    if budget.parameters is not None and budget.minutes is not None:
        raise UsageError("`parameters` and `minutes` are two ways to be fair; give one of them")
    shared, own = sort_overrides(overrides, names)
    recipe = recipes.load(path, shared, folder=data)
    recipes.require_data(recipe)
    row, known = find_task(recipe.task), config.task_settings(recipe.task).architectures
    if row.race is None:
        raise UsageError(f"{path} is of the task {recipe.task!r}, whose models cannot race: its row does not say how")
    names = usual_entrants(known) if names is None else names
    check_names(names, known)
    sizes = row.dry_run.sizes(recipe)
    as_given = recipe.model.architecture if budget == Budget() else None
    if as_given is not None:
        budget = Budget(parameters_of(recipe.model, sizes))
    entrants, mistakes = [], []
    for name in names:
        alone = own.get(name, [])
        given = [*settings_of(name, recipe, budget), *shared, *alone, f"model.architecture={name}"]
        try:
            changed: Any = recipes.load(path, given, folder=data)
        except ConfigError as error:
            mistakes += [f"entrant {name}: {mistake}" for mistake in error.mistakes]
            continue
        if budget.parameters is not None and name != as_given:
            if fixed := [each for each in alone if each.startswith("model.width")]:
                raise UsageError(
                    f"--set {name}:{fixed[0]} says what a budget of parameters should find; give one of them"
                )
            changed = replace(changed, model=widest(changed.model, sizes, budget.parameters))
        entrants.append(Entrant(name, changed, parameters_of(changed.model, sizes)))
    if mistakes:
        hint = "A setting of one entrant is given as --set NAME:section.key=value."
        raise ConfigError([*mistakes, hint])
    return entrants, budget


def usual_entrants(known: Mapping[str, object]) -> list[str]:
    """All, a task's own first one, the Transformer, last: it is what the others lead up to."""
    first, *others = known
    return [*others, first]


def check_names(names: Sequence[str], known: Mapping[str, object]) -> None:
    if not names:
        raise UsageError(f"a race needs somebody to run: `architectures` {','.join(known)}")
    for name in names:
        if name not in known:
            raise UsageError(f"unknown architecture {name!r}.{did_you_mean(name, known)} There are {', '.join(known)}")
        if names.count(name) > 1:
            raise UsageError(f"{name} cannot run twice in one race; give another variant its own `run` folder")


def sort_overrides(overrides: Iterable[str], names: Sequence[str] | None) -> tuple[list[str], dict[str, list[str]]]:
    """Overrides of all entrants, and of each: `conv:training.learning_rate=1e-3` is of the entrant conv alone."""
    shared: list[str] = []
    names = sorted({name for task in config.TASKS.values() for name in task.architectures}) if names is None else names
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


def settings_of(name: str, recipe: Any, budget: Budget) -> list[str]:
    """What an entrant has besides the recipe and what is set by hand, which wins.

    Of another architecture than its own, the recipe's model gives only its size and what stands outside of its layers;
    positions that no text reaches would only eat up parameters where they are learned.
    """
    given = []
    if name != recipe.model.architecture:
        sizes = config.task_settings(recipe.task).architectures[name].sizes
        size = recipe.model.size if recipe.model.size in sizes or not sizes else list(sizes)[-1]
        outside = {"max_positions": recipe.data.max_tokens + 1}
        outside |= {each: getattr(recipe.model, each) for each in OUTSIDE if hasattr(recipe.model, each)}
        told = "".join(f", {each}={json.dumps(value)}" for each, value in outside.items())
        given = [f'model={{size="{size}"{told}}}', *SUITED.get(name, ())]
    if budget.minutes is not None:
        given += [f"training.minutes={budget.minutes}", f"training.updates={ENDLESS}"]
        if recipe.training.schedule in ("linear", "cosine"):  # they would need to know the last update
            given.append("training.schedule=inverse-sqrt")
    return given


def parameters_of(model: config.Model, sizes: Sequence[int]) -> int:
    """How many numbers a model learns that is built with these sizes, such as that of the vocabulary."""
    return count_parameters(model, *sizes)


def widest(model: config.Model, sizes: Sequence[int], limit: int) -> config.Model:
    """The model with the width whose parameters come nearest below the limit; its feed-forward grows in proportion."""
    step = math.lcm(STEP, getattr(model, "heads", 1))

    def of(times: int) -> config.Model:
        changes: dict[str, Any] = {"width": times * step}
        if feed_forward := getattr(model, "feed_forward", 0):
            changes["feed_forward"] = max(1, round(feed_forward * times * step / model.width))
        return replace(model, **changes)

    def count(times: int) -> int:
        return parameters_of(of(times), sizes)

    if (least := count(1)) > limit:
        raise UsageError(
            f"a budget of {limit:,} parameters is too small for {model.architecture}: with {sizes[0]:,} tokens "
            f"and a width of {step}, its least, it has {least:,}"
        )
    fits, exceeds = 1, 2
    while count(exceeds) <= limit:
        fits, exceeds = exceeds, 2 * exceeds
    while exceeds - fits > 1:
        middle = (fits + exceeds) // 2
        fits, exceeds = (middle, exceeds) if count(middle) <= limit else (fits, middle)
    return of(fits)
