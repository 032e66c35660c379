"""Makes the small models that test_files.py loads: one of every task and architecture, in the format of whoever runs it.

    PYTHONPATH=OLD python tests/compat/make_files.py format-1 runs      # OLD: a checkout of b984d19, which wrote format 1
    PYTHONPATH=. python tests/compat/make_files.py format-2

What is written stays as it is: a later version that reads it otherwise has broken a promise of CHANGELOG.md. So this runs once
for each format. It asks regard only for what both versions have, the command line and `regard.load`, and its recipes are written
in the names of the first version.
"""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save_file

import regard

FILES = Path(__file__).parent / "files"
BEGUN, ENDED = 6, 12
"""Updates after which a run was left, and after which another one, that nobody interrupted, had ended."""
RUNS = ("classification",)
ON = (f"training.validate_every={BEGUN}", "training.schedule=inverse-sqrt")
"""Settings of those runs: a schedule that does not ask when they end."""
SURE = math.log(0.6)
"""A token that is more probable than this has no rival that rounding could put before it."""

SOURCES = ("der hund schläft heute", "die katze sieht das kind", "wir haben hunger")
TEXTS = ("a good and warm film", "this was a bad film", "neither here nor there")
PROMPTS = ("the cat", "the old man sat", "rain")


def answers(model: Any) -> list[dict[str, Any]]:
    """What a model says, and how sure it is of each token or label."""
    if hasattr(model, "translate"):
        return [translated(model, source) for source in SOURCES]
    if hasattr(model, "classify"):
        found = [model.classify(text) for text in TEXTS]
        return [
            {"text": each.label, "numbers": [math.log(each.probabilities[name]) for name in model.labels]}
            for each in found
        ]
    return [continued(model, prompt) for prompt in PROMPTS]


def translated(model: Any, source: str) -> dict[str, Any]:
    found = model.translate(source)
    other = model.score(source, "the dog has seen us")
    return {
        "text": found.text,
        "numbers": [found.score, *found.token_log_probabilities],
        "other": other.token_log_probabilities,
    }


def name_of_new_tokens(model: Any) -> str:
    """What the regard that PYTHONPATH names calls how long a text may become."""
    try:
        model.generate("", most=1)
    except Exception:  # its UsageError, wherever that one keeps it
        return "max_new_tokens"
    return "most"


def continued(model: Any, prompt: str) -> dict[str, Any]:
    options: dict[str, Any] = {name_of_new_tokens(model): 6}
    found, score = model.generate(prompt, **options, top_k=1, temperature=1.0), model.score(f"{prompt} and the sea")
    return {"text": found.text, "numbers": found.token_log_probabilities, "other": score.token_log_probabilities}


def train(recipe: Path, run: Path, *settings: str) -> None:
    """By the regard that PYTHONPATH names: `-m` would prefer one in the current folder."""
    words = ["train", str(recipe), "--run", str(run), *(word for each in settings for word in ("--set", each))]
    subprocess.run([sys.executable, "-m", "regard", *words], check=True, cwd=recipe.parent)


def halve(model: Path, target: Path) -> None:
    """Copy a model file with 16-bit weights; all else stays to the byte as regard wrote it."""
    with safe_open(model, framework="pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        metadata = file.metadata()
    halved = {name: each.half() if each.dtype == torch.float32 else each for name, each in tensors.items()}
    target.parent.mkdir(parents=True, exist_ok=True)
    save_file(halved, target, metadata)


def make_models(folder: Path, work: Path) -> None:
    """A model of each recipe, with what it says; those that are there already stay."""
    for recipe in sorted((work / "recipes").glob("*.toml")):
        name, run = recipe.stem, work / "runs" / recipe.stem
        file, expected = folder / f"{name}.safetensors", folder / f"{name}.json"
        if expected.exists():
            continue
        train(recipe, run)
        halve(run / "model.safetensors", file)
        found = answers(regard.load(file))
        for each in found:
            numbers = each["numbers"][1:] if name.startswith("translation") else each["numbers"]
            sure = (max if name.startswith("classification") else min)(numbers) > SURE
            assert sure, f"{name} is not sure enough of {each}: train it longer"
        expected.write_text(json.dumps(found, ensure_ascii=False) + "\n", encoding="utf-8")


def make_runs(folder: Path, work: Path) -> None:
    """Run folders that were left, and the weights that they would have come to."""
    for name in RUNS:
        recipe, left, straight = work / "recipes" / f"{name}.toml", work / "left" / name, work / "straight" / name
        train(recipe, left, *ON, f"training.updates={BEGUN}")
        train(recipe, straight, *ON, f"training.updates={ENDED}")
        kept = folder / name
        (kept / "checkpoints").mkdir(parents=True)
        for file in (left / "checkpoints").glob("*.safetensors"):
            shutil.copy(file, kept / "checkpoints")
        config = (left / "config.toml").read_text(encoding="utf-8")
        for place in (str(work), str(work.resolve())):  # where it was made is nobody's business
            config = config.replace(place, "")
        (kept / "config.toml").write_text(config, encoding="utf-8")
        shutil.copy(straight / "model.safetensors", kept / "ended.safetensors")


def main(*wanted: str) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        for part in ("recipes", "data"):
            shutil.copytree(FILES / part, work / part)
        for name in wanted:
            (make_runs if name == "runs" else make_models)(FILES / name, work)


if __name__ == "__main__":
    main(*sys.argv[1:])
