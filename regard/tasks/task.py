"""The row of a task: all that may differ between tasks, typed. Stages are handed it and never ask which task it is."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from inspect import Parameter, signature
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from rich.console import Console
from torch import nn

from regard import config
from regard.checkpoint import StoredAssets
from regard.data.prepare import Builder, Prepared
from regard.training.loss import Loss
from regard.training.trainable import MicroBatch, Trainable

if TYPE_CHECKING:
    from regard.tasks.exporting import Exported
    from regard.tasks.neighbours import WordVectors
    from regard.tasks.vectors import TextVectors


ENOUGH_EXAMPLES = 1_000_000  # of each split are read by a dry run: seconds


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


def read_through(recipe: Any, split: str, examples: Iterator[Any]) -> Iterator[str]:
    """Reading alone finds what is wrong with a file; nothing else is known of the examples."""
    deque(islice(examples, ENOUGH_EXAMPLES), maxlen=0)
    return iter(())


@dataclass(frozen=True)
class DryRunner:
    """How a recipe is tried without its data."""

    sizes: Callable[[Any], tuple[int, ...]]
    """Of a recipe, what its architecture would be built with, guessed where only the data can tell."""
    told: Callable[[tuple[int, ...]], str]
    """These sizes in words: `8,000 tokens and 2 labels`."""
    batch: Callable[[Any, int], MicroBatch]
    """(recipe, tokens) → about so many made-up tokens."""
    loss: Callable[[Any, Any, Any], Loss]
    """(recipe, model, batch) → the loss of them."""
    survey: Callable[[Any, str, Iterator[Any]], Iterator[str]] = read_through
    """(recipe, name of a split, its examples, at least one) → reads them, or enough of them, and says what is hardly meant; what training
    would stop at is a DataError."""
    compare: Callable[[Any], Iterator[str]] = lambda recipe: iter(())
    """(recipe, whose files can be read) → what is hardly meant though each split alone may be right, such as validation text that training holds."""


class Result(Protocol):
    """What a model came to on one test set."""

    @property
    def name(self) -> str:
        """Of the test set."""
        ...

    def lines(self) -> list[str]:
        """For people."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """For JSON; `scores` is what `stored` gives."""
        ...

    def stored(self) -> list[dict[str, Any]]:
        """The scores as a model file keeps them; the first is the one to tell."""
        ...


class Scored(Protocol):
    """How probable a model finds a text; as a string, a line of the command line."""

    @property
    def log_probability(self) -> float: ...

    def to_dict(self) -> dict[str, Any]: ...


class Seen(Protocol):
    """What a look into a model at work showed."""

    def draw(self, console: Console) -> None:
        """In a terminal."""
        ...

    def write(self, path: str | Path, command: str = "") -> None:
        """As one HTML file that needs nothing else; `command` made it."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """All that the page shows, as plain JSON values."""
        ...


@dataclass(frozen=True)
class Examples:
    """A test set in memory: what models are given, and what is wanted of them."""

    name: str
    sources: list[str]
    references: list[str]


class Judged(Protocol):
    """What a judge needs of a test set."""

    @property
    def name(self) -> str: ...
    @property
    def sources(self) -> list[str]: ...
    @property
    def references(self) -> list[str]: ...


@dataclass(frozen=True)
class Metric:
    """One more way to count, as in `Judge`."""

    metric: str
    counts: Callable[[Any, list[Any], Judged], NDArray[np.floating[Any]]]
    score: Callable[[Any, NDArray[np.floating[Any]]], float]
    signature: Callable[[Any], str] = lambda recipe: ""
    lower: bool = False


@dataclass(frozen=True)
class Judge:
    """How many runs are compared: by what each counts in every example, so that examples can be drawn again and again."""

    metric: str
    """As people read it: `BLEU`."""
    test_sets: Callable[[Any], Sequence[Judged]]
    """Of a recipe."""
    answers: Callable[[Path, Judged], list[Any]]
    """(A run folder, a test set) → what its model answers to each example, as JSON can hold it."""
    quick: Callable[[Any, list[str]], Iterable[Any]]
    """(A loaded model, sources) → the same, as fast as it goes: whoever asks the same again and again."""
    counts: Callable[[Any, list[Any], Judged], NDArray[np.floating[Any]]]
    """(Recipe, answers, test set) → [examples, counts], whose sum is all that the score needs."""
    score: Callable[[Any, NDArray[np.floating[Any]]], float]
    """(Recipe, summed counts) → the score."""
    signature: Callable[[Any], str] = lambda recipe: ""
    """Of a recipe: how exactly it is counted."""
    lower: bool = False
    """Whether less is better."""
    by_validation: bool = False
    """Whether a recipe that names no test set is judged on its validation text."""
    also: tuple[Metric, ...] = ()
    """Told besides where models race."""

    @property
    def metrics(self) -> list[Metric]:
        """All of them, the one that decides first."""
        return [Metric(self.metric, self.counts, self.score, self.signature, self.lower), *self.also]


@dataclass(frozen=True)
class Racing:
    """What a race asks of models of the task; its texts are in English and in Korean."""

    curve: str
    """What validations call the score: `bleu`."""
    answers: Callable[[Any, list[str]], Iterable[Any]]
    """(A loaded model, sources) → what it answers to each, as a judge counts it."""
    told: Callable[[Any], str]
    """(An answer) → as people read it."""
    timed: Callable[[Any, list[str]], int]
    """(A loaded model, sources) → answers them as fast as it goes, and tells how many tokens that took."""
    longest: Callable[[Any], int]
    """(A loaded model) → the tokens of a text that it reads in one go."""
    look: Callable[[Any, str], dict[str, Any] | None]
    """(A loaded model, a source) → `source` and `target` words and the `weights` between them (view/arrays.py), or None if it has
    no attention."""
    meaning: tuple[str, str]
    """What such a look shows."""
    work: tuple[str, str]
    """What is timed: `translating greedily`."""
    facts: Callable[[Any], dict[str, str]] = lambda recipe: {}
    """(A recipe) → what the page's header tells of it besides."""


