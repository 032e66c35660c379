"""Several corpora and several directions in one model: read, mixed, tagged, trained, translated and scored."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import regard
from regard.checkpoint import read, read_model
from regard.config import recipes
from regard.data.augmentation import LineBatches
from regard.data.mixture import Mixture, read_split
from regard.decoding.options import Engine, Search
from regard.errors import ConfigError, DataError, UsageError
from regard.tasks.translation.evaluation import recipe_test_sets
from regard.tasks.translation.native import Native, log_probabilities
from tests.commands.calling import succeed

RECIPE = """
[data]
prepared = "{folder}/prepared"
max_tokens = 40

[[data.corpus]]
name = "talk"
train = ["talk.tsv"]
valid = ["talk-valid.jsonl"]
test = ["talk-valid.jsonl"]
source_language = "xx"
target_language = "yy"
both_directions = true

[[data.corpus]]
name = "made"
train = ["made.csv"]
source_language = "xx"
target_language = "yy"
source_column = 2
target_column = 1
weight = 0.5
tag = "<bt>"

[tokenizer]
vocabulary = 320

[model]
size = "tiny"
width = 16
feed_forward = 32
heads = 2
encoder_layers = 1
decoder_layers = 1
max_positions = 64

[training]
batch_tokens = 96
updates = 6
warmup = 2
validate_every = 3
validate_sentences = 6
average = 1
threads = 1
"""


@pytest.fixture(scope="module")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("directions")
    chance = random.Random(1)
    words = [consonant + vowel for consonant in "bdkmnt" for vowel in "aeiou"]
    pairs = [(" ".join(each), " ".join(reversed(each))) for each in (chance.choices(words, k=4) for _ in range(150))]
    (folder / "talk.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in pairs[:100]))
    (folder / "made.csv").write_text("".join(f'"{target}","{source}"\n' for source, target in pairs[100:140]))
    lines = [json.dumps({"yy": target, "xx": source}) + "\n" for source, target in pairs[140:]]
    (folder / "talk-valid.jsonl").write_text("".join(lines))
    path = folder / "mixed.toml"
    path.write_text(RECIPE.format(folder=folder))
    return path


@pytest.fixture(scope="module")
def run(recipe: Path) -> regard.Run:
    return regard.train(recipe, run=recipe.parent / "run", show=False)


def test_corpora_in_any_form_are_read_in_their_directions(recipe: Path) -> None:
    data = recipes.load(recipe).data
    pairs = list(read_split(data, "train"))  # type: ignore[arg-type]
    assert len(pairs) == 100 + 100 + 40
    assert all(source.split() == target.split()[::-1] for source, target in pairs)
    assert pairs[100] == pairs[0][::-1]
    assert data.tags == ["<2yy>", "<2xx>", "<bt>"]  # type: ignore[attr-defined]
    assert list(data.tests) == ["talk xx-yy", "talk yy-xx"]


def test_the_report_tells_of_each_corpus(run: regard.Run, recipe: Path) -> None:
    told = "\n".join(regard.prepare(recipe, show=False).lines())
    assert "talk xx→yy: " in told
    assert "made xx→yy: 40 of 40 pairs kept" in told


def test_a_recipe_with_corpora_survives_being_written(run: regard.Run, recipe: Path) -> None:
    assert recipes.load(run.folder / "config.toml", finished=True).data.corpus == run.recipe.data.corpus  # type: ignore[attr-defined]
    assert read_model(run.folder).recipe.data.corpus[0].train == ("talk.tsv",)


def test_a_mixture_goes_through_every_row_and_can_be_sought() -> None:
    mixture = Mixture([10, 4, 6], [1, 2, 0.5], 1.0, seed=3)
    assert mixture.counts.tolist() == [10, 8, 3]
    assert sorted(mixture.rows(0, 5).tolist()) == list(range(10))
    assert sorted(mixture.rows(1, 0).tolist()) == sorted([*range(10, 14)] * 2)
    both = [*mixture.rows(2, 0).tolist(), *mixture.rows(2, 1).tolist()]
    assert sorted(both) == list(range(14, 20))
    again = Mixture([10, 4, 6], [1, 2, 0.5], 1.0, seed=3)
    assert again.rows(2, 7).tolist() == mixture.rows(2, 7).tolist()
    flat = Mixture([900, 100], [1, 1], 2.0, seed=1)
    assert flat.counts.tolist() == [750, 250]


def test_lines_are_joined_within_a_corpus() -> None:
    mixture = Mixture([30, 30], [1, 1], 1.0, seed=1)
    batches = LineBatches(np.full((60, 2), 3, dtype=np.int32), 20, 1, 0.5, 40, mixture)
    lines = batches.lines(2)
    groups = [lines.of(number).tolist() for number in range(len(lines.begins) - 1)]
    assert max(map(len, groups)) > 1
    assert all(len({mixture.owner(row) for row in group}) == 1 for group in groups)
    assert sorted(row for group in groups for row in group) == list(range(60))


def test_a_stopped_run_goes_on_to_the_same_bits(run: regard.Run, recipe: Path, tmp_path: Path) -> None:
    regard.train(recipe, run=tmp_path / "parts", overrides=["training.updates=3"], show=False)
    parts = regard.train(recipe, run=tmp_path / "parts", show=False)
    whole, again = (read(each.folder / "checkpoints" / "last.safetensors")[0] for each in (run, parts))
    assert all(torch.equal(whole[name], again[name]) for name in whole)


def test_tags_say_into_which_language(run: regard.Run) -> None:
    model = run.model
    assert model.targets == ["yy", "xx"]
    one, other = model.to("yy"), model.to("xx").to("yy").to("xx")
    assert one.tags != other.tags
    assert (other.recipe.data.source_language, other.recipe.data.target_language) == ("yy", "xx")
    assert model.tokenizer.tag("<bt>") not in model.encode(["<bt> ba <2xx>"])[0]
    assert model.tokenizer.decode(model.encode(["ba de"])[0], "source") == "ba de"
    assert one.score("ba de", "de ba").log_probability != other.score("ba de", "de ba").log_probability
    assert len(other.translate(["ba de ki", ""], warnings=True)) == 2
    with pytest.raises(UsageError, match="into yy, xx, not into 'zz'"):
        regard.load(run.folder, to="zz")


def test_a_model_of_one_direction_has_no_other() -> None:
    with pytest.raises(UsageError, match=r"translates into .* only, not into 'fr'"):
        regard.load("demo", to="fr")


def test_each_direction_has_its_score(run: regard.Run, recipe: Path) -> None:
    assert [each.name for each in run.evaluate().results] == ["talk xx-yy", "talk yy-xx"]
    assert [each.name for each in regard.evaluate(run.folder, to="xx").results] == ["talk yy-xx"]


def test_mistakes_in_corpora_are_named(recipe: Path, tmp_path: Path) -> None:
    path = recipe.parent / "wrong.toml"
    path.write_text(recipe.read_text().replace('tag = "<bt>"', 'tag = "bt"').replace("weight = 0.5", "weight = 0"))
    with pytest.raises(ConfigError, match="a tag is written like <bt>") as told:
        recipes.load(path)
    assert "weight must be between" in str(told.value)
    path.write_text(recipe.read_text().replace("both_directions", "both_direction"))
    with pytest.raises(ConfigError, match="Did you mean 'both_directions'"):
        recipes.load(path)
    path.write_text(recipe.read_text().replace("[data]\n", '[data]\ntrain = ["talk.tsv"]\n'))
    with pytest.raises(ConfigError, match="stand in the entries"):
        recipes.load(path)


def test_two_tsv_files_are_refused_with_advice(recipe: Path) -> None:
    settings = recipes.load(
        recipe, ["data.corpus=[]", 'data.train=["talk.tsv", "talk.tsv"]', 'data.valid=["talk.tsv"]']
    )
    with pytest.raises(DataError, match=r"has a tab in every line.*\[\[data.corpus\]\]"):
        list(read_split(settings.data, "train"))  # type: ignore[arg-type]


def test_a_share_of_the_text_is_held_out(recipe: Path) -> None:
    settings = recipes.load(recipe, ["data.corpus=[]", 'data.train=["talk.tsv"]', "data.hold_out=0.1"])
    recipes.require_data(settings)
    train, valid = (list(read_split(settings.data, split)) for split in ("train", "valid"))  # type: ignore[arg-type]
    assert (len(train), len(valid)) == (90, 10)
    assert not {*train} & {*valid}


def test_splits_of_a_corpus_may_stand_in_one_column_and_be_called_otherwise(tmp_path: Path) -> None:
    rows = "train\ta b\tb a\nextra\tc d\td c\nvalid\te f\tf e\ntest\tg h\th g\n"
    (tmp_path / "all.tsv").write_text(rows)
    entry = '[[data.corpus]]\nname = "{}"\ntrain = ["all.tsv"]\nboth_directions = true\n'
    (tmp_path / "split.toml").write_text(
        f'[data]\nfolder = "{tmp_path}"\nsplit_column = 1\nsource_column = 2\ntarget_column = 3\n'
        'source_language = "xx"\ntarget_language = "yy"\n'
        + entry.format("one") + 'valid = ["all.tsv"]\ntest = ["all.tsv"]\n'
        + entry.format("two") + 'split = "extra"\n'
    )  # fmt: skip
    recipe = recipes.load(tmp_path / "split.toml")
    data = recipe.data
    assert list(read_split(data, "train")) == [("a b", "b a"), ("b a", "a b"), ("c d", "d c"), ("d c", "c d")]  # type: ignore[arg-type]
    assert list(read_split(data, "valid")) == [("e f", "f e"), ("f e", "e f")]  # type: ignore[arg-type]
    sets = recipe_test_sets(recipe)  # type: ignore[arg-type]
    assert [(each.name, each.sources) for each in sets] == [("one xx-yy", ["g h"]), ("one yy-xx", ["h g"])]


TEXTS = ["ba de ki", "mo nu ta be di", "ki ki"]


def test_a_call_may_say_into_which_language(run: regard.Run) -> None:
    model = run.model
    for language in ("yy", "xx"):
        turned = model.to(language)
        assert model.translate(TEXTS, to=language) == turned.translate(TEXTS)
        assert model.score(TEXTS, TEXTS, to=language) == turned.score(TEXTS, TEXTS)
        assert model.cost(TEXTS, to=language) == turned.cost(TEXTS)
        assert model.look_size(TEXTS[0], to=language) == turned.look_size(TEXTS[0])
        seen = model.attention(TEXTS[0], to=language)
        assert seen.source_tokens[0] == f"<2{language}>"
        assert seen.translation == turned.attention(TEXTS[0]).translation
    assert model.translate(TEXTS, to=None) == model.translate(TEXTS, to="yy")
    with pytest.raises(UsageError, match="into yy, xx, not into 'zz'"):
        model.translate(TEXTS, to="zz")


def test_view_takes_a_language(run: regard.Run, tmp_path: Path) -> None:
    seen = regard.view(run.folder, TEXTS[0], to="xx")
    assert seen.to_dict()["scenes"][0]["source"]["tokens"][0] == "<2xx>"
    assert "<2xx>" in succeed("view", run.folder, TEXTS[0], "--to", "xx").out


def as_scored(model: regard.Translator, engine: Engine, language: str) -> None:
    """What an engine writes after a tag has the probability that the model itself gives it after that tag, and after no other."""
    turned, other = (model.to(each) for each in (language, {"xx": "yy", "yy": "xx"}[language]))
    settings = replace(model.recipe.decoding, max_ratio=2.0, max_extra=2)
    found = [each[0] for each in engine.decode(turned.encode(TEXTS), Search(beam=2, scores=True), settings)]
    targets = [list(each.tokens) for each in found]
    expected, wrong = (log_probabilities(model.model, each.encode(TEXTS), targets) for each in (turned, other))
    for each, own, theirs in zip(found, expected, wrong, strict=True):
        count = len(each.token_log_probabilities)
        assert each.token_log_probabilities == pytest.approx(own[:count], abs=1e-3)
        assert each.token_log_probabilities != pytest.approx(theirs[:count], abs=1e-3)


@pytest.mark.parametrize("language", ["xx", "yy"])
def test_tags_reach_ctranslate2(run: regard.Run, language: str) -> None:
    pytest.importorskip("ctranslate2")
    fast = regard.load(run.folder, engine="ctranslate2", to=language)
    assert fast.decoded_by.startswith("ctranslate2")
    as_scored(regard.load(run.folder), fast.engine, language)
    assert len(fast.translate([*TEXTS, ""], warnings=True)) == 4


@pytest.mark.parametrize("language", ["xx", "yy"])
def test_tags_reach_onnx(run: regard.Run, language: str, tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    from regard.export.onnx import OnnxModel

    regard.export(run.folder, "onnx", output=tmp_path / "onnx", samples=0)
    as_scored(regard.load(run.folder), Native(OnnxModel(tmp_path / "onnx")), language)


def test_an_export_is_compared_with_its_tags_and_keeps_both_directions(run: regard.Run, tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2")
    (tmp_path / "in.txt").write_text("\n".join(TEXTS) + "\n")
    regard.export(run.folder, "ctranslate2", output=tmp_path / "fast", source=tmp_path / "in.txt")
    told = json.loads((tmp_path / "fast" / "regard.json").read_text())
    assert [each["name"] for each in told["recipe"]["data"]["corpus"]] == ["talk", "made"]
    assert (told["recipe"]["data"]["source_language"], told["recipe"]["data"]["target_language"]) == (
        "source",
        "target",
    )


@pytest.mark.parametrize("language", ["xx", "yy"])
def test_tags_in_8_bits(run: regard.Run, language: str) -> None:
    rounded = regard.load(run.folder, int8=True, engine="native")
    as_scored(rounded, rounded.engine, language)  # its own numbers, rounded as they are


def test_a_server_is_told_the_language(run: regard.Run) -> None:
    pytest.importorskip("fastapi")
    import httpx

    from tests.serve.conftest import running

    model = regard.load(run.folder)
    with (
        running({"both": model, "demo": regard.load("demo")}) as server,
        httpx.Client(base_url=server.url, timeout=60) as client,
    ):
        assert client.get("/health").json()["languages"] == {"both": ["yy", "xx"], "demo": ["en"]}
        for language in ("xx", "yy"):
            answer = client.post("/translate", json={"text": TEXTS, "to": language}).json()
            assert [each["text"] for each in answer["translations"]] == [
                each.text for each in model.translate(TEXTS, to=language)
            ]
            scored = client.post("/score", json={"source": TEXTS[0], "target": TEXTS[1], "to": language}).json()
            expected = model.score(TEXTS[0], TEXTS[1], to=language).log_probability
            assert scored["scores"][0]["log_probability"] == pytest.approx(expected, abs=1e-4)
            seen = client.post("/attention", json={"text": TEXTS[0], "to": language, "beam": 1}).json()
            assert seen["scenes"][0]["source"]["tokens"][0] == f"<2{language}>"
        refused = client.post("/translate", json={"text": "ba", "to": "zz"})
        assert refused.status_code == 422
        assert "into yy, xx, not into 'zz'" in refused.json()["detail"]
        assert client.post("/translate", json={"text": "Ja.", "model": "demo", "to": "fr"}).status_code == 422
        page = client.get("/").text
        assert '"targets":["yy","xx"]' in page.replace(" ", "")
        assert "xx → yy, yy → xx" in page
