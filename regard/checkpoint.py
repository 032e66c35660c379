"""The hinge: one file per model, which training writes and everything else reads.

`model.safetensors` holds the weights, and in its metadata the recipe, the provenance, a format version and the assets
that the task keeps besides (a tokenizer, labels); assets that are tensors stand among the weights as `asset.NAME`. Only
safetensors, JSON and TOML: a file of regard cannot execute code. Every write is atomic: to a temporary file, to the disk,
then renamed. Every file carries a checksum of all that it says, which is compared whenever it is read.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from regard import files
from regard.config import Recipe, recipes
from regard.config.model_file import (
    CHECKSUM,
    FORMAT,
    checksum_of_words,
    read_stored,
    stored_checksum,
    unusable,
    words_of_tensor,
)
from regard.config.paths import without_paths
from regard.config.stored import BUNDLED, BUNDLED_FOLDER, MODEL, find_model, read_content, stored_task
from regard.errors import CheckpointError, DamagedError, shown

__all__ = ["BUNDLED", "BUNDLED_FOLDER", "FORMAT", "MODEL", "find_model", "unusable"]  # besides what is defined here

ASSET = "asset."

WEIGHTS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
"""What weights can be stored as."""

FORMAT_1_ASSETS = ("lexicon.",)
"""Tensors of format 1 that are no weights."""
FORMAT_1_WEIGHTS = {
    "calm": "sentinel_bias",
    "found": "attention_output",
    "gates": "cluster_weight",
    "vocabulary": "sentinel",
    "votes": "ngram_bag",
}
"""Between the dots of a weight's name: what modules and parameters were called in format 1, and are called now."""


@dataclass(frozen=True)
class StoredAssets:
    """What a task keeps in a model file besides weights, recipe and provenance."""

    content: Mapping[str, Any] = field(default_factory=dict)
    """As JSON."""
    tensors: Mapping[str, Tensor] = field(default_factory=dict)


@dataclass(frozen=True)
class ModelFile:
    """What a model file says, before a task makes something of it."""

    path: Path
    weights: Mapping[str, Tensor]
    recipe: Any
    """Of the class that its task's settings name."""
    assets: StoredAssets
    provenance: dict[str, Any]


def save_model(
    path: Path,
    weights: Mapping[str, Tensor],
    recipe: Recipe,
    assets: StoredAssets,
    provenance: Mapping[str, Any],
    *,
    half: bool = False,
) -> None:
    """Write a model file. `half` stores 16-bit weights: half the size, computed in 32 bits again when loaded."""
    metadata = {
        "format": str(FORMAT),
        "recipe": json.dumps(recipes.to_dict(without_paths(recipe)), ensure_ascii=False),
        "assets": json.dumps(assets.content, ensure_ascii=False),
        "provenance": json.dumps(provenance, ensure_ascii=False),
    }
    tensors = {name: tensor.half() if half else tensor for name, tensor in weights.items()}
    write(path, {**tensors, **{f"{ASSET}{name}": tensor for name, tensor in assets.tensors.items()}}, metadata)


def read_model(name: str | Path) -> ModelFile:
    """Read a model by run folder, file, or bundled name (`demo`)."""
    path = find_model(name)
    try:
        tensors, metadata = read(path)
    except DamagedError as error:
        again = "put back a copy of it, or make it again in its run folder with `regard train`"
        raise DamagedError(f"{error} If it was a model: {again}.") from None
    stored = read_stored(path, metadata)
    kept = {name: name for name in tensors if name.startswith(ASSET)}
    if stored.format == 1:
        kept = {name: f"{ASSET}{name}" for name in tensors if name.startswith(FORMAT_1_ASSETS)}
    assets = {new.removeprefix(ASSET): tensors.pop(old) for old, new in kept.items()}
    if stored.format == 1:
        tensors = {present_name(name): tensor for name, tensor in tensors.items()}
    return ModelFile(path, tensors, stored.recipe, StoredAssets(stored.assets, assets), stored.provenance)


def present_name(name: str) -> str:
    """Of a weight in format 1: what it is called now."""
    return ".".join(FORMAT_1_WEIGHTS.get(part, part) for part in name.split("."))


def task_of(name: str | Path) -> str:
    """What a model does, without reading its weights."""
    return stored_task(name) or str(read_model(name).recipe.task)  # which says what is wrong with it


def store_scores(path: Path, scores: Mapping[str, Any]) -> None:
    """Write test scores into a model file, beside what its provenance says already."""
    weights, metadata = read(path)
    provenance = read_content(path, metadata, "provenance")
    before = provenance.get("scores")
    provenance["scores"] = {**(before if isinstance(before, dict) else {}), **scores}
    write(path, weights, {**metadata, "provenance": json.dumps(provenance, ensure_ascii=False)})


def load_weights(model: torch.nn.Module, weights: Mapping[str, Tensor], path: Path) -> None:
    """Fill the model; what `check_weights` finds is an error."""
    check_weights(model, weights, path)
    with torch.no_grad():
        for name, tensor in unique_weights(model).items():
            tensor.copy_(weights[name])