@dataclass(frozen=True)
class GlassBox:
    """How a server looks into models of the task at work on one text; the options are those of `options`."""

    scenes: Callable[..., Iterator[Any]]
    """(A model, a text, options) → one scene (view/scenes.py) for each part of it."""
    size: Callable[..., int]
    """(A model, a text, options) → how many weights and positions they hold at most."""
    cost: Callable[..., int]
    """(A model, a text, options) → how many tokens are computed for it."""
    about: Callable[[Any], dict[str, Any]]
    """(A model) → what the live page should know of it: `attentions` by kind, `beam`, `languages`, the `targets` among them, `examples`."""
    options: tuple[str, ...] = ()
    remedy: str = "Look at a shorter text."
    portable: Callable[[Any], dict[str, Any]] | None = None
    """(A model) → what a page needs to compute as it does; None: it cannot."""


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
    dry_run: DryRunner
    load: Callable[..., Any]
    """(Trained, its name, and options of its own) → what `regard.load` returns."""
    ensemble: Callable[..., Any] | None = None
    """(Several Trained, their names, and the options of `load`) → the same, of which all answer together by the mean of their
    probabilities; what they must share and do not is a UsageError."""
    renewed: Callable[[Any, Any], tuple[str, ...]] = lambda theirs, own: ()
    """(Assets of a model to start from, own) → the parts whose weights mean something else there and are learned anew."""
    serve: Callable[..., None] | None = None
    """(FastAPI app, Service) → adds the paths that its models answer; late, because fastapi is an extra."""
    ask: Callable[..., dict[str, Any]] | None = None
    """(a model, the server's limits) → what the page that asks models should know of this one."""
    front_page: Callable[..., str] | None = None
    """(Service, folders of the models) → the server's page at `/`, if the task has one of its own."""
    evaluate: Callable[..., Iterator[Result]] | None = None
    """(Name of a model, the folder of its data if somebody named one, and options of its own) → what it came to on each
    test set; whoever knows an option `save` is told whether the scores are to be stored."""
    score: Callable[..., Iterator[Scored]] | None = None
    """(Name of a model, texts or None, how many to read ahead, and options of its own) → one answer for each text."""
    view: Callable[..., Seen] | None = None
    """(Name of a model, a text or None, and options of its own) → what is to be seen."""
    examples: Callable[..., Sequence[Judged]] | None = None
    """(A loaded model, its name, the folder of its data if somebody named one, and files as options of its own) → test sets in
    memory, at least one."""
    live_page: Callable[[Any, str, str | None], Seen] | None = None
    """(A loaded model, its name, a text or None) → a page with the model inside, if that is none of a glass box."""
    glass_box: GlassBox | None = None
    """How a server looks into its models."""
    judge: Judge | None = None
    """How experiments compare its runs."""
    race: Racing | None = None
    """What a race shows of its models."""
    embed: Callable[..., TextVectors] | None = None
    """(Name of a model, and options of its own) → what makes vectors of texts."""
    export: Callable[..., Exported] | None = None
    """(Name of a model, engine, folder or None, whether in 8 bits, the folder of its data, how many samples to compare, and
    options of its own) → what was written, and whether it does the same."""
    neighbours: Callable[..., WordVectors] | None = None
    """(Name of a model, and options of its own) → its words with their vectors."""

    @property
    def name(self) -> str:
        return self.settings.name

    @property
    def verb(self) -> str:
        return self.settings.verb

    def build(self, settings: config.Model, sizes: Sequence[int]) -> nn.Module:
        """An untrained model; torch's seed decides its weights."""
        return self.models[type(settings)](settings, *sizes)

    def options(self, door: str) -> dict[str, Any]:
        """What a door of this task, such as `load`, can be told, and what it assumes."""
        if (function := getattr(self, door)) is None:
            return {}
        parameters = signature(function).parameters.values()
        return {each.name: each.default for each in parameters if each.kind is Parameter.KEYWORD_ONLY}

    def understands(self, door: str, option: str) -> bool:
        """Whether a door of this task takes an option."""
        return option in self.options(door)
