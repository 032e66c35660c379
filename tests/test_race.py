"""A race of toys: fair budgets, mistakes found before anything runs, nothing done twice, and numbers that are so."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from rich.console import Console

from regard import config
from regard.config import recipes
from regard.errors import ConfigError, DataError, RegardError, UsageError
from regard.evaluation.scores import score
from regard.experiments.race import measures, racing
from regard.experiments.race.comparison import FEW, by_length
from regard.experiments.race.entrants import ENDLESS, STEP, Budget, build_entrants, parameters_of, widest
from regard.experiments.race.footprint import first_updates, own_peak, training_memory
from regard.experiments.race.measures import spread_over_length
from regard.tasks.registry import build
from regard.tasks.translation.evaluation import recipe_test_sets
from regard.view.arrays import unpack
from tests.commands.calling import fail, succeed

ALL = ("rnn", "rnn-attention", "conv", "transformer")
RECIPE = """
[data]
train = ["train.tsv"]
valid = ["valid.tsv"]
prepared = "{folder}/prepared"
max_tokens = 60
[data.test]
first = ["first.tsv"]
second = ["second.tsv"]
[tokenizer]
vocabulary = 320
[model]
size = "tiny"
width = 32
feed_forward = 64
heads = 2
encoder_layers = 1
decoder_layers = 1
max_positions = 64
[training]
batch_tokens = 200
updates = 4
learning_rate = 3e-3
schedule = "linear"
warmup = 2
validate_every = 2
validate_sentences = 4
average = 1
threads = 1
[decoding]
beam = 2
max_ratio = 0.5
max_extra = 2
"""


@pytest.fixture(scope="module")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sentences and the same backwards."""
    folder = tmp_path_factory.mktemp("corpus")
    chance = random.Random(1)
    words = ["".join(chance.choices("bdkmnt", k=1) + chance.choices("aeiou", k=1)) for _ in range(40)]
    for name, count in (("train", 200), ("valid", 8), ("first", 16), ("second", 14)):
        sentences = [chance.choices(words, k=chance.randint(1, 8)) for _ in range(count)]
        rows = [f"{' '.join(each)}\t{' '.join(reversed(each))}\n" for each in sentences]
        (folder / f"{name}.tsv").write_text("".join(rows), encoding="utf-8")
    (folder / "toy.toml").write_text(RECIPE.format(folder=folder), encoding="utf-8")
    return folder / "toy.toml"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No other process for the memory, few sentences on time; and threads as they were."""
    before = torch.get_num_threads()
    monkeypatch.setattr(measures, "training_memory", lambda recipe: 123_000_000)
    monkeypatch.setattr(measures, "TIMED", 3)
    monkeypatch.setattr(measures, "ROUNDS", 1)
    yield
    torch.set_num_threads(before)


def run(
    recipe: Path, folder: Path, names: Sequence[str] = ("rnn", "transformer"), *overrides: str, **options: Any
) -> tuple[dict[str, Any], str]:
    """What the race found, if it came to its end, and what it said."""
    said = io.StringIO()
    budget = options.pop("budget", Budget())
    console = Console(file=said, width=300)
    found = racing.race(
        recipe, names, parameters=budget.parameters, minutes=budget.minutes, overrides=overrides, run=folder,
        console=console, command="regard race", **options,
    )  # fmt: skip
    if found.finished:
        found.draw(console)
    kept = folder / "race.json"
    return json.loads(kept.read_text(encoding="utf-8")) if kept.is_file() else {}, said.getvalue()


@pytest.fixture(scope="module")
def finished(recipe: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A race of all four; who needs its memory measured does that elsewhere."""
    folder = tmp_path_factory.mktemp("race") / "race"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measures, "training_memory", lambda recipe: 123_000_000)
        patch.setattr(measures, "TIMED", 3)
        patch.setattr(measures, "ROUNDS", 1)
        return folder, run(recipe, folder, ALL)[0]


# Budgets


@pytest.mark.parametrize("limit", [30_000, 200_000, 3_000_000])
def test_no_wider_model_would_fit(recipe: Path, limit: int) -> None:
    for entrant in build_entrants(recipe, ALL, [], Budget(parameters=limit))[0]:
        model, step = entrant.recipe.model, STEP
        assert model.architecture == entrant.name
        assert model.width % step == 0
        changes: dict[str, Any] = {"width": model.width + step}
        if isinstance(model, config.Transformer):
            assert model.width % model.heads == 0
            assert model.feed_forward == 2 * model.width, "as in the recipe"
            changes["feed_forward"] = 2 * (model.width + step)
        wider = parameters_of(replace(model, **changes), (320, 320))
        assert entrant.parameters <= limit < wider


