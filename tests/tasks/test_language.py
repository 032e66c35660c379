"""What a language model is trained on: windows that cover the text, and runs that go on as if never stopped."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import torch

from regard import config
from regard.checkpoint import read
from regard.config import recipes
from regard.data.tokenizer import END, PAD, START
from regard.models.language_model import LanguageModel
from regard.runs import initial_model
from regard.tasks.language_model.training import LanguageTraining, Stream, filled, language_loss
from regard.tasks.registry import find_task, prepare
from tests.conftest import made_up_sentences
from tests.tasks.writers import ARCHITECTURES
from tests.training.toy import train

RECIPE = """
task = "text-generation"
[data]
train = ["train.txt"]
valid = ["valid.txt"]
prepared = "{folder}/prepared"
max_tokens = 12
documents = "{documents}"
[tokenizer]
vocabulary = 320
[model]
architecture = "{architecture}"
width = 16
layers = 1
dropout = 0.2
max_positions = 16
cutoffs = [290]
{attention}
[training]
batch_tokens = 96
updates = 9
learning_rate = 3e-3
warmup = 4
epsilon = 1e-4
validate_every = 4
average = 2
threads = 1
"""


def write_recipe(folder: Path, architecture: str = "transformer", documents: str = "stream") -> Path:
    for name, seed, count in (("train", 1, 80), ("valid", 2, 12)):
        text = "".join(f"{line}\n" for line in made_up_sentences(seed, count))
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    architecture, _, pointer = architecture.partition("-")
    attention = "feed_forward = 32\nheads = 2" if architecture == "transformer" else ""
    attention += "\npointer = true\nadaptive_factor = 2" if pointer else ""
    content = RECIPE.format(folder=folder, architecture=architecture, documents=documents, attention=attention)
    (folder / "toy.toml").write_text(content, encoding="utf-8")
    return folder / "toy.toml"


def stream_of(lengths: list[int], documents: str, most: int) -> Stream:
    ids: Any = SimpleNamespace(
        stream=np.arange(10, 10 + sum(lengths)), lengths=np.array([(length, 0) for length in lengths])
    )
    return Stream(ids, config.PlainText(documents=documents, max_tokens=most))


LENGTHS = [[1], [5], [3, 1, 7, 20, 2], [1] * 9, [16, 16], [40]]


@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
@pytest.mark.parametrize("documents", ["stream", "lines"])
@pytest.mark.parametrize("most", [1, 5, 16])
def test_windows_cover_every_token_once(lengths: list[int], documents: str, most: int) -> None:
    stream = stream_of(lengths, documents, most)
    begins = set(np.cumsum([0, *lengths[:-1]]).tolist()) if documents == "lines" else {0}
    for shift in range(most):
        windows = stream.windows(shift)
        covered = np.concatenate([stream.window(*each)[1] for each in windows])
        assert covered.tolist() == stream.ids.tolist()
        for begin, length in windows:
            read, wanted = stream.window(begin, length)
            assert len(read) == len(wanted) == length <= most
            assert read[1:].tolist() == wanted[:-1].tolist()
            first = {"stream": END, "lines": START}[documents] if begin in begins else wanted[0] - 1
            assert read[0] == first
            if documents == "lines":
                assert not begins.intersection(range(begin + 1, begin + length)), "a window reaches into another line"


def test_a_shift_cuts_elsewhere() -> None:
    stream = stream_of([40], "stream", 8)
    assert {begin for begin, _ in stream.windows(3)} == {0, 3, 11, 19, 27, 35}
    assert {begin for begin, _ in stream.windows(0)} == {0, 8, 16, 24, 32}


@pytest.mark.parametrize("tokens", [1, 7, 16, 100])
def test_batches_hold_all_windows_in_about_so_many_tokens(tokens: int) -> None:
    windows = stream_of([3, 1, 7, 20, 2], "lines", 8).windows(0)
    batches = filled(windows, tokens)
    assert np.concatenate(batches).tolist() == windows.tolist()
    assert all(sum(length for _, length in batch) <= tokens or len(batch) == 1 for batch in batches)


@pytest.mark.parametrize("documents", ["stream", "lines"])
def test_an_epoch_is_all_of_the_text_and_a_pure_function(tmp_path: Path, documents: str) -> None:
    recipe: Any = recipes.load(write_recipe(tmp_path, documents=documents))
    prepared = prepare(recipe, show=False)
    task, again = (LanguageTraining(recipe, prepared, 1, torch.device("cpu")) for _ in range(2))
    position, orders = (0, 0), []
    for epoch in range(2):
        covered: list[int] = []
        while position[0] == epoch:
            before = position
            (part,), position = task.take(before, 1)
            covered += [place for begin, length in part.batch for place in range(begin, begin + length)]
            assert part.tokens == sum(length for _, length in part.batch) <= 96
        assert sorted(covered) == list(range(len(prepared.train.stream)))
        orders.append(covered)
        assert np.array_equal(again.take(before, 1)[0][0].batch, part.batch)  # sought, not walked to
    assert orders[0] != orders[1]


def test_validation_is_per_word_whatever_the_tokens(tmp_path: Path) -> None:
    recipe: Any = recipes.load(write_recipe(tmp_path))
    prepared = prepare(recipe, show=False)
    task, model = (
        LanguageTraining(recipe, prepared, 1, torch.device("cpu")),
        cast(LanguageModel, initial_model(recipe, find_task(recipe.task), prepared)[0]),
    )
    model.eval()
    with torch.inference_mode():
        found = task.validate(model)
    lines = (tmp_path / "valid.txt").read_text(encoding="utf-8").splitlines()
    words = sum(len(line.split()) + 1 for line in lines)
    assert math.log(found["perplexity"]) * words == pytest.approx(found["loss"] * len(prepared.valid.stream), rel=1e-5)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_loss_knows_no_padding(tmp_path: Path, architecture: str) -> None:
    recipe: Any = recipes.load(write_recipe(tmp_path, architecture))
    model: Any = initial_model(recipe, find_task(recipe.task), prepare(recipe, show=False))[0].eval()
    read, wanted = (torch.randint(4, 300, (3, 12), generator=torch.Generator().manual_seed(seed)) for seed in (1, 2))
    for row, length in enumerate((12, 4, 7)):
        read[row, length:] = wanted[row, length:] = PAD
    together = language_loss(model, read, wanted, smoothing=0.0).plain
    apart = [
        language_loss(model, read[row : row + 1, :length], wanted[row : row + 1, :length], smoothing=0.0).plain
        for row, length in enumerate((12, 4, 7))
    ]
    torch.testing.assert_close(together, torch.stack(apart).sum(), atol=1e-3, rtol=1e-5)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("documents", ["stream", "lines"])
def test_a_run_that_was_stopped_goes_on_to_the_same_bits(tmp_path: Path, architecture: str, documents: str) -> None:
    recipe = write_recipe(tmp_path, architecture, documents)
    dropout = f"training.word_dropout={0 if 'pointer' in architecture else 0.2}"
    train(recipe, tmp_path / "straight", dropout)
    train(recipe, tmp_path / "halting", dropout, "training.updates=5")
    train(recipe, tmp_path / "halting", dropout)
    weights = [
        read(tmp_path / name / "checkpoints" / "weights-00000009.safetensors")[0] for name in ("straight", "halting")
    ]
    assert weights[0].keys() == weights[1].keys()
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])
    losses = [
        [line for line in map(json.loads, (tmp_path / name / "metrics.jsonl").read_text().splitlines())
         if line["kind"] == "valid" and line["update"] == 9]
        for name in ("straight", "halting")
    ]  # fmt: skip
    assert [line["loss"] for line in losses[0]] == [line["loss"] for line in losses[1]] != []
