"""How a translator may learn: in both directions first, without some of its words, and saying the same twice."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from regard.config import TranslationRecipe, recipes
from regard.data.batching import Position
from regard.data.tokenizer import END, PAD, START, UNKNOWN
from regard.errors import ConfigError
from regard.runs import initial_model
from regard.tasks.registry import find_task, prepare
from regard.tasks.translation.training import TranslationTraining, training_loss, translation_loss
from regard.tasks.word_dropout import hide
from regard.training.loss import Loss
from tests.training.toy import contents, train, write_corpus

STEADY = ("model.dropout=0", "model.attention_dropout=0")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("translate"))


def made(path: Path, *overrides: str) -> tuple[Any, TranslationTraining]:
    recipe = recipes.load(path, overrides)
    assert isinstance(recipe, TranslationRecipe)
    prepared = prepare(recipe, show=False)
    model, _ = initial_model(recipe, find_task(recipe.task), prepared)
    return model.train(), TranslationTraining(recipe, prepared, 1, torch.device("cpu"))


def losses(path: Path, *overrides: str) -> tuple[Loss, Loss]:
    """Of the first batch, what training minimises, and the plain loss."""
    model, task = made(path, *overrides)
    (part,), _ = task.take((0, 0), 1)
    torch.manual_seed(1)
    return task.loss(model, part.batch), translation_loss(model, *task._tensors(part.batch), 0.1)


@pytest.mark.parametrize("method", ["r_drop=4", "simcut=3"])
def test_without_dropout_two_passes_say_the_same(path: Path, method: str) -> None:
    found, expected = losses(path, *STEADY, f"training.{method}", "training.cutoff=0")
    torch.testing.assert_close(found, expected, atol=1e-3, rtol=1e-5)
    shaken, _ = losses(path, f"training.{method}", "training.cutoff=0")
    least, _ = losses(path, f"training.{method[:-1]}1e-6", "training.cutoff=0")
    assert shaken.smoothed > least.smoothed
    torch.testing.assert_close(shaken.plain, least.plain)


def test_only_the_second_pass_of_simcut_lacks_words(path: Path) -> None:
    found, expected = losses(path, *STEADY, "training.simcut=3", "training.cutoff=0.3")
    torch.testing.assert_close(found.plain, expected.plain)
    assert found.smoothed > expected.smoothed


def test_words_are_hidden_on_both_sides_and_tags_are_not(path: Path) -> None:
    model, task = made(path)
    seen: list[tuple[torch.Tensor, torch.Tensor]] = []
    forward = type(model).forward

    def spied(source: torch.Tensor, read: torch.Tensor, packed: bool = False) -> torch.Tensor:
        seen.append((source, read))
        return forward(model, source, read, packed)  # type: ignore[no-any-return]

    model.forward = spied
    (part,), _ = task.take((0, 0), 1)
    tensors = task._tensors(part.batch)
    training_loss(model, *tensors, replace(task.recipe.training, word_dropout=0.5))
    for before, after in zip(tensors, seen[-1], strict=False):
        changed = before != after
        assert changed.any()
        assert (after[changed] == UNKNOWN).all()
        assert not changed[(before == START) | (before == END) | (before == PAD)].any()
    ids = torch.full((50, 50), 300)
    ids[:, 0] = 310
    hidden = hide(ids, 0.5, [310])
    assert (hidden[:, 0] == 310).all()
    assert (hidden == UNKNOWN).any()


def test_each_pair_is_learned_both_ways_in_two_epochs_and_then_one_way(path: Path) -> None:
    _, plain = made(path)
    epochs = [len(plain.batches.plan(epoch)) for epoch in range(3)]
    share = (sum(epochs[:2]) + 1) / 1_000
    _, task = made(path, f"training.bidirectional={share}", "training.updates=1000")
    count = sum(epochs)
    pairs, straight = (
        [[tuple(tuple(side.tolist()) for side in pair) for pair in part.batch] for part in each.take((0, 0), count)[0]]
        for each in (task, plain)
    )
    first, second, third = (
        [(found, given) for found, given in zip(chain(*pairs[begin:end]), chain(*straight[begin:end]), strict=True)]
        for begin, end in zip(np.cumsum([0, *epochs]), np.cumsum(epochs), strict=False)
    )
    turned = [{given for found, given in epoch if found != given} for epoch in (first, second)]
    for found, given in first + second:
        assert found in (given, given[::-1])
    everything = {given for _, given in first if given != given[::-1]}
    assert turned[0] | turned[1] == everything
    assert not turned[0] & turned[1]
    assert len(everything) * 0.3 < len(turned[0]) < len(everything) * 0.7
    assert all(found == given for found, given in third[len(pairs[epochs[0] + epochs[1]]) :])  # but for one batch
    middle, _ = task.take((1, 2), 3)  # sought, as a resumed run does
    assert [[tuple(tuple(side.tolist()) for side in pair) for pair in part.batch] for part in middle] == pairs[
        epochs[0] + 2 : epochs[0] + 5
    ]


def test_batches_are_counted_from_the_beginning(path: Path) -> None:
    _, task = made(path, "data.join=0.3")
    position, places = Position(), []
    for _ in range(60):
        places.append(position)
        _, position = task.batches.take_lines(position, 1)
    assert position.epoch > 1
    _, fresh = made(path, "data.join=0.3")
    assert [fresh.batches.number(each) for each in reversed(places)] == [*range(60)][::-1]


def test_a_stopped_run_goes_on_to_the_same_bits_with_all_of_it(path: Path, tmp_path: Path) -> None:
    asked = (
        "training.bidirectional=0.5", "training.r_drop=2", "training.word_dropout=0.1", "training.subword_sampling=0.2",
        "training.updates=8", "training.validate_every=4", "training.checkpoint_every=1",
    )  # fmt: skip
    train(path, tmp_path / "straight", *asked)
    for minutes in (1e-9, 1e-9, 0):  # each stops after one update
        train(path, tmp_path / "stopped", *asked, f"training.minutes={minutes}")
    stopped, straight = contents(tmp_path / "stopped"), contents(tmp_path / "straight")
    assert stopped["model.safetensors"] == straight["model.safetensors"]
    train(path, tmp_path / "one way", *asked, "training.bidirectional=0")
    assert contents(tmp_path / "one way")["model.safetensors"] != straight["model.safetensors"]


@pytest.mark.parametrize(
    ("overrides", "told"),
    [
        (["training.r_drop=1", "training.simcut=1"], "two ways to the same end"),
        (["training.bidirectional=0.3", "tokenizer.joint=false", "model.tied=false"], "tokenizer.joint = true"),
        (["training.bidirectional=1"], "below 1"),
    ],
)
def test_what_cannot_be_is_told(path: Path, overrides: list[str], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        recipes.load(path, overrides)
