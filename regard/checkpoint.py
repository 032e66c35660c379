"""The hinge: one file per model, which training writes and everything else reads.

`model.safetensors` holds the weights, and in its metadata the recipe, the tokenizer, a format version and the
provenance. Only safetensors, JSON and TOML: a file of regard cannot execute code. Every write is atomic: to a
temporary file, to the disk, then renamed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from regard import __version__, config, files, recipes
from regard.data.tokenizer import Tokenizer
from regard.errors import CheckpointError, ConfigError, DataError, did_you_mean
from regard.models.build import build
from regard.models.shortlist import Lexicon

FORMAT = 1
MODEL = "model.safetensors"
LEXICON = "lexicon"  # its tensors are in the file, but are no weights
BUNDLED = ("demo",)
BUNDLED_FOLDER = Path(str(resources.files("regard") / "bundled"))


@dataclass(frozen=True)
class Trained:
    """What a model file holds, ready to use."""

    model: Any
    """Of the class that the recipe's settings stand for in models/build.py."""
    tokenizer: Tokenizer
    recipe: Any
    """Of the class that its task has in config.TASKS."""
    provenance: dict[str, Any]
    lexicon: Lexicon | None = None
    """For shortlists; models from before there were any have none."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What a task must remember besides: the labels of a classifier, the temperature that calibrates it."""


def save_model(
    path: Path,
    weights: Mapping[str, Tensor],
    recipe: config.Recipe,
    tokenizer: Tokenizer,
    provenance: Mapping[str, Any],
    *,
    lexicon: Lexicon | None = None,
    facts: Mapping[str, Any] = {},
    half: bool = False,
) -> None:
    """Write a model file. `half` stores 16-bit weights: half the size, computed in 32 bits again when loaded."""
    settings = without_paths(recipes.to_dict(recipe))
    settings["data"]["folder"] = ""
    metadata = {
        "format": str(FORMAT),
        "recipe": json.dumps(settings, ensure_ascii=False),
        "tokenizer": json.dumps(tokenizer.to_dict()),
        "provenance": json.dumps(provenance, ensure_ascii=False),
    }
    if facts:
        metadata["facts"] = json.dumps(facts, ensure_ascii=False)
    tensors = {name: tensor.half() if half else tensor for name, tensor in weights.items()}
    if lexicon is not None:
        tensors |= {f"{LEXICON}.{name}": tensor for name, tensor in lexicon._asdict().items()}
    write(path, tensors, metadata)


def load_model(name: str | Path, device: str | torch.device = "cpu") -> Trained:
    """Read a model by run folder, file, or bundled name (`demo`)."""
    path = find_model(name)
    weights, metadata = read(path)
    try:
        version = int(metadata["format"])
        if version > FORMAT:
            raise CheckpointError(f"{path} has format {version}; this regard reads up to {FORMAT}. Upgrade regard.")
        settings, pieces, provenance = (json.loads(metadata[key]) for key in ("recipe", "tokenizer", "provenance"))
        facts = json.loads(metadata.get("facts", "{}"))
    except (KeyError, ValueError):
        raise CheckpointError(
            f"{path} is a safetensors file, but not a model of regard; name a run folder or its {MODEL}"
        ) from None
    try:
        recipe, tokenizer = recipes.parse(settings), Tokenizer.from_dict(pieces)
    except (ConfigError, DataError) as error:
        writer = provenance.get("versions", {}).get("regard", "an unknown version")
        raise CheckpointError(
            f"{path} cannot be used: {error}\nIt was written by regard {writer}; this is {__version__}."
        ) from None
    model = build(recipe.model, *sizes_of(recipe, tokenizer, facts.get("labels", ())))
    stored = [name for name in weights if name.startswith(f"{LEXICON}.")]
    lexicon = Lexicon(**{name.partition(".")[2]: weights.pop(name) for name in stored}) if stored else None
    load_weights(model, weights, path)
    return Trained(model.to(device).eval(), tokenizer, recipe, provenance, lexicon, facts)


def task_of(name: str | Path) -> str:
    """What a model does, without reading its weights."""
    path = find_model(name)
    try:
        with safe_open(path, framework="pt") as file:
            return str(json.loads((file.metadata() or {})["recipe"])["task"])
    except (OSError, SafetensorError, KeyError, ValueError):
        return str(load_model(name).recipe.task)  # which says what is wrong with it


