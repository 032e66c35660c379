"""A result with what proves it: recipe, how it was trained, scores, and the model's own answers, in a folder of small files.

`config.toml` is the recipe as it was trained, `metrics.jsonl` how training went (of a run folder), `NAME.txt` or `NAME.tsv` the answers to a test
set, and `scores.json` the scores with their signatures, the command, checksums of all answers and of the text that was
answered. So whoever has the text can compute every score again, without the model.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.checkpoint import read_model
from regard.config import Recipe, recipes
from regard.config.paths import inside, without_paths
from regard.config.stored import find_model
from regard.data.ids import checksum
from regard.data.prepare import Input
from regard.errors import UsageError
from regard.files import replacing
from regard.tasks.data_folder import with_data_folder
from regard.tasks.ensembles import ModelNames, first_of, names_of
from regard.tasks.registry import find_task

if TYPE_CHECKING:
    from regard.tasks.task import Result

CONFIG, METRICS, SCORES = "config.toml", "metrics.jsonl", "scores.json"
ANSWERS = (".txt", ".tsv")


def keep(
    folder: Path, model: ModelNames, results: Iterable[Result], data: str | Path | None, command: str, given: bool
) -> None:
    """Write all but the answers, which are there already. `given` tells that other text was answered than the recipe's."""
    stored = read_model(first_of(model))
    recipe = stored.recipe if given else with_data_folder(stored.recipe, model, data)
    tests = {}
    for each in results:
        answers = [path for path in (folder / f"{each.name}{ending}" for ending in ANSWERS) if path.is_file()]
        tests[each.name] = {
            "scores": each.stored(),
            "answers": {path.name: checksum(path) for path in answers},
            "text": {} if given else checksums_of(recipe, each.name),
        }
    told = {name: value for name, value in stored.provenance.items() if name != "scores"}
    models = {Path(name).name: checksum(find_model(name)) for name in names_of(model)}
    content = {"command": command, "models": models, "provenance": told, "tests": tests}
    _write(folder / SCORES, json.dumps(content, ensure_ascii=False, indent=1) + "\n")
    _write(folder / CONFIG, recipes.to_toml(without_paths(stored.recipe)))
    metrics = find_model(first_of(model)).parent / METRICS
    if metrics.is_file():
        _write(folder / METRICS, metrics.read_text(encoding="utf-8"))


def require_folder(folder: Path) -> None:
    """Before a test set is answered for an hour."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make {folder}: {error.strerror}; name another folder to keep the result in") from None


def checksums_of(recipe: Recipe, test: str) -> Mapping[str, str]:
    """sha256 of what a test set is read from, by the name that the recipe gives it."""
    builder = find_task(recipe.task).data
    found: dict[str, Any] = {}
    for name in recipe.data.tests.get(test, ()):
        place = builder.find(name, recipe.data)
        found[inside(name)] = Input(place, lambda path: builder.files(path, recipe.data)).checksum()
    return found


def _write(path: Path, text: str) -> None:
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