def test_parameters_are_counted_as_they_will_be(recipe: Path) -> None:
    for entrant in build_entrants(recipe, ALL, [], Budget())[0]:
        model = build(entrant.recipe.model, 320, 320)
        assert entrant.parameters == sum(parameter.numel() for parameter in model.parameters())


def test_the_recipes_own_model_sets_the_budget(recipe: Path) -> None:
    own = recipes.load(recipe)
    entrants, budget = build_entrants(recipe, ALL, [], Budget())
    named = {entrant.name: entrant for entrant in entrants}
    assert budget == Budget(parameters=named["transformer"].parameters)
    assert named["transformer"].recipe == own
    assert all(entrant.parameters <= named["transformer"].parameters for entrant in named.values())
    for entrant in named.values():
        assert (entrant.recipe.data, entrant.recipe.tokenizer, entrant.recipe.name) == (
            own.data,
            own.tokenizer,
            own.name,
        )
        if entrant.name != "transformer":
            assert entrant.recipe.model.max_positions == own.data.max_tokens + 1, "nothing is spent on more"


def test_heads_divide_every_width(recipe: Path) -> None:
    model = replace(config.Transformer(), heads=12, width=192, feed_forward=768)
    found = widest(model, (320, 320), 2_000_000)
    assert found.width % 12 == 0
    assert found.width % STEP == 0


def test_with_minutes_nothing_but_time_ends(recipe: Path) -> None:
    for entrant in build_entrants(recipe, ALL, [], Budget(minutes=2.5))[0]:
        training = entrant.recipe.training
        assert (training.minutes, training.updates, training.schedule) == (2.5, ENDLESS, "inverse-sqrt")
        if entrant.name != "transformer":
            assert (
                entrant.recipe.model.width
                == config.TASKS["translation"].architectures[entrant.name].sizes["tiny"]["width"]
            )
    (entrant,), _ = build_entrants(
        recipe, ["conv"], ["training.schedule=linear", "training.updates=9"], Budget(minutes=1)
    )
    assert (entrant.recipe.training.schedule, entrant.recipe.training.updates) == ("linear", 9), "--set wins"


def test_who_wins_over_whom(recipe: Path) -> None:
    """The recipe < what suits an architecture < --set of all < --set of an entrant."""

    def rates(*overrides: str) -> list[float]:
        entrants, _ = build_entrants(recipe, ["conv", "transformer"], overrides, Budget())
        return [entrant.recipe.training.learning_rate for entrant in entrants]

    assert rates() == [1.5e-3, 3e-3]
    assert rates("training.learning_rate=0.5") == [0.5, 0.5]
    assert rates("conv:training.learning_rate=0.25", "training.learning_rate=0.5") == [0.25, 0.5]
    assert rates("transformer:training.learning_rate=0.25") == [1.5e-3, 0.25]


# Mistakes


@pytest.mark.parametrize(
    ("names", "overrides", "budget", "message"),
    [
        (["rnn", "transfomer"], [], Budget(), "unknown architecture 'transfomer'. Did you mean 'transformer'?"),
        (["rnn", "rnn"], [], Budget(), "rnn cannot run twice"),
        ([], [], Budget(), "needs somebody to run"),
        (["rnn"], [], Budget(10, 1.0), "give one of them"),
        (
            ["conv"],
            [],
            Budget(100),
            "a budget of 100 parameters is too small for conv: with 320 tokens and a width of 16",
        ),
        (["conv"], ["convv:model.dropout=0"], Budget(), "no entrant 'convv'. Did you mean 'conv'?"),
        (["conv"], ["conv:tokenizer.vocabulary=300"], Budget(), "only model and training may differ"),
        (["conv"], ["conv:decoding.beam=1"], Budget(), "set it for all"),
        (["conv"], ["conv:model.width=64"], Budget(), "says what a budget"),
        (["conv", "transformer"], ["model.heads=4"], Budget(), "entrant conv: unknown setting 'model.heads' (--set"),
        (["conv"], ["conv:training.clipp=1"], Budget(), "Did you mean 'training.clip'?"),
    ],
)
def test_mistakes_are_found_before_anything_runs(
    recipe: Path, tmp_path: Path, names: list[str], overrides: list[str], budget: Budget, message: str
) -> None:
    with pytest.raises(RegardError) as caught:
        run(recipe, tmp_path / "race", names, *overrides, budget=budget)
    assert message in str(caught.value)
    assert not (tmp_path / "race").exists()


