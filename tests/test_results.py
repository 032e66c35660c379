"""What is kept in results/: every score is computed again from the answers, and answers, text and signatures are those that were
kept. References that may not be passed on are read from REGARD_DATA, if they are there."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

import regard
from regard.config import Recipe, TranslationRecipe, recipes
from regard.config.stored import find_model
from regard.data.ids import checksum
from regard.errors import RegardError, UsageError
from regard.evaluation.scores import paper_score, score
from regard.tasks.data_folder import BUNDLED_TESTS, with_data_folder
from regard.tasks.kept import checksums_of
from regard.tasks.translation.evaluation import TranslationTest, recipe_test_sets
from regard.tasks.translation.unlike import rows_unlike, scores_unlike
from tests.training.toy import train, write_corpus

ROOT = Path(__file__).parents[1]
KEPT = sorted(path.parent for path in (ROOT / "results").glob("*/scores.json"))


def text_of(folder: Path, told: dict[str, Any]) -> Recipe | None:
    """The recipe with the text that was answered, if it is there and the same."""
    recipe = recipes.load(folder / "config.toml", finished=True)
    (model, *_) = told["models"]
    for data in (None, os.environ.get("REGARD_DATA")):
        try:
            found = with_data_folder(recipe, model if model in BUNDLED_TESTS else folder, data)
            texts = {name: checksums_of(found, name) for name in told["tests"]}
        except RegardError:  # it is not there
            continue
        if all(texts[name] == each["text"] for name, each in told["tests"].items()):
            return found
    return None


def again(recipe: TranslationRecipe, name: str, answers: list[str], signatures: str) -> dict[str, tuple[float, str]]:
    """Scores by name, with their signatures."""
    (test_set,) = [each for each in recipe_test_sets(recipe) if each.name == name]
    language = recipe.data.target_language
    found = [*score(answers, test_set.references, target_language=language)]
    found.append(paper_score(answers, test_set.references, language))
    if unlike := re.search(r"\|unlike:([\d.]+)\|", signatures):
        test = TranslationTest(name, found, test_set.sources, answers, test_set.references)
        most = float(unlike[1])
        found += scores_unlike(test, rows_unlike(test_set, recipe.data, most, {}), most, language)
    return {each.name: (each.value, each.signature) for each in found}


def check(folder: Path) -> int:
    """Everything that can be → how many scores were computed again."""
    told = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
    recipe, computed = text_of(folder, told), 0
    for name, each in told["tests"].items():
        for file, expected in each["answers"].items():
            assert checksum(folder / file) == expected, f"{folder / file} is not what was answered"
            answers = (folder / file).read_text(encoding="utf-8").split("\n")[:-1]
            if file.endswith(".tsv"):
                rows = [row for row in (line.split("\t") for line in answers) if row[0]]  # an empty text does not count
                right = 100 * sum(row[0] == row[2] for row in rows) / len(rows)
                assert right == pytest.approx(each["scores"][0]["value"], abs=1e-9)
                computed += 1
            elif isinstance(recipe, TranslationRecipe):
                found = again(recipe, name, answers, " ".join(one["signature"] for one in each["scores"]))
                for one in each["scores"]:
                    value, signature = found[one["name"]]
                    assert value == pytest.approx(one["value"], abs=1e-9), one["name"]
                    assert one["signature"].startswith(signature.partition("|split:")[0])
                    assert one["signature"].partition("|unlike:")[2] == signature.partition("|unlike:")[2]
                    computed += 1
        for one in each["scores"]:
            assert 0 <= one.get("value", 0) <= 200
            assert "signature" not in one or re.match(r"nrefs:1\|case:(mixed|lc)\|", one["signature"])
    return computed


@pytest.mark.parametrize("folder", KEPT, ids=lambda folder: folder.name)
def test_every_kept_score_is_computed_again(folder: Path) -> None:
    assert {"config.toml", "scores.json"} <= {path.name for path in folder.iterdir()}
    assert sum(path.stat().st_size for path in folder.iterdir()) < 4 << 20
    told = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
    assert told["command"].startswith("regard evaluate ")
    assert not re.search(r"/(work|home|root|Users|tmp)/", json.dumps(told)), "a path of a machine"
    for answers in (*folder.glob("*.txt"), *folder.glob("*.tsv")):
        text = answers.read_text(encoding="utf-8")
        assert not re.search(r"(^|\s)/(work|home|root|Users|tmp)/", text), f"a path of a machine in {answers}"
    computed = check(folder)
    if folder.name == "demo":  # whose references are bundled
        assert computed == 3
        assert told["models"] == {"demo": checksum(find_model("demo"))}, "regard evaluate demo --keep results/demo"


def test_what_is_kept_of_a_run_proves_itself(tmp_path: Path) -> None:
    recipe = write_corpus(tmp_path)
    test = f"data.test={{backwards=['{tmp_path / 'valid.tsv'}']}}"
    train(recipe, tmp_path / "run", test)
    found = regard.evaluate(tmp_path / "run", keep=tmp_path / "kept" / "toy", command="regard evaluate run --keep kept")
    told = json.loads((tmp_path / "kept" / "toy" / "scores.json").read_text(encoding="utf-8"))
    assert told["command"] == "regard evaluate run --keep kept"
    assert told["models"] == {"run": checksum(tmp_path / "run" / "model.safetensors")}
    assert told["tests"]["backwards"]["scores"] == found["backwards"].stored()
    assert list(told["tests"]["backwards"]["text"].values()) == [checksum(tmp_path / "valid.tsv")]
    assert {path.name for path in (tmp_path / "kept" / "toy").iterdir()} == {
        "config.toml", "metrics.jsonl", "backwards.txt", "scores.json",
    }  # fmt: skip
    for file in ("config.toml", "scores.json"):
        assert str(tmp_path) not in (tmp_path / "kept" / "toy" / file).read_text(encoding="utf-8")
    check(tmp_path / "kept" / "toy")
    (tmp_path / "kept" / "toy" / "backwards.txt").write_text("changed\n", encoding="utf-8")
    with pytest.raises(AssertionError, match="is not what was answered"):
        check(tmp_path / "kept" / "toy")
    with pytest.raises(UsageError, match="leave out `output`"):
        regard.evaluate(tmp_path / "run", keep=tmp_path / "kept", output=tmp_path / "other")
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(UsageError, match="name another folder"):
        regard.evaluate(tmp_path / "run", keep=tmp_path / "file" / "kept")
