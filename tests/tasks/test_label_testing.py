"""A classifier against the truth: what counts, what is told, and that many labels stay readable."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from rich.cells import cell_len

from regard.data.labelled import Example
from regard.errors import DataError, UsageError
from regard.evaluation.labels import score_labels
from regard.tasks.classification.evaluation import (
    evaluate_labels,
    file_labelled_set,
    recipe_labelled_sets,
    shortened,
)
from regard.tasks.label_results import MOST_COLUMNS, LabelTest, in_columns
from tests.tasks.labelled import LABELS, texts, untrained

COLUMNS = {"text": "text", "label": "label"}


def labelled_file(path: Path, labels: list[str]) -> Path:
    rows = [f"{text}\t{label}\n" for text, label in zip(["", *texts()], labels, strict=False)]
    path.write_text("".join(["text\tlabel\n", *rows]), encoding="utf-8")
    return path


def test_answers_are_those_of_the_classifier(tmp_path: Path) -> None:
    classifier = untrained(temperature=2.0, pooling="mean", data=COLUMNS)
    path = labelled_file(tmp_path / "a.tsv", LABELS * 12)
    heard: list[tuple[Example, str, float]] = []
    test_set = file_labelled_set(path, classifier.recipe)
    found = evaluate_labels(classifier, test_set, lambda *answer: heard.append(answer))
    examples = list(test_set.examples())
    answers = classifier.classify([each.text for each in examples])
    assert [(example, label) for example, label, _ in heard] == [
        (example, answer.label) for example, answer in zip(examples, answers, strict=True)
    ]
    assert found.empty == 1
    assert found.scores.texts == 35
    wrong = [(max(answer.probabilities.values()), example) for example, answer in zip(examples, answers, strict=True)
             if answer.label and answer.label != example.label]  # fmt: skip
    assert len(wrong) > 10
    assert found.scores.accuracy == pytest.approx(100 * (35 - len(wrong)) / 35)
    ranked = sorted(wrong, key=lambda each: -each[0])[:10]
    assert [each.confidence for each in found.worst] == pytest.approx(
        [confidence for confidence, _ in ranked], abs=1e-6
    )
    assert {each.text for each in found.worst} <= {example.text for _, example in wrong}
    assert found.uncalibrated_error != pytest.approx(found.scores.calibration_error)
    hot = evaluate_labels(untrained(temperature=9.0, pooling="mean", data=COLUMNS), test_set)
    assert hot.scores.confusion.tolist() == found.scores.confusion.tolist()
    assert hot.uncalibrated_error == pytest.approx(found.uncalibrated_error)


def test_a_label_that_training_does_not_know(tmp_path: Path) -> None:
    classifier = untrained(data=COLUMNS)
    path = labelled_file(tmp_path / "a.tsv", [*LABELS, "angry"])
    with pytest.raises(DataError, match=r"a\.tsv, line 5: the label 'angry' does not occur"):
        evaluate_labels(classifier, file_labelled_set(path, classifier.recipe))


def test_a_recipe_without_test_sets() -> None:
    with pytest.raises(UsageError, match="names no test set; give other text with `file`"):
        recipe_labelled_sets(untrained().recipe)


def outcome(count: int) -> LabelTest:
    """Every text of the first label was given the last."""
    labels = np.arange(count).repeat(3)
    chosen = np.where(labels == 0, count - 1, labels)
    names = [f"라벨 {number}" for number in range(count)]
    return LabelTest("test", names, score_labels(np.eye(count)[chosen], labels), 1.0, 1.5, 0, [])


def test_few_labels_are_a_matrix_and_many_are_pairs() -> None:
    matrix, pairs = outcome(MOST_COLUMNS).lines(), outcome(MOST_COLUMNS + 1).lines()
    (header,) = [number for number, line in enumerate(matrix) if "given →" in line]
    rows = [line.split() for line in matrix[header + 1 : header + 1 + MOST_COLUMNS]]
    assert [row[2:] for row in rows[:2]] == [["0"] * 9 + ["3"], ["0", "3"] + ["0"] * 8]
    assert not any("given →" in line for line in pairs)
    assert any(line.split() == ["라벨", "0", "라벨", "10", "3"] for line in pairs)
    assert outcome(3).to_dict()["by_label"]["라벨 0"] == {"precision": None, "recall": 0.0, "f1": 0.0, "texts": 3}


def test_columns_are_aligned_in_every_script() -> None:
    lines = in_columns([["", "정확도"], ["긍정", "1"], ["a", "22"]])
    assert {cell_len(line) for line in lines} == {2 + 4 + 2 + 6}


def test_long_texts_are_shortened_in_the_middle() -> None:
    text = "begin " + "x " * 500 + "end"
    assert len(shortened(text)) < 200
    assert shortened(text).startswith("begin")
    assert shortened(text).endswith("end")
    assert shortened("short") == "short"
