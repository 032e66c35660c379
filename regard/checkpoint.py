"""The hinge: one file per model, which training writes and everything else reads.

`model.safetensors` holds the weights, and in its metadata the recipe, the provenance, a format version and the assets
that the task keeps besides (a tokenizer, labels); assets that are tensors stand among the weights as `asset.NAME`. Only
safetensors, JSON and TOML: a file of regard cannot execute code. Every write is atomic: to a temporary file, to the disk,
then renamed. Every file carries a checksum of all that it says, which is compared whenever it is read.
"""

from __future__ import annotations

import difflib
import json
import re
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

from regard import __version__, files
from regard.config import Recipe, recipes, task_settings
from regard.config.aliases import drop_unheeded
from regard.config.paths import without_paths
from regard.config.stored import BUNDLED, BUNDLED_FOLDER, MODEL, find_model, read_content
from regard.config.tasks import names
from regard.errors import CheckpointError, ConfigError, DamagedError, UsageError, shown

__all__ = ["BUNDLED", "BUNDLED_FOLDER", "MODEL", "find_model"]  # besides what is defined here

FORMAT = 2
ASSET = "asset."
CHECKSUM = "checksum"

WEIGHTS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
"""What weights can be stored as."""

FORMAT_1_ASSETS = ("lexicon.",)
"""Tensors of format 1 that are no weights."""
FORMAT_1_PROVENANCE = {"source_pieces": "source_tokens", "training_pairs": "training_examples"}
"""What provenance called things in format 1, and calls them now."""
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
    version, parts = _parts(path, metadata)
    _require_architecture(path, parts["recipe"])
    try:
        recipe = without_paths(recipes.parse(parts["recipe"]))
    except (ConfigError, UsageError) as error:
        raise unusable(path, parts["provenance"], error) from None
    content, kept = parts["assets"], {name: name for name in tensors if name.startswith(ASSET)}
    if version == 1:
        kept = {name: f"{ASSET}{name}" for name in tensors if name.startswith(FORMAT_1_ASSETS)}
    assets = {new.removeprefix(ASSET): tensors.pop(old) for old, new in kept.items()}
    if version == 1:
        tensors = {present_name(name): tensor for name, tensor in tensors.items()}
    return ModelFile(path, tensors, recipe, StoredAssets(content, assets), parts["provenance"])


def present_name(name: str) -> str:
    """Of a weight in format 1: what it is called now."""
    return ".".join(FORMAT_1_WEIGHTS.get(part, part) for part in name.split("."))


def _parts(path: Path, metadata: Mapping[str, str]) -> tuple[int, dict[str, dict[str, Any]]]:
    """The format's number, and by name the tables that the metadata holds; of format 1 in today's shape."""
    try:
        if not re.fullmatch("[0-9]{1,9}", metadata["format"]):
            raise ValueError("not a number")
        version = int(metadata["format"])
        if not 1 <= version <= FORMAT:
            raise CheckpointError(f"{path} has format {version}; this regard reads 1 to {FORMAT}. Upgrade regard.")
        if version == 1:
            names = ("recipe", "tokenizer", "provenance", "facts")
            parts = {name: read_content(path, {"facts": "{}", **metadata}, name) for name in names}
            parts["assets"] = {"tokenizer": parts.pop("tokenizer"), **parts.pop("facts")}
            drop_unheeded(parts["recipe"])
            told = parts["provenance"].items()
            parts["provenance"] = {FORMAT_1_PROVENANCE.get(name, name): value for name, value in told}
        else:
            parts = {name: read_content(path, metadata, name) for name in ("recipe", "assets", "provenance")}
        if not all(isinstance(part, dict) for part in parts.values()):
            raise ValueError("not a table")
    except CheckpointError:
        raise
    except (KeyError, ValueError, TypeError, AttributeError, RecursionError):
        raise CheckpointError(
            f"{path} is a safetensors file, but not a model of regard; name a run folder or its {MODEL}"
        ) from None
    return version, parts


def _require_architecture(path: Path, recipe: Mapping[str, Any]) -> None:
    """A model file names no code: of an architecture that is not known here, a person must say where it is."""
    task, model = names().get(str(recipe.get("task"))), recipe.get("model")
    wanted = model.get("architecture") if isinstance(model, dict) else None
    if task is not None and isinstance(wanted, str) and wanted not in task.architectures:
        raise CheckpointError(
            f"{path}: the architecture {wanted!r} is of a plug-in: load it with --plugin FILE, or import it in Python"
        )


def unusable(path: Path, provenance: Mapping[str, Any], error: Exception) -> CheckpointError:
    """What to say of a file whose content is readable, but wrong."""
    versions = provenance.get("versions")
    writer = versions.get("regard") if isinstance(versions, dict) else None
    return CheckpointError(
        f"{path} cannot be used: {error}\nIt was written by regard {writer or 'an unknown version'}; this is {__version__}."
    )


def task_of(name: str | Path) -> str:
    """What a model does, without reading its weights."""
    path = find_model(name)
    try:
        with safe_open(path, framework="pt") as file:
            return task_settings(read_content(path, file.metadata() or {}, "recipe")["task"]).name
    except (OSError, SafetensorError, KeyError, ValueError, TypeError, RecursionError, UsageError):
        return str(read_model(name).recipe.task)  # which says what is wrong with it


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
    told = sorted((name, text) for name, text in metadata.items() if name != CHECKSUM)
    found = zlib.crc32(json.dumps(told).encode())
    for name, tensor in tensors:
        found = zlib.crc32(f"{name} {tensor.dtype} {list(tensor.shape)}".encode("utf-8", "surrogatepass"), found)
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
        # A bit that flipped in the checksum's own name must not make the file look like an old one.
        stored = metadata.pop(CHECKSUM, None) or ("" if difflib.get_close_matches(CHECKSUM, metadata) else None)
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
