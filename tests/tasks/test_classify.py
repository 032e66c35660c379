"""Classification as training sees it: parts add up, a run that stopped goes on to the same bits, extras do what they say."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from regard.config import ClassificationRecipe, ClassifierTraining, recipes
from regard.data.batching import EpochRows
from regard.data.prepare import Prepared
from regard.data.tokenizer import PAD, UNKNOWN
from regard.errors import DataError, RegardError
from regard.models.classifier import NgramBag, TextClassifier
from regard.runs import initial_model
from regard.tasks.classification.naive_bayes import log_count_ratios
from regard.tasks.classification.training import ClassificationTraining, classify_ids, labelled_loss, masked_loss
from regard.tasks.registry import find_task, prepare
from regard.tasks.trained import load_trained
from regard.tasks.word_dropout import hide
from regard.training.loss import smoothed_loss
from tests.training.toy import contents, train

RECIPE = """
task = "text-classification"
[data]
train = ["bundled:moods.tsv"]
valid = ["bundled:moods.tsv"]
text = "text"
label = "label"
split = "split"
prepared = "{folder}/prepared"
max_tokens = 16
long = "windows"
[tokenizer]
vocabulary = 560
coverage = 1.0
[model]
width = 16
feed_forward = 32
heads = 2
layers = 1
dropout = 0.2
max_positions = 32
norm = "pre"
ngrams = 2
buckets = 500
[training]
batch_tokens = 600
updates = 18
learning_rate = 3e-3
warmup = 4
validate_every = 3
checkpoint_every = 3
average = 2
threads = 1
"""
STEADY = ["model.dropout=0"]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("classify")
    (folder / "moods.toml").write_text(RECIPE.format(folder=folder), encoding="utf-8")
    return folder / "moods.toml"


def made(path: Path, *overrides: str) -> tuple[ClassificationRecipe, Prepared, TextClassifier, ClassificationTraining]:
    recipe = recipes.load(path, overrides)
    assert isinstance(recipe, ClassificationRecipe)
    prepared = prepare(recipe, show=False)
    model, _ = initial_model(recipe, find_task(recipe.task), prepared)
    return recipe, prepared, model, ClassificationTraining(recipe, prepared, 1, torch.device("cpu"))


EXTRAS = (
    "training.masked_epochs=1", "training.r_drop=1.0", "training.word_dropout=0.2", "training.naive_bayes=true", "training.subword_sampling=0.2",
)  # fmt: skip


RIVALS = [
    (f'model={{architecture="{name}", width=16, layers=1, max_positions=32, ngrams=2, buckets=500}}', *extras)
    for name, extras in (("rnn", ()), ("rnn-attention", EXTRAS), ("conv", ()))
]


@pytest.mark.parametrize("extras", [(), EXTRAS, *RIVALS], ids=["plain", "all extras", "rnn", "rnn-attention", "conv"])
def test_a_run_that_stopped_goes_on_to_the_same_bits(path: Path, tmp_path: Path, extras: tuple[str, ...]) -> None:
    train(path, tmp_path / "straight", *extras)
    for updates in (3, 9, 12):  # the first pass over the text ends between them
        train(path, tmp_path / "stopped", f"training.updates={updates}", *extras)
    train(path, tmp_path / "stopped", *extras)
    stopped, straight = contents(tmp_path / "stopped"), contents(tmp_path / "straight")
    for found in (stopped, straight):  # a line of training is written where a run ends
        found["metrics.jsonl"] = [line for line in found["metrics.jsonl"] if line["kind"] == "valid"]
    assert len(straight["metrics.jsonl"]) == 6
    assert stopped == straight


def test_the_first_passes_are_without_labels(path: Path) -> None:
    _, _, model, task = made(path, "training.masked_epochs=1")
    rows = np.arange(8)
    task.loss(model, EpochRows(rows, 0)).smoothed.backward()
    gradients = {name: parameter.grad for name, parameter in model.named_parameters()}
    assert all(gradient is not None for gradient in gradients.values())  # else processes would wait for each other
    assert not gradients["output.weight"].any()  # nothing was said of labels
    assert gradients["embedding.table.weight"].any()
    task.loss(model, EpochRows(rows, 1)).smoothed.backward()
    assert model.output.weight.grad.any()


def test_a_text_is_cut_otherwise_in_every_epoch_and_stays_the_same_text(path: Path) -> None:
    _, prepared, _, task = made(path, "training.subword_sampling=0.3")
    decode = prepared.assets.tokenizer.decode
    for row in range(6):
        plain = prepared.train.source(row).tolist()
        ways = [task._cut(row, epoch).tolist() for epoch in range(12)]
        assert len({tuple(way) for way in ways}) > 4
        assert {decode(way, "source") for way in ways} == {decode(plain, "source")}
        assert [task._cut(row, epoch).tolist() for epoch in range(12)] == ways  # a function of seed, epoch and row
    _, prepared, _, plainly = made(path)
    assert all((plainly._cut(row, 3) == prepared.train.source(row)).all() for row in range(6))


@pytest.mark.parametrize("kind", ["words", "characters"])
def test_what_is_not_cut_has_no_other_tokens(path: Path, kind: str) -> None:
    with pytest.raises(RegardError, match=rf"subword_sampling cuts words .* tokenizer\.kind = '{kind}' there are none"):
        recipes.load(path, ["training.subword_sampling=0.1", f'tokenizer.kind="{kind}"'])


def test_the_gradients_of_parts_add_up(path: Path) -> None:
    _, _, model, task = made(path, *STEADY)

    def gradients(*parts: range) -> tuple[float, list[torch.Tensor]]:
        model.zero_grad()
        losses = [task.loss(model, EpochRows(np.array(rows), 0)).smoothed for rows in parts]
        for loss in losses:
            loss.backward()
        return float(sum(loss.item() for loss in losses)), [each.grad.clone() for each in model.parameters() if each.grad is not None]  # fmt: skip

    (apart, some), (together, all_) = gradients(range(5), range(5, 24)), gradients(range(24))
    assert apart == pytest.approx(together, rel=1e-5)
    assert len(some) == len(list(model.parameters()))
    for one, other in zip(some, all_, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-5 * float(other.abs().max()) + 1e-6)


def test_parts_take_the_texts_that_one_update_takes(path: Path) -> None:
    recipe, prepared, _, _ = made(path)
    task = ClassificationTraining(recipe, prepared, 2, torch.device("cpu"))
    parts, place = task.take((0, 0), 2)
    again, _ = task.take((0, 0), 1)
    assert [part.tokens for part in parts] == [len(part.batch.rows) for part in parts]
    assert np.array_equal(parts[0].batch.rows, again[0].batch.rows)
    seen: list[int] = [row for part in parts for row in part.batch.rows]
    while place[0] == 0:
        (part,), place = task.take(place, 1)
        seen += part.batch.rows.tolist()
    assert sorted(seen) == list(range(len(prepared.train)))  # a pass shows every text once


def test_each_pass_shows_another_window(path: Path) -> None:
    _, prepared, _, task = made(path)
    (row,) = [row for row in range(len(prepared.train)) if len(prepared.train.source(row)) > 24][:1]
    shown = {tuple(task._tensors(EpochRows(np.array([row]), epoch))[0][0].tolist()) for epoch in range(6)}
    assert len(shown) > 1
    assert all(len(each) <= 16 for each in shown)


def test_r_drop_without_dropout_is_the_plain_loss(path: Path) -> None:
    _, _, model, task = made(path, *STEADY)
    ids, labels = task._tensors(EpochRows(np.arange(12), 0))
    losses = [smoothed_loss(each, labels, 0.1) for each in model.separate_logits(model.encode(ids), ids)]
    doubled = labelled_loss(model, ids, labels, 0.1, 5.0)
    torch.testing.assert_close(doubled.smoothed, sum(each.smoothed for each in losses))
    torch.testing.assert_close(doubled.plain, smoothed_loss(model(ids), labels, 0.0).plain)
    _, _, shaken, _ = made(path)
    shaken.train()
    assert labelled_loss(shaken, ids, labels, 0.0, 5.0).smoothed > labelled_loss(shaken, ids, labels, 0.0, 0.0).smoothed


def test_a_batch_holds_at_most_so_many_texts(path: Path) -> None:
    _, _, _, task = made(path, "training.batch_texts=3")
    parts, _ = task.take((0, 0), 50)
    assert max(len(part.batch.rows) for part in parts) == 3
    assert {part.tokens for part in parts} == {task.usual}


def test_hiding_hides_real_tokens_only() -> None:
    torch.manual_seed(1)
    ids = torch.randint(UNKNOWN + 1, 500, (40, 50))
    ids[:, 30:] = PAD
    hidden = hide(ids, 0.2)
    assert (hidden[:, 30:] == PAD).all()
    assert set(hidden[hidden != ids].tolist()) == {UNKNOWN}
    assert 0.15 < (hidden != ids)[:, :30].float().mean() < 0.25
    assert torch.equal(hide(ids, 0.0), ids)


def test_a_masked_loss_of_nothing_hidden_is_nothing(path: Path) -> None:
    _, _, model, _ = made(path, *STEADY)
    torch.manual_seed(3)
    ids = torch.tensor([[20, 21]])
    losses = [masked_loss(model, ids).smoothed for _ in range(20)]
    assert {0.0} < {loss.item() for loss in losses}
    assert all(torch.isfinite(loss) for loss in losses)


@pytest.mark.parametrize(("long", "naive_bayes"), [("first", "false"), ("windows", "false"), ("windows", "true")])
def test_validation_is_what_the_answers_say(path: Path, long: str, naive_bayes: str) -> None:
    """With attention and n-grams weighed as they will be in the model file, window by window."""
    overrides = f"data.long={long}", "data.max_tokens=5", f"training.naive_bayes={naive_bayes}"
    recipe, prepared, model, task = made(path, *overrides)
    assert model.ngram_bag is not None
    torch.nn.init.normal_(model.ngram_bag.table.weight, std=0.1)
    model.eval()
    found = task.validate(model)
    model.load_state_dict({**model.state_dict(), **task.finish(lambda: model).weights})
    texts = [prepared.valid.source(row) for row in range(len(prepared.valid))]
    logits = classify_ids(model, texts, recipe.data, 97)  # batches of other sizes
    labels = torch.tensor([int(prepared.valid.target(row)[0]) for row in range(len(texts))])
    assert found["accuracy"] == pytest.approx(100 * (logits.argmax(-1) == labels).float().mean().item())
    assert found["loss"] == pytest.approx(torch.nn.functional.cross_entropy(logits, labels).item(), rel=1e-5)


def test_log_count_ratios_are_those_of_the_texts_that_hold_an_ngram() -> None:
    bag = NgramBag(2, 10_000, 2)
    texts = [[5, 6, 5], [5, 7, PAD]], [[5, 8, 8], [8, 6, PAD]], [[8, PAD, PAD], [9, PAD, PAD]]
    labels = [1, 1], [1, 0], [0, 0]
    batches = [(torch.tensor(ids), torch.tensor(owners)) for ids, owners in zip(texts, labels, strict=True)]
    ratios = log_count_ratios(bag, batches, 2)

    def of(*ngram: int) -> float:
        return float(ratios[int(bag.ngrams_by_length(torch.tensor([ngram]))[-1][0, 0]), 1])

    assert of(5) == pytest.approx(
        math.log(4 / 1)
    )  # in 3 of 3 texts and 0 of 3, and in one more each; twice counts once
    assert of(8) == pytest.approx(math.log(2 / 3))
    assert of(5, 7) == pytest.approx(math.log(2))
    assert of(6) == of(7, 7) == 0.0  # alike, and never
    torch.testing.assert_close(ratios[:, 0], -ratios[:, 1])
    assert not ratios[PAD].any()


def test_an_ngram_that_tells_nothing_learns_nothing(path: Path) -> None:
    _, _, model, task = made(path, "training.naive_bayes=true")
    assert model.ngram_bag is not None
    assert task.ratios is not None
    task.ratios[7::2] = 0.0
    task.loss(model, EpochRows(np.arange(24), 0)).smoothed.backward()
    gradient = model.ngram_bag.table.weight.grad
    assert gradient is not None
    assert gradient[8::2].any()
    assert not gradient[7::2].any()


def test_what_was_multiplied_is_not_multiplied_again() -> None:
    assert list(ClassifierTraining(naive_bayes=True).impossible()) == []
    (mistake,) = ClassifierTraining(naive_bayes=True, start="demo").impossible()
    assert mistake.startswith("training.naive_bayes needs training.start = ''")


def test_a_model_remembers_its_labels_and_its_temperature(path: Path, tmp_path: Path) -> None:
    train(path, tmp_path / "run", "training.updates=3")
    assets = load_trained(tmp_path / "run").assets
    assert assets.labels == ("negative", "neutral", "positive")
    assert 0.01 <= assets.temperature <= 100


def test_an_unknown_label_of_the_validation_text_stops_all(tmp_path: Path) -> None:
    (tmp_path / "train.tsv").write_text("".join(f"a b {n}\t{'xy'[n % 2]}\n" for n in range(20)), encoding="utf-8")
    (tmp_path / "valid.tsv").write_text("a\tx\nb\tz\n", encoding="utf-8")
    text = f'task = "text-classification"\n[data]\ntrain = ["train.tsv"]\nvalid = ["valid.tsv"]\nprepared = "{tmp_path}/prepared"\n[tokenizer]\nkind = "words"\npieces = 0\n'
    (tmp_path / "x.toml").write_text(text, encoding="utf-8")
    recipe = recipes.load(tmp_path / "x.toml")
    with pytest.raises(
        DataError, match=r"valid\.tsv, line 2: the label 'z' does not occur in the training text, which knows x, y"
    ):
        prepare(recipe, show=False)
