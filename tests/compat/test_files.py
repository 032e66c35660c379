"""What older versions wrote still works: models of every task in every format, recipes, and runs that were left half-way.

make_files.py made the files; they stay as they are.
"""

from __future__ import annotations

import hashlib
import io
import json
import shutil
from pathlib import Path

import pytest
import torch
from rich.console import Console

import regard
from regard.checkpoint import MODEL, read
from regard.config import recipes
from regard.errors import CheckpointError, ConfigError
from regard.runs import train
from regard.tasks.registry import all_tasks, find_task, prepare
from tests.compat.make_files import ENDED, FILES, ON, RUNS, answers

MODELS = sorted(FILES.glob("format-*/*.safetensors"))
RECIPES = sorted((FILES / "recipes").glob("*.toml"))


@pytest.mark.parametrize("file", MODELS, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_a_stored_model_says_the_same(file: Path) -> None:
    expected = json.loads(file.with_suffix(".json").read_text(encoding="utf-8"))
    found = answers(regard.load(file))
    assert [each["text"] for each in found] == [each["text"] for each in expected]
    for now, then in zip(found, expected, strict=True):
        for kind in then.keys() - {"text"}:
            assert now[kind] == pytest.approx(then[kind], abs=2e-3), kind


WITHOUT_FILES = {"image-classification", "image-codes", "text-to-image"}
"""Tasks of pictures: no file of theirs was released yet."""


def test_there_is_a_file_of_every_task_and_format() -> None:
    for folder in ("format-1", "format-2"):
        files = [file for file in MODELS if file.parent.name == folder]
        assert {read(file)[1]["format"] for file in files} == {folder[-1]}
        tasks = {find_task(json.loads(read(file)[1]["recipe"])["task"]).name for file in files}
        assert tasks == {row.name for row in all_tasks()} - WITHOUT_FILES
        assert {file.stem for file in files} == {recipe.stem for recipe in RECIPES}


def test_a_shortlist_is_read_from_both_formats() -> None:
    for folder in ("format-1", "format-2"):
        file = FILES / folder / "translation-transformer.safetensors"
        assert answers(regard.load(file, shortlist=True))[0]["text"] == answers(regard.load(file))[0]["text"]


def test_they_are_small() -> None:
    assert sum(file.stat().st_size for file in FILES.rglob("*") if file.is_file()) < 500_000


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_an_old_recipe_loads_with_a_note(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recipe = recipes.load(path)
    assert recipe.task == {"trans": "translation", "class": "text-classification"}.get(path.stem[:5], "text-generation")
    assert recipe.data.max_tokens in (20, 30)  # type: ignore[attr-defined]
    assert recipe.tokenizer.vocabulary in (0, 310)  # type: ignore[attr-defined]
    told = capsys.readouterr().err
    assert "data.max_pieces is now called data.max_tokens" in told
    assert "tokenizer.pieces is now called tokenizer.vocabulary" in told


@pytest.mark.parametrize("key", ["validate_sentences"])
def test_what_a_task_never_heeded_is_ignored_in_what_a_run_wrote_down(tmp_path: Path, key: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(f'task = "classify"\n[training]\n{key} = 7\n', encoding="utf-8")
    assert recipes.load(path, finished=True).task == "text-classification"
    with pytest.raises(ConfigError, match=f"unknown setting 'training.{key}'"):
        recipes.load(path)


@pytest.mark.parametrize("name", RUNS)
def test_a_run_that_was_left_goes_on_to_the_same_weights(tmp_path: Path, name: str) -> None:
    said, run = go_on(tmp_path, name)
    assert "going on after update 6 of 12" in said
    wanted, found = read(FILES / "runs" / name / "ended.safetensors")[0], read(run / MODEL)[0]
    assert found.keys() == wanted.keys()
    for key, each in wanted.items():
        torch.testing.assert_close(determined(key, found[key]), determined(key, each), atol=1e-5, rtol=1e-4, msg=key)


def determined(name: str, weights: torch.Tensor) -> torch.Tensor:
    """Without the bias of the keys: it adds the same to every score of a query, which softmax does not see, so its gradient is
    zero but for rounding. Adam makes steps of full length of that, and each CPU rounds in its own way."""
    if name.endswith("query_key_value.bias"):
        query, _, value = weights.chunk(3)
        return torch.cat([query, value])
    return weights


def test_a_run_that_was_left_knows_how_updates_were_cut(tmp_path: Path) -> None:
    """What its checkpoint says of it had another name then."""
    with pytest.raises(CheckpointError, match=r"was begun on other data \(micro-batches of an update .*: 1 → 2\)"):
        go_on(tmp_path, RUNS[0], "training.accumulate=2")


def go_on(folder: Path, name: str, *settings: str) -> tuple[str, Path]:
    """Train where an old run stopped → what was said, and the run."""
    for part in ("recipes", "data"):
        shutil.copytree(FILES / part, folder / part)
    run = folder / "run"
    shutil.copytree(FILES / "runs" / name, run)
    keep = "training.keep=mean"  # as old runs did
    overrides = [*ON, f"training.updates={ENDED}", f"data.prepared={folder / 'prepared'}", keep, *settings]
    recipe, last = (
        recipes.load(folder / "recipes" / f"{name}.toml", overrides),
        run / "checkpoints" / "last.safetensors",
    )
    _, metadata = read(last)
    tokenizer = prepare(recipe, show=False).assets.tokenizer.to_dict()
    known = hashlib.sha256(json.dumps(tokenizer).encode()).hexdigest()[:12]
    if json.loads(metadata["basis"])["tokenizer"] != known:
        pytest.skip("this SentencePiece writes the same vocabulary in other bytes")
    said = io.StringIO()
    train(recipe, run=run, show=Console(file=said))
    return said.getvalue(), run
