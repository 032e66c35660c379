"""The row of a task: all that may differ between tasks, typed. Stages are handed it and never ask which task it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any, Protocol

import torch
from torch import nn

from regard import config
from regard.checkpoint import StoredAssets
from regard.data.prepare import Builder, Prepared
from regard.training.loss import Loss
from regard.training.trainable import MicroBatch, Trainable


class Assets(Protocol):
    """What a model file carries besides weights, recipe and provenance: a tokenizer, labels, a codebook."""

    @classmethod
    def read(cls, stored: StoredAssets) -> Assets:
        """Whatever is missing or of another kind is a DataError."""
        ...

    def write(self) -> StoredAssets: ...

    @property
    def sizes(self) -> tuple[int, ...]:
        """What an architecture is built with besides its settings, such as the sizes of vocabularies."""
        ...


@dataclass(frozen=True)
class Trained:
    """What a model file holds, ready to use."""

    model: Any
    """Of the class that the recipe's settings stand for in the task's row."""
    recipe: Any
    assets: Any
    provenance: dict[str, Any]


@dataclass(frozen=True)
class Rehearsal:
    """How a recipe is tried without its data."""

    sizes: Callable[[Any], tuple[int, ...]]
    """Of a recipe, what its architecture would be built with, guessed where only the data can tell."""
    told: Callable[[tuple[int, ...]], str]
    """These sizes in words: `8,000 tokens and 2 labels`."""
    batch: Callable[[Any, int], MicroBatch]
    """(recipe, tokens) → about so many made-up tokens."""
    loss: Callable[[Any, Any, Any], Loss]
    """(recipe, model, batch) → the loss of them."""


@dataclass(frozen=True)
class Task:
    """One row of the table of tasks."""

    settings: config.TaskSettings
    """The half that needs no torch: names, recipes, architectures, metrics."""
    models: dict[type[config.Model], Callable[..., nn.Module]]
    """By the class of its settings, each architecture: called with the settings and the sizes of the assets."""
    assets: type[Assets]
    data: Builder
    """How its corpus becomes a prepared folder."""
    read: Callable[[Any, str], Iterator[Any]]
    """(`[data]`, name of a split) → its examples."""
    training: Callable[[Any, Prepared, int, torch.device], Trainable]
    """Of a recipe, its prepared data, the micro-batches of an update and a device: what the loop trains with."""
    rehearsal: Rehearsal
    load: Callable[..., Any]
    """(Trained, its name, and options of its own) → what `regard.load` returns."""
    serve: Callable[..., None] | None = None
    """(FastAPI app, Service) → adds the paths that its models answer; late, because fastapi is an extra."""
    ask: Callable[..., dict[str, Any]] | None = None
    """(a model, the server's limits) → what the page that asks models should know of this one."""
    front_page: Callable[..., str] | None = None
    """(Service, folders of the models) → the server's page at `/`, if the task has one of its own."""

    @property
    def name(self) -> str:
        return self.settings.name

    @property
    def verb(self) -> str:
        return self.settings.verb

    def build(self, settings: config.Model, sizes: Sequence[int]) -> nn.Module:
        """An untrained model; torch's seed decides its weights."""
        return self.models[type(settings)](settings, *sizes)

    def understands(self, door: str, option: str) -> bool:
        """Whether a door of this task, such as `load`, takes an option."""
        return option in signature(getattr(self, door)).parameters