def check_weights(model: torch.nn.Module, weights: Mapping[str, Tensor], path: Path) -> None:
    """A tensor that is missing, left over, misshapen or no weight is an error that names it. The model may be on `meta`."""
    wanted = unique_weights(model)
    problems = [f"{name} is missing" for name in wanted if name not in weights]
    problems += [f"{shown(name)[1:-1]} is unknown" for name in weights if name not in wanted]
    for name, tensor in wanted.items():
        found = weights.get(name, tensor)
        if found.shape != tensor.shape:
            problems.append(f"{name} is {list(found.shape)} instead of {list(tensor.shape)}")
        elif found.dtype not in WEIGHTS:
            problems.append(f"{name} holds {str(found.dtype).removeprefix('torch.')} instead of floating-point numbers")
        elif not is_finite(found):
            problems.append(f"{name} holds what is no number (NaN), or is infinite")
    if problems:
        raise CheckpointError(f"{path} does not fit its own recipe: {'; '.join(problems[:5])}")


def is_finite(tensor: Tensor) -> bool:
    """Whether all are numbers; found without a copy of them. On `meta` there are none."""
    return tensor.is_meta or not tensor.numel() or bool(torch.stack(torch.aminmax(tensor)).isfinite().all())


def unique_weights(model: torch.nn.Module) -> dict[str, Tensor]:
    """Parameters by name; a tied one only once, under its first name."""
    return dict(model.named_parameters())


def average(paths: Iterable[Path]) -> dict[str, Tensor]:
    """The mean of the weights in several files, summed in double precision, one file in memory at a time."""
    total: dict[str, Tensor] = {}
    count = 0
    for path in paths:
        weights, _ = read(path)
        count += 1
        for old, tensor in weights.items():
            name = present_name(old)  # a run may have begun when it was called otherwise
            total[name] = tensor.double() if name not in total else total[name].add_(tensor)
    return {name: (tensor / count).float() for name, tensor in total.items()}


def write(path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str], previous: Path | None = None) -> None:
    """Tensors and metadata into a safetensors file, atomically, with their checksum. What it replaces stays as `previous`."""
    with replacing(path, previous) as temporary:
        solid = {name: tensor.contiguous() for name, tensor in tensors.items()}
        save_file(solid, temporary, {**metadata, CHECKSUM: checksum_of(sorted(solid.items()), metadata)})


def checksum_of(tensors: Iterable[tuple[str, Tensor]], metadata: Mapping[str, str]) -> str:
    """Of every name, type, shape and number, in the order of names, and of what the metadata says besides.

    CRC-32 finds every flipped bit and all but one in four thousand million of other damages, several gigabytes a second.
    It is against accidents: who changes a file on purpose can change its checksum, too.
    """
    found = checksum_of_words(metadata)
    for name, tensor in tensors:
        kind = str(tensor.dtype).removeprefix("torch.")
        found = zlib.crc32(words_of_tensor(name, kind, list(tensor.shape)), found)
        found = zlib.crc32(tensor.detach().reshape(-1).view(torch.uint8).numpy().data, found)
    return f"crc32:{found:08x}"


@contextmanager
def replacing(path: Path, previous: Path | None = None) -> Iterator[Path]:
    """As in files.py; what cannot be written is an error of this stage."""
    try:
        with files.replacing(path, previous) as temporary:
            yield temporary
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"cannot write {path}: {error}. What was there before is untouched.") from None


def read(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """All tensors and the metadata of a safetensors file, compared with its checksum. Their numbers stay on the disk:
    memory holds only what somebody looks at."""
    with open_tensors(path) as file:
        metadata = compare_checksum(path, file)
        return {name: file.get_tensor(name) for name in file.keys()}, metadata  # noqa: SIM118


def compare_checksum(path: Path, file: Any) -> dict[str, str]:
    """The metadata of a file that is as it was written, one tensor in memory at a time. A file from before there were
    checksums is taken at its word."""
    try:
        metadata = dict(file.metadata() or {})
        stored = stored_checksum(metadata)
        found = checksum_of(((name, file.get_tensor(name)) for name in sorted(file.keys())), metadata)
    except (SafetensorError, RuntimeError, AttributeError, TypeError) as error:  # numbers that torch does not know
        raise DamagedError(f"cannot read the tensors of {path}: {error}") from None
    if stored is not None and found != stored:
        raise DamagedError(f"{path} is damaged: its content does not match its checksum.")
    return metadata


def open_tensors(path: Path) -> safe_open:
    """A safetensors file to read tensor by tensor; that it is whole is known from here on."""
    try:
        return safe_open(path, framework="pt")
    except FileNotFoundError:
        raise DamagedError(f"no file {path}") from None
    except (OSError, SafetensorError) as error:
        raise DamagedError(f"cannot read {path}: {error}. It is damaged or not a safetensors file.") from None
