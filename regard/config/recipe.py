"""One experiment, and the half of a task's row that needs no torch: its recipes, architectures and names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, get_type_hints

from regard.config.data import Data, TextData, Tokenizer
from regard.config.model import Model
from regard.config.training import Training


@dataclass(frozen=True)
class Recipe:
    """One experiment. What a model file stores of itself."""

    name: str = "model"
    """Names the run folder, `runs/NAME`; the recipe's file name unless stated."""
    task: str = ""
    """What the model does."""
    data: Data = field(default_factory=Data)
    model: Model = field(default_factory=Model)
    training: Training = field(default_factory=Training)

    def impossible(self) -> Iterator[str]:
        """What is wrong though each setting alone is right."""
        yield from self.data.impossible()
        yield from self.model.impossible()
        yield from self.training.impossible()


@dataclass(frozen=True)
class TextRecipe(Recipe):
    """One with text, which is cut into tokens."""

    data: TextData = field(default_factory=TextData)
    tokenizer: Tokenizer = field(default_factory=Tokenizer)

    def impossible(self) -> Iterator[str]:
        yield from super().impossible()
        yield from self.tokenizer.impossible()
        if getattr(self.training, "subword_sampling", 0) and self.tokenizer.kind in ("words", "characters"):
            yield (
                "training.subword_sampling cuts words into other tokens: with "
                f"tokenizer.kind = {self.tokenizer.kind!r} there are none"
            )
        needed = self.data.max_tokens + 1
        if needed > self.model.max_positions:
            yield f"data.max_tokens = {needed - 1} needs model.max_positions of at least {needed}"


@dataclass(frozen=True)
class Architecture:
    """What `model.architecture` stands for."""

    settings: type[Model]
    sizes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """What `model.size` stands for; without any, a size means nothing."""


@dataclass(frozen=True)
class TaskSettings:
    """All that reading a recipe must know of a task. The other half of its row is in its room: tasks/ROOM/task.py."""

    name: str
    """What recipes and model files call it; the names of Hugging Face's pipelines where they have one."""
    aliases: tuple[str, ...]
    """What they called it before."""
    room: str
    """Its folder below regard/tasks."""
    verb: str
    """What the command line calls it at work."""
    recipe: type[Recipe]
    metrics: tuple[str, ...]
    """What `training.metric` can be."""
    architectures: dict[str, Architecture]
    """By name; the first is what a recipe means that names none. Plug-ins add theirs."""
    text_options: tuple[str, ...] = ("file",)
    """The options that give other text to be tested on than the recipe's, a file each."""
    given: str = "'some text'"
    """What its verb is given, in an example; nothing if its models are not for use alone."""

    @property
    def sections(self) -> dict[str, Any]:
        """By name, the classes that read the sections of a recipe; that of [model] depends on the architecture."""
        return {name: kind for name, kind in get_type_hints(self.recipe).items() if name not in ("name", "task")}