def test_what_there_is_to_read_is_looked_for_first(recipe: Path, tmp_path: Path) -> None:
    text = recipe.read_text(encoding="utf-8")
    for name, (old, new) in {
        "untested": ('[data.test]\nfirst = ["first.tsv"]\nsecond = ["second.tsv"]\n', ""),
        "missing": ('"second.tsv"', '"third.tsv"'),
    }.items():
        (recipe.parent / f"{name}.toml").write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(UsageError, match=r"untested\.toml names no test set, which a race is judged by"):
        run(recipe.parent / "untested.toml", tmp_path / "race")
    with pytest.raises(DataError, match=r"third\.tsv"):
        run(recipe.parent / "missing.toml", tmp_path / "race")
    with pytest.raises(UsageError, match=r"no test set 'secnd'\. Did you mean 'second'"):
        run(recipe, tmp_path / "race", test="secnd")
    with pytest.raises(ConfigError, match="no folder"):
        run(recipe, tmp_path / "race", data=tmp_path / "nowhere")
    with pytest.raises(UsageError, match=r"should end in \.html"):
        run(recipe, tmp_path / "race", output=tmp_path / "page.pdf")
    assert not (tmp_path / "race").exists()


def test_another_race_in_the_same_folder_is_refused_at_once(
    recipe: Path, finished: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    """Also when the entrant that differs is not the first."""
    trained: list[Any] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(racing, "train", lambda *given, **more: trained.append(given))
        with pytest.raises(RegardError, match=r"begun with other settings.*training.clip"):
            run(recipe, finished[0], ALL, "conv:training.clip=0.5")
    assert not trained


# The race


def test_entrants_are_run_folders_that_share_a_corpus(recipe: Path, finished: tuple[Path, dict[str, Any]]) -> None:
    folder, comparison = finished
    for name in ALL:
        assert {"model.safetensors", "config.toml", "metrics.jsonl", "race.json"} <= {
            each.name for each in (folder / name).iterdir()
        }
    assert len(list((recipe.parent / "prepared").iterdir())) == 1
    assert (folder / "race.html").is_file()
    assert [entrant["name"] for entrant in comparison["entrants"]] == list(ALL)


def test_scores_are_those_of_the_translations(recipe: Path, finished: tuple[Path, dict[str, Any]]) -> None:
    folder, comparison = finished
    test_set, _ = recipe_test_sets(recipes.load(recipe))
    assert comparison["test_set"] == {"name": "first", "texts": 16}
    for entrant in comparison["entrants"]:
        kept = json.loads((folder / entrant["name"] / "race.json").read_text(encoding="utf-8"))
        bleu, chrf, _ = score(kept["answers"], test_set.references)
        assert [each["value"] for each in entrant["scores"]] == pytest.approx([bleu.value, chrf.value])
        for found, plain in zip(entrant["scores"], (bleu, chrf), strict=True):
            assert found["signature"].startswith(plain.signature)
            assert found["low"] <= found["high"]
        assert entrant["parameters"] <= comparison["entrants"][-1]["parameters"]
        assert entrant["updates"] == 4
        assert [point["update"] for point in entrant["curve"]] == [2, 4]
        assert 0 < entrant["curve"][0]["seconds"] < entrant["curve"][1]["seconds"] == entrant["seconds"]
        assert entrant["speed"]["texts_per_second"] > 0
    pairs = {(pair["a"], pair["b"]): pair["metrics"][0]["value"] for pair in comparison["pairs"]}
    values = {entrant["name"]: entrant["scores"][0]["value"] for entrant in comparison["entrants"]}
    assert len(pairs) == 6
    for (a, b), difference in pairs.items():
        assert difference == pytest.approx(values[b] - values[a])


def test_samples_are_of_all_lengths_and_looks_are_shares(finished: tuple[Path, dict[str, Any]]) -> None:
    samples = finished[1]["samples"]
    assert [each["tokens"] for each in samples] == sorted(each["tokens"] for each in samples)
    for each in samples:
        assert each["looks"]["rnn"] is None
        for name in ALL[1:]:
            look = each["looks"][name]
            weights = unpack(look["weights"])
            assert weights.shape == (len(look["target"]), len(look["source"]))
            np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-3)
            assert " ".join(look["source"][:-1]) == each["source"]


