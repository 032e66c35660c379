"""Model files as far as no weights are needed: where one is, and the recipe that it was trained with."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from regard.config.aliases import drop_unheeded
from regard.config.tasks import task_settings
from regard.errors import CheckpointError, UsageError, did_you_mean

MODEL = "model.safetensors"
BUNDLED = ("demo", "demo-ko", "painter")
BUNDLED_FOLDER = Path(__file__).parent.parent / "bundled"

LARGEST = {"recipe": 10**6, "provenance": 10**7}
"""Characters of what a file tells of itself. Assets have no limit: a tokenizer is as large as its vocabulary …"""
MOST_VALUES = 250_000
"""… but each part has one of values: labels, for instance."""


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
    raise CheckpointError(
        f"no model at {name}.{hint or ' A model is a run folder, a .safetensors file, `demo`, `demo-ko` or `painter`.'}"
    )


def names_model(text: str, beside: str | Path) -> bool:
    """Whether an argument behind a model that might be a text is the name of another: of a bundled one with the same task (a painter is
    also somebody who paints), of a run folder, of a model file."""
    try:
        path = Path(text)
        whole = path.is_file() and path.suffix == Path(MODEL).suffix
        fits = text in BUNDLED and stored_task(text) == stored_task(beside)
        return fits or whole or (path / MODEL).is_file() or (path / "checkpoints").is_dir()
    except (OSError, ValueError):  # too long for a name, or no name at all
        return False


def read_content(path: Path, metadata: Mapping[str, str], name: str) -> Any:
    """What JSON of a bounded size says. Half a surrogate pair, which it can smuggle in but no file can hold, is a question
    mark."""
    text = metadata[name]
    most = LARGEST.get(name)
    if most is not None and len(text) > most:
        raise CheckpointError(f"{path} cannot be used: its {name} has {len(text):,} characters, more than {most:,}")
    if sum(map(text.count, "{[,")) > MOST_VALUES:  # before they are made: each takes up to thirty times its characters
        raise CheckpointError(f"{path} cannot be used: its {name} holds more than {MOST_VALUES:,} values")
    content = json.loads(text)
    if re.search(r"\\u[dD][89a-fA-F]", text):
        content = json.loads(json.dumps(content, ensure_ascii=False).encode("utf-8", "replace"))
    return content


def stored_settings(name: str | Path) -> dict[str, Any]:
    """The recipe in a model file as plain tables, whose weights are not looked at: `recipes.parse` reads it."""
    from safetensors import SafetensorError, safe_open  # late: most recipes start from nothing

    path = find_model(name)
    try:
        with safe_open(path, framework="np") as file:
            metadata = file.metadata() or {}
        content = read_content(path, metadata, "recipe")
        if not isinstance(content, dict):
            raise ValueError("not a table")
        if metadata.get("format") == "1":
            drop_unheeded(content)
    except (OSError, SafetensorError, KeyError, ValueError, TypeError, RecursionError):
        raise CheckpointError(f"{path} is damaged or no model of regard; name a run folder or its {MODEL}") from None
    return content


def stored_task(name: str | Path) -> str:
    """The task of a model, or nothing where its file does not say it."""
    try:
        return task_settings(stored_settings(name)["task"]).name
    except (CheckpointError, UsageError, KeyError, TypeError):
        find_model(name)  # what is not there is told
        return ""
