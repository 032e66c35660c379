"""`training.start` and `training.freeze`: weights that were trained before, by this task or another."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from regard.checkpoint import ModelFile, check_weights, unique_weights
from regard.config import Recipe
from regard.config.paths import inside
from regard.data.ids import checksum
from regard.data.tokenizer import Tokenizer
from regard.errors import ConfigError, UsageError, did_you_mean, shown
from regard.models.outline import outline
from regard.tasks.registry import find_task
from regard.tasks.task import Task
from regard.tasks.trained import open_model

GENERATIONS = 20
"""Ancestors that a model file tells of."""
TOLD = ("seed", "updates", "training_examples", "data", "versions")
"""Of each, what its own file says of it."""


@dataclass(frozen=True)
class Start:
    """A trained model that another starts from, read with the same care as any: whole, and fitting its own recipe."""

    name: str
    file: ModelFile
    row: Task
    assets: Any
    model: nn.Module
    """Without weights: what the file's are the weights of."""
    checksum: str
    """sha256 of the file."""
    one_text: bool
    """Whether who starts from it reads but one text."""

    @property
    def tokenizer(self) -> Tokenizer | None:
        """What the new model has to read with."""
        tokenizer: Tokenizer | None = getattr(self.assets, "tokenizer", None)
        return tokenizer.source_only if tokenizer is not None and self.one_text else tokenizer

    @property
    def ancestry(self) -> dict[str, Any]:
        """Where it comes from, and where that came from."""
        told = self.file.provenance
        before, depth = told.get("start"), 1
        while isinstance(before, dict) and depth < GENERATIONS:
            before, depth = before.get("start"), depth + 1
        own = {key: told[key] for key in TOLD if key in told}
        older = {"start": told["start"]} if "start" in told and depth < GENERATIONS else {}
        return {"model": inside(self.name), "recipe": self.file.recipe.name, "task": self.row.name,
                "sha256": self.checksum, **own, **older}  # fmt: skip

    def fill(self, model: nn.Module, row: Task, assets: Any) -> list[str]:
        """Copy what fits into a model that was just built → what was taken, in words."""
        wanted = unique_weights(model)
        names = self.names(model, row, row.renewed(self.assets, assets) if row.name == self.row.name else ())
        for own, theirs in names.items():
            found = self.file.weights[theirs]
            if found.shape != wanted[own].shape and not self._has_grown(found, wanted[own], assets):
                raise ConfigError([
                    f"training.start = {shown(self.name)}: its {theirs} is {list(found.shape)}, but {list(wanted[own].shape)}"
                    " is needed; leave out of [model] what decides it"
                ])  # fmt: skip
        with torch.no_grad():
            for own, theirs in names.items():
                found, into = self.file.weights[theirs], wanted[own]
                (into if found.shape == into.shape else into[: len(found)]).copy_(found)
        return list(self._told(wanted, names))

    def names(self, model: nn.Module, row: Task, anew: Collection[str] = ()) -> dict[str, str]:
        """What the weights that can be taken over are called there; none is an error. Parts in `anew` are not taken."""
        wanted = unique_weights(model)
        if row.name != self.row.name:
            return dict(self._of_reader(model, wanted))
        return {name: name for name in wanted if name.split(".")[0] not in anew}

    def _has_grown(self, found: Tensor, wanted: Tensor, assets: Any) -> bool:
        """Whether a weight has a row for each token, and now some more: placeholders and tags stand behind all other tokens,
        and those that are new begin as any weight does."""
        if self.tokenizer is None or found.dim() == 0 or found.shape[1:] != wanted.shape[1:]:
            return False
        sizes = [(self.tokenizer.size(side), assets.tokenizer.size(side)) for side in ("source", "target")]
        return len(wanted) > len(found) and (len(found), len(wanted)) in sizes

    def _of_reader(self, model: nn.Module, wanted: Mapping[str, Tensor]) -> Iterator[tuple[str, str]]:
        """(A weight of embedding, layers or norm, what the start of another task calls it), where both have it."""
        ours, theirs = getattr(model, "reader", None), getattr(self.model, "reader", None)
        if ours is None or theirs is None:
            what = self.file.recipe.model.architecture if theirs is None else "the recipe's architecture"
            raise UsageError(
                f"training.start = {shown(self.name)} is of the task {self.row.name!r}, and between tasks only layers of"
                f" attention can be taken over; {what} has none"
            )
        for name in wanted:
            for own, other in zip(ours, theirs, strict=True):
                if name.startswith(f"{own}.") and (found := f"{other}{name[len(own) :]}") in self.file.weights:
                    yield name, found

    def _told(self, wanted: Mapping[str, Tensor], names: Mapping[str, str]) -> Iterator[str]:
        yield f"start  {self.name}: {len(names)} of {len(wanted)} tensors are taken from there: {_parts(names)}"
        if missing := [name for name in wanted if name not in names]:
            yield f"  {len(missing)} are learned from the beginning: {_parts(missing)}"


def read_start(recipe: Recipe) -> Start | None:
    """The model that a recipe starts from, if any; a file that is damaged or does not fit itself is an error."""
    name = recipe.training.start
    if not name:
        return None
    file, row, assets = open_model(name)
    with outline():
        model = row.build(file.recipe.model, assets.sizes)
    check_weights(model, file.weights, file.path)
    one_text = find_task(recipe.task).settings.text_options == ("file",)
    return Start(name, file, row, assets, model, checksum(Path(file.path)), one_text)


def freeze(model: nn.Module, names: tuple[str, ...]) -> list[str]:
    """Let parts of a model keep their weights → which, in words. A part is a module's name, or what its name begins or ends
    with: `embedding` is also `source_embedding`."""
    reader = getattr(model, "reader", None)
    frozen: list[str] = []
    for part in names:
        also = (reader.layers, reader.norm) if reader is not None and part == "encoder" else ()
        found = [name for name in unique_weights(model) if _belongs(name, (part, *also))]
        if not found:
            known = sorted({each for name in unique_weights(model) for each in (name.split(".")[0],)} | set(also))
            hint = did_you_mean(part, known)
            raise ConfigError(
                [f"training.freeze names {shown(part)}, which the model lacks.{hint} It has: {', '.join(known)}"]
            )
        frozen += found
    weights = unique_weights(model)
    for name in frozen:
        weights[name].requires_grad_(False)
    if not any(each.requires_grad for each in weights.values()):
        raise ConfigError(["training.freeze leaves nothing to learn"])
    count = sum(weights[name].numel() for name in {*frozen})
    return [f"frozen  {count:,} parameters: {_parts(frozen)}"] if frozen else []


def _belongs(name: str, parts: tuple[str, ...]) -> bool:
    first = name.split(".")[0]
    return any(
        name.startswith(f"{part}.") or first.startswith(f"{part}_") or first.endswith(f"_{part}") or name == part
        for part in parts
    )


def _parts(names: Any) -> str:
    """The modules of weights, each once."""
    return ", ".join(dict.fromkeys(name.split(".")[0] for name in names))