def test_a_finished_race_is_not_repeated(
    recipe: Path, finished: tuple[Path, dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, before = finished
    monkeypatch.setattr(measures, "measured", lambda *given: pytest.fail("measured again"))
    monkeypatch.setattr(measures, "answering_speed", lambda *given: pytest.fail("timed again"))
    after, said = run(recipe, folder, ALL, output=tmp_path / "page.html")
    assert said.count("nothing is left to do") == len(ALL)
    assert {**after, "command": ""} == {**before, "command": ""}
    assert (tmp_path / "page.html").is_file()


def test_an_interrupted_race_goes_on(recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = racing.train

    def interrupted(recipe: config.TranslationRecipe, *, run: Path, show: Console) -> Any:
        done = real(recipe, run=run, show=show)
        return SimpleNamespace(reason="interrupted") if run.name == "transformer" else done

    monkeypatch.setattr(racing, "train", interrupted)
    comparison, said = run(recipe, tmp_path / "race")
    assert not comparison
    assert "stopped and saved. Go on with: " in said
    monkeypatch.setattr(racing, "train", real)
    for broken in ("compare_entrants", "measure"):  # Ctrl-C while nothing is trained

        def pressed(*given: Any) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(racing, broken, pressed)
            with pytest.raises(KeyboardInterrupt):
                run(recipe, tmp_path / "race")
    comparison, _ = run(recipe, tmp_path / "race")
    assert len(comparison["entrants"]) == 2


def test_another_test_set_is_measured_anew(recipe: Path, tmp_path: Path) -> None:
    first, _ = run(recipe, tmp_path / "race", ["transformer"])
    second, said = run(recipe, tmp_path / "race", ["transformer"], test="second")
    assert first["test_set"]["texts"] == 16
    assert second["test_set"] == {"name": "second", "texts": 14}
    assert "measuring transformer" in said
    assert not second["pairs"]


def test_a_damaged_result_is_measured_anew(recipe: Path, tmp_path: Path) -> None:
    first, _ = run(recipe, tmp_path / "race", ["transformer"])
    (tmp_path / "race" / "transformer" / "race.json").write_text('{"stamp": {', encoding="utf-8")
    second, _ = run(recipe, tmp_path / "race", ["transformer"])
    assert second["entrants"][0]["scores"] == first["entrants"][0]["scores"]


def test_the_verb(recipe: Path, tmp_path: Path) -> None:
    page, folder = tmp_path / "page.html", tmp_path / "race"
    answer = succeed(
        "race", recipe, "--architectures", "conv, transformer", "--parameters", 30_000, "--run", folder, "-o", page,
        "--test", "second", "--set", "training.updates=2", "--set", "conv:training.clip=0.5",
    )  # fmt: skip
    assert f"wrote {page}" in answer.out
    assert "conv, 1 of 2: width 16, " in answer.out
    clips = [
        recipes.load(folder / name / "config.toml", finished=True).training.clip for name in ("conv", "transformer")
    ]
    assert clips == [0.5, 0.0]
    assert "give one of them" in fail("race", recipe, "--parameters", 9, "--minutes", 1)


# Choosing sentences


@pytest.mark.parametrize("seed", range(5))
def test_buckets_hold_every_sentence_once(seed: int) -> None:
    chance = random.Random(seed)
    lengths = [1 + int(chance.expovariate(1 / 12)) for _ in range(chance.choice([1, 9, 60, 900]))]
    buckets = by_length(lengths)
    assert sorted(place for bucket in buckets for place in bucket.places) == list(range(len(lengths)))
    for bucket in buckets:
        assert all(bucket.low <= lengths[place] <= bucket.high for place in bucket.places)
    assert len(buckets) == 1 or min(len(bucket.places) for bucket in buckets) >= FEW
    assert all(one.high + 1 == other.low for one, other in pairwise(buckets))
    assert buckets[-1].high >= max(lengths)


def test_shown_sentences_are_spread_over_length() -> None:
    lengths = [5] * 500 + list(range(1, 61)) + [0, 99]
    places = spread_over_length(lengths, 60, 12)
    chosen = [lengths[place] for place in places]
    assert len(set(places)) == 12
    assert chosen == sorted(chosen)
    assert chosen[-1] == 60
    assert max(np.diff(chosen)) <= 8, "no gap, though most sentences are short"
    assert sorted(spread_over_length([3, 0, 70, 4], 60)) == [0, 3]


# Memory


def test_first_updates_tell_their_memory(recipe: Path) -> None:
    assert first_updates(recipes.load(recipe)) > 50_000_000


@pytest.mark.slow
def test_memory_is_that_of_a_fresh_process(recipe: Path) -> None:
    """What this process holds does not count."""
    ballast = np.ones(40_000_000)
    assert 50_000_000 < training_memory(recipes.load(recipe)) < own_peak()
    assert ballast.all()
