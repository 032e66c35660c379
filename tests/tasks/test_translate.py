"""Translation as training sees it: tokens are counted right, the loss is that of each pair alone, validation uses all."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from regard import config
from regard.data.prepare import Prepared
from regard.decoding.options import length_limit
from regard.evaluation.scores import score
from regard.models.encoder_decoder import EncoderDecoder as Model
from regard.tasks.registry import build, prepare
from regard.tasks.translation.evaluation import file_test_set, hypotheses, recipe_test_sets
from regard.tasks.translation.training import TranslationTraining
from regard.tasks.translation.translator import Translator
from tests.conftest import made_up_sentences

PAIRS = list(zip(made_up_sentences(1, 60), made_up_sentences(2, 60), strict=True))
HUGE = (" ".join(made_up_sentences(1, 60)), "Nothing.")  # far more tokens than the model has positions


def write_pairs(path: Path, pairs: list[tuple[str, str]]) -> None:
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")


@pytest.fixture(scope="module")
def recipe(tmp_path_factory: pytest.TempPathFactory, tiny_recipe: config.TranslationRecipe) -> config.TranslationRecipe:
    folder = tmp_path_factory.mktemp("task")
    write_pairs(folder / "train.tsv", PAIRS)
    write_pairs(folder / "valid.tsv", [HUGE, HUGE[::-1], *PAIRS[:20], ("", "Nothing."), *PAIRS[20:30]])
    write_pairs(folder / "test.tsv", [("", "Nothing."), *PAIRS[:2], ("Nothing.", "")])
    data = replace(
        tiny_recipe.data, train=("train.tsv",), valid=("valid.tsv",), test={"own": ("test.tsv",)},
        folder=str(folder), prepared=str(folder / "prepared"),
    )  # fmt: skip
    training = config.TranslationTraining(batch_tokens=128, validate_sentences=7)
    return replace(tiny_recipe, data=data, training=training, tokenizer=replace(tiny_recipe.tokenizer, vocabulary=350))


@pytest.fixture(scope="module")
def prepared(recipe: config.TranslationRecipe) -> Prepared:
    return prepare(recipe, show=False)


@pytest.fixture(scope="module")
def model(recipe: config.TranslationRecipe, prepared: Prepared) -> Model:
    torch.manual_seed(1)
    return build(
        recipe.model, prepared.assets.tokenizer.size("source"), prepared.assets.tokenizer.size("target")
    ).eval()


def task_of(recipe: config.TranslationRecipe, prepared: Prepared, parts: int = 1) -> TranslationTraining:
    return TranslationTraining(recipe, prepared, parts, torch.device("cpu"))


@pytest.mark.parametrize("parts", [1, 2, 4])
def test_parts_share_the_budget_and_an_epoch_holds_every_pair_once(
    recipe: config.TranslationRecipe, prepared: Prepared, parts: int
) -> None:
    task, position, pairs = task_of(recipe, prepared, parts), (0, 0), []
    while position[0] == 0:
        taken, position = task.take(position, 1)
        for part in taken:
            assert part.tokens == sum(len(target) + 1 for _, target in part.batch)  # each end is a token
            assert part.tokens <= 128 // parts or len(part.batch) == 1
            pairs += [(source.tolist(), target.tolist()) for source, target in part.batch]
    train = prepared.train
    assert sorted(pairs) == sorted(
        (train.source(row).tolist(), train.target(row).tolist()) for row in range(len(train))
    )


def test_the_loss_of_a_batch_is_the_sum_of_its_pairs(
    recipe: config.TranslationRecipe, prepared: Prepared, model: Model
) -> None:
    task = task_of(recipe, prepared)
    pairs = [(prepared.train.source(row), prepared.train.target(row)) for row in range(9)]
    together = task.loss(model, pairs)
    alone = [task.loss(model, [pair]) for pair in pairs]
    for kind in ("plain", "smoothed"):
        total = sum(getattr(each, kind).item() for each in alone)
        assert getattr(together, kind).item() == pytest.approx(total, rel=1e-5)


def test_validation_is_of_every_token_and_of_sentences_from_all_over(
    recipe: config.TranslationRecipe, prepared: Prepared, model: Model
) -> None:
    task = task_of(recipe, prepared)
    with torch.inference_mode():
        found = task.validate(model)
        valid = prepared.valid
        pairs = [task._tensors([(valid.source(row), valid.target(row))]) for row in range(len(valid))]
    assert len(pairs) == 30  # the empty one and the two with a huge side were left out
    assert found["loss"] == pytest.approx(_mean_loss(model, pairs), rel=1e-5)
    assert "Nothing." not in task.references
    places = [PAIRS.index((source, target)) for source, target in PAIRS[:30] if target in task.references]
    assert 5 <= len(task.sources) == len(task.references) <= 7
    assert places[0] == 0
    assert places[-1] >= 24


@pytest.mark.parametrize("language", ["en", "zh"])
def test_validation_bleu_is_that_of_the_texts_it_would_write(
    recipe: config.TranslationRecipe, prepared: Prepared, exact_translator: Translator, language: str
) -> None:
    """With the learned tokenizer's model, so that the outputs share words with the references."""
    recipe = replace(recipe, data=replace(recipe.data, target_language=language))
    task = task_of(recipe, replace(prepared, assets=replace(prepared.assets, tokenizer=exact_translator.tokenizer)))
    with torch.inference_mode():
        found = task.validate(exact_translator.model)["bleu"]
    sources = [source for source, target in PAIRS[:30] if target in task.references]
    texts = [each.text for each in exact_translator.translate(sources, beam=1, length_penalty="none")]
    assert found == pytest.approx(score(texts, task.references, target_language=language)[0].value)
    assert found > 1


def _mean_loss(model: Model, pairs: list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]) -> float:
    total, tokens = 0.0, 0
    for source, read, wanted in pairs:
        with torch.inference_mode():
            logits = model.project(model(source, read))[0]
        total += torch.nn.functional.cross_entropy(logits, wanted[0], reduction="sum").item()
        tokens += wanted.numel()
    return total / tokens


def test_the_limit_grows_with_the_source_and_ends_with_the_table() -> None:
    settings = config.Decoding(max_ratio=1.5, max_extra=4)
    assert [length_limit(length, settings, 30) for length in (0, 2, 10, 100)] == [4, 7, 19, 30]
    assert [length_limit(2, settings, 30, prefix) for prefix in (0, 5, 23, 30)] == [7, 12, 30, 30]
    assert length_limit(10, config.Decoding(max_ratio=1e308), 30) == 30


def test_test_sets_lose_nothing(recipe: config.TranslationRecipe) -> None:
    (own,) = recipe_test_sets(recipe)
    assert own.name == "own"
    assert list(zip(own.sources, own.references, strict=True)) == [("", "Nothing."), *PAIRS[:2], ("Nothing.", "")]


def test_files_of_sentences_and_of_translations(tmp_path: Path) -> None:
    (tmp_path / "in.de").write_text("Eins\n\nDrei\u2028vier\n", encoding="utf-8")
    (tmp_path / "in.en").write_bytes(b"One\r\nTwo\r\nThree")
    found = file_test_set(tmp_path / "in.de", tmp_path / "in.en")
    assert (found.sources, found.references) == (["Eins", "", "Drei\u2028vier"], ["One", "Two", "Three"])
    assert hypotheses(str(tmp_path / "in.en")) == ["One", "Two", "Three"]
    assert hypotheses(str(tmp_path)) is None
    (tmp_path / "model.safetensors").write_bytes(b"")
    assert hypotheses(str(tmp_path / "model.safetensors")) is None