def sizes_of(recipe: config.Recipe, tokenizer: Tokenizer, labels: Sequence[str] = ()) -> tuple[int, ...]:
    """How many ids a model can be given, and can answer with."""
    if isinstance(recipe, config.TranslationRecipe):
        return tokenizer.size("source"), tokenizer.size("target")
    if isinstance(recipe, config.ClassificationRecipe):
        return tokenizer.size("source"), len(labels)
    return (tokenizer.size("source"),)


def store_scores(path: Path, scores: Mapping[str, Any]) -> None:
    """Write test scores into a model file, beside what its provenance says already."""
    weights, metadata = read(path)
    provenance = json.loads(metadata["provenance"])
    provenance["scores"] = {**provenance.get("scores", {}), **scores}
    write(path, weights, {**metadata, "provenance": json.dumps(provenance, ensure_ascii=False)})


def without_paths(value: Any) -> Any:
    """Absolute paths cut down to their last name: where data lay is nobody else's business."""
    if isinstance(value, dict):
        return {without_paths(key): without_paths(each) for key, each in value.items()}
    if isinstance(value, list):
        return [without_paths(each) for each in value]
    return Path(value).name if isinstance(value, str) and Path(value).is_absolute() else value


def load_weights(model: torch.nn.Module, weights: Mapping[str, Tensor], path: Path) -> None:
    """Fill the model; a tensor that is missing, left over or misshapen is an error that names it."""
    wanted = unique_weights(model)
    problems = [f"{name} is missing" for name in wanted if name not in weights]
    problems += [f"{name} is unknown" for name in weights if name not in wanted]
    problems += [
        f"{name} is {list(weights[name].shape)} instead of {list(tensor.shape)}"
        for name, tensor in wanted.items()
        if name in weights and weights[name].shape != tensor.shape
    ]
    if problems:
        raise CheckpointError(f"{path} does not fit its own recipe: {'; '.join(problems[:5])}")
    with torch.no_grad():
        for name, tensor in wanted.items():
            tensor.copy_(weights[name])


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
        for name, tensor in weights.items():
            total[name] = tensor.double() if name not in total else total[name].add_(tensor)
    return {name: (tensor / count).float() for name, tensor in total.items()}


def write(path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> None:
    """Tensors and metadata into a safetensors file, atomically."""
    with replacing(path) as temporary:
        save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, temporary, dict(metadata))


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """As in files.py; what cannot be written is an error of this stage."""
    try:
        with files.replacing(path) as temporary:
            yield temporary
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"cannot write {path}: {error}. What was there before is untouched.") from None


def read(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """All tensors and the metadata of a safetensors file."""
    with open_tensors(path) as file:
        return {name: file.get_tensor(name) for name in file.keys()}, dict(file.metadata() or {})  # noqa: SIM118


def open_tensors(path: Path) -> safe_open:
    """A safetensors file to read tensor by tensor; that it is whole is known from here on."""
    try:
        return safe_open(path, framework="pt")
    except FileNotFoundError:
        raise CheckpointError(f"no file {path}") from None
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"cannot read {path}: {error}. It is damaged or not a safetensors file.") from None


def find_model(name: str | Path) -> Path:
    """The model file behind a run folder, a file name or a bundled name."""
    path = Path(name)
    if path.suffix == ".toml":
        raise CheckpointError(f"{name} is a recipe, not a model; `regard train {name}` makes one, in runs/{path.stem}")
    if path.is_file():
        return path
    if (path / MODEL).is_file():
        return path / MODEL
    if str(name) in BUNDLED:
        return BUNDLED_FOLDER / f"{name}.safetensors"
    if (path / "checkpoints").is_dir():
        raise CheckpointError(f"{path} has no {MODEL} yet: its training has not come to a first validation")
    if inside := sorted(path.glob(f"*/{MODEL}")):  # a folder of runs
        raise CheckpointError(f"no model at {name}. Did you mean '{inside[0].parent}'?")
    siblings = [str(each.parent) for each in path.parent.glob(f"*/{MODEL}")] if path.parent.is_dir() else []
    hint = did_you_mean(str(name), [*siblings, *BUNDLED])
    raise CheckpointError(f"no model at {name}.{hint or ' A model is a run folder, a .safetensors file or `demo`.'}")
