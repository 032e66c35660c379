"""Exercises take right answers, and tell whoever made a usual mistake what it was."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch

from regard.learn import check
from regard.learn.checking import all_exercises, verdict
from regard.learn.progress_file import read_progress, spoken


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REGARD_COURSE", str(tmp_path))
    monkeypatch.setenv("LC_ALL", "en_US.UTF-8")
    return tmp_path


def store(query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    return (keys @ query).softmax(0) @ values


def encode(position: int, coordinate: int, width: int) -> float:
    angle = position / 10_000 ** (2 * (coordinate // 2) / width)
    return math.cos(angle) if coordinate % 2 else math.sin(angle)


def exchanged(position: int, coordinate: int, width: int) -> float:
    angle = position / 10_000 ** (2 * (coordinate // 2) / width)
    return math.sin(angle) if coordinate % 2 else math.cos(angle)


def mean(checkpoints: list[dict[str, torch.Tensor]]) -> dict[str, torch.Tensor]:
    return {name: torch.stack([each[name] for each in checkpoints]).mean(0) for name in checkpoints[0]}


def to_patches(image: torch.Tensor, size: int) -> torch.Tensor:
    height, width = image.shape
    cut = image.view(height // size, size, width // size, size).transpose(1, 2)
    return cut.reshape(-1, size * size)


RIGHT: dict[str, list[Any]] = {
    "1.1": [0.844, 0.84, torch.tensor([3.0, 1, 0]).softmax(0)[0]],
    "1.2": [30, 30.0, torch.tensor(30.0)],
    "1.3": [[0, 1, 0, 0], torch.tensor([0.0, 1, 0, 0]), (0, 1, 0, 0)],
    "1.4": [math.log(198), 5.29],
    "1.5": [store],
    "2.1": [256],
    "2.2": [1 / 8],
    "2.3": [16],
    "2.4": [0.09],
    "2.5": [lambda query, key: query @ key.T / query.size(-1) ** 0.5],
    "3.1": ["cross", "Cross", "크로스", " 크로스 어텐션"],
    "3.2": [21],
    "3.3": [[4, 5, 7], (4, 5, 7), torch.Size([4, 5, 7])],
    "3.4": [0.75],
    "3.5": [lambda n: torch.ones(n, n, dtype=torch.bool).tril().triu(-1)],
    "4.1": [64],
    "4.2": [[2, 8, 10, 64], (2, 8, 10, 64)],
    "4.3": [16_640],
    "4.4": [lambda mixed: mixed.transpose(1, 2).flatten(2)],
    "5.1": ["same", "같다"],
    "5.2": [[0, 1, 0, 1], torch.tensor([0.0, 1, 0, 1])],
    "5.3": [87],
    "5.4": [encode],
    "6.1": [512],
    "6.2": [25_600],
    "6.3": [0.9**50, 0.0052],
    "6.4": [19],
    "7.1": [9],
    "7.2": [512],
    "7.3": [8],
    "7.4": [[1, 100], (1, 100)],
    "8.1": [0.92],
    "8.2": [0.5],
    "8.3": [0.36],
    "8.4": [mean],
    "9.1": [8],
    "9.2": [math.e**2, 7.39],
    "9.3": ["causal", "Causal", "인과"],
    "9.4": [lambda one, other: one @ other / (one.norm() * other.norm())],
    "10.1": [196],
    "10.2": [768],
    "10.3": [16],
    "10.4": [to_patches],
}
WRONG: dict[str, list[tuple[Any, str]]] = {
    "1.1": [(0.75, "divided the scores"), (math.exp(3), "Divide it by the sum"), (1 / 3, "equal"), ("a", "Numbers are asked"),
            ("0.84", "without quotes"), ("84%", "quotes or %"), ((0, 84), "a point"), (84.4, "per cent"), (0.88, "left out exp(0)")],
    "1.2": [(60, "largest value"), (20, "Take the mean"), (0, "1/3 each"), ([10, 20, 60], "One number")],
    "1.3": [([0, 0.5, 0.5, 0], "exactly one key"), ([0, 1, 1, 0], "sum to 2"), (1, "four weights"), ([1, 0, 0, 0], "best score")],
    "1.4": [(1 / math.log(198), "temperature"), (math.log(99), "two other keys"), (198, "logarithm"), (1, "solve for β")],
    "1.5": [
        (lambda q, k, v: k @ q, "These are the scores"),
        (lambda q, k, v: None, "end with return"),
        (lambda q, k, v: (k @ q).softmax(0), "weights @ values"),
        (lambda q, k, v: (k @ q) @ v, "Softmax comes first"),
        (lambda q, k, v: (k @ q / 2).softmax(0) @ v, "√D"),
        (lambda q, k, v: (k @ q).exp() @ v, "without dividing"),
        (lambda q, k, v: v[0], "Three lines"),
        (lambda q, k, v: q @ k, "Your code stopped with RuntimeError"),
        (3, "A function is asked for"),
    ],
    "2.1": [(16, "standard deviation"), (1, "after scaling"), (5, "add up")],
    "2.2": [(1, "divides by 64"), (1 / 64, "variance"), (8, "before dividing")],
    "2.3": [(4, "4 · 4"), (256, "before dividing"), (64, "4² = 16"), (1, "only the width")],
    "2.4": [(0.9, "weight itself"), (0.1, "1 − a"), (0.81, "a²")],
    "2.5": [
        (lambda q, k: q @ k.T, "scale is missing"),
        (lambda q, k: q @ k.T / 16, "divided by E"),
        (lambda q, k: q @ k.T / len(q) ** 0.5, "number of queries"),
        (lambda q, k: (q @ k.T / 4).softmax(-1), "before softmax"),
    ],
    "3.1": [("인코더", "both come"), ("encoder", "both come"), ("decoder", "keys, too"), ("x", "Answer with")],
    "3.2": [(15, "diagonal"), (36, "whole square"), (18, "more than half"), (6, "one field for each row"), (7, "row by row")],
    "3.3": [([4, 7, 5], "target asks"), ([4, 7, 7], "square is self-attention"), (5, "three numbers"), ("4,5,7", "without quotes")],
    "3.4": [(1, "before softmax"), (0.25, "Three of the four"), (3, "1/4 each")],
    "3.5": [
        (lambda n: ~torch.ones(n, n, dtype=torch.bool).tril().triu(-1), "other way round"),
        (lambda n: torch.ones(n, n).tril(), "whole causal mask"),
        (lambda n: None, "end with return"),
        (lambda n: "x", "without quotes"),
        (lambda n: torch.eye(n), "only itself"),
        (lambda n: torch.ones(n, n).triu().tril(1), "one after them"),
        (lambda n: torch.ones(n), "must be [5, 5]"),
    ],
    "4.1": [(512, "together"), (8, "number of heads"), (4096, "divide"), (3, "D / H")],
    "4.2": [([2, 10, 8, 64], "rearranged"), ([2, 10, 512], "merged"), ([2, 8, 10, 10], "shape of the weights"), (3, "four numbers")],
    "4.3": [(16_384, "biases are missing"), (12_480, "fourth matrix"), (133_120, "multiply by 8"), (1, "Four projections")],
    "4.4": [
        (lambda mixed: mixed.reshape(2, 4, 15), "words are mixed up"),
        (lambda mixed: mixed.permute(0, 2, 3, 1).reshape(2, 4, 15), "alternate"),
        (lambda mixed: mixed, "should come to [2, 4, 15]"),
        (lambda mixed: torch.zeros(2, 4, 15), "transpose(1, 2)"),
    ],
    "5.1": [("different", "does not see the order"), ("no", "Answer with")],
    "5.2": [([0, 0, 1, 1], "take turns"), ([1, 0, 1, 0], "sine comes first"), ([0, 0, 0, 0], "cos(0)"), (0, "four numbers")],
    "5.3": [(90, "distance between"), (73, "later position"), (93, "not the sum"), (1, "Only the distance")],
    "5.4": [
        (exchanged, "exchanged"),
        (lambda p, i, d: (math.sin, math.cos)[i % 2](p), "Divide the position"),
        (lambda p, i, d: (math.sin, math.cos)[i % 2](p / 10_000 ** (i / d)), "shares its angle"),
        (lambda p, i, d: (math.sin, math.cos)[i % 2](p / 10_000 ** (2 * i / d)), "already"),
        (lambda p, i, d: 3.0, "angle ="),
    ],
    "6.1": [(2560, "bottleneck"), (25_600, "only one for all"), (1, "fixed size")],
    "6.2": [(512, "one state"), (50, "512 numbers"), (1, "50 states")],
    "6.3": [(45, "0.9 ** 50"), (0, "not 0.1"), (1 - 0.9**50, "lost"), (0.5, "fifty times")],
    "6.4": [(20, "only 19"), (1, "what attention needs"), (18, "one step longer"), (5, "word 20")],
    "7.1": [(3, "n²"), (27, "not n³"), (6, "9"), (1, "(3 n)²")],
    "7.2": [(262_144, "That is d²"), (1, "solve for n")],
    "7.3": [(3, "one word further"), (9, "8 words away"), (4, "one word per layer"), (1, "enough for attention"), (2, "figure")],
    "7.4": [([100, 1], "other way round"), ([100, 100], "at once"), (1, "two numbers"), ([2, 3], "column")],
    "8.1": [(0.9, "comes back"), (0.1, "taken away"), (0.02, "each wrong word"), (0.925, "Here there are 5"), (3, "is added")],
    "8.2": [(0.25, "Take the root"), (2, "falls"), (1, "peak is at"), (5, "√(warm-up")],
    "8.3": [(0.3, "greedy finds"), (0.9, "Multiply"), (0.54, "after B"), (0.66, "one sentence"), (2, "Compare")],
    "8.4": [
        (lambda checkpoints: checkpoints[0]["weight"], "dictionary"),
        (lambda checkpoints: {name: sum(each[name] for each in checkpoints) for name in checkpoints[0]}, "That is the sum"),
        (lambda checkpoints: {name: sum(each[name] for each in checkpoints) / 2 for name in checkpoints[0]}, "divided by 2"),
        (lambda checkpoints: checkpoints[0], "torch.stack"),
    ],
    "9.1": [(1 / 8, "inverse"), (math.log(8), "loss"), (3, "2³"), (1, "always sure"), (5, "−log")],
    "9.2": [(4, "not 2²"), (2, "loss itself"), (100, "not 10²"), (math.exp(-2), "inverse"), (50, "exp(2.0)")],
    "9.3": [("padding", "hides the future"), ("x", "lesson 3")],
    "9.4": [
        (lambda one, other: one @ other, "dot product"),
        (lambda one, other: one @ other / one.norm(), "one length only"),
        (lambda one, other: one @ other / ((one @ one) * (other @ other)), "root"),
        (lambda one, other: 1 - one @ other / 15, "distance"),
        (lambda one, other: one * other, "one number"),
        (lambda one, other: 0.0, "norm()"),
    ],
    "10.1": [(14, "one row"), (256, "pixels in a patch"), (3136, "both sides"), (197, "class token"), (1, "in a row")],
    "10.2": [(256, "one colour"), (48, "16 rows"), (1, "16 · 16 · 3")],
    "10.3": [(4, "patches × patches"), (2, "halved"), (8, "square of 4"), (1, "n² scores")],
    "10.4": [
        (lambda image, size: image, "should come to [6, 4]"),
        (lambda image, size: image.reshape(6, 4), "pieces of rows"),
        (lambda image, size: to_patches(image, size).view(2, 3, 4).transpose(0, 1).reshape(6, 4), "column by column"),
        (lambda image, size: torch.zeros(6, 4), "transpose(1, 2)"),
    ],
}  # fmt: skip


def test_every_exercise_is_tried() -> None:
    assert list(RIGHT) == list(WRONG) == list(all_exercises())
    assert all(WRONG.values())


@pytest.mark.parametrize("name", RIGHT)
def test_right_answers_solve_and_are_remembered(name: str) -> None:
    for answer in RIGHT[name]:
        assert verdict(name, answer) == (True, f"✓ {name} is solved.")
    assert list(read_progress().solved) == [name]


@pytest.mark.parametrize("name", WRONG)
def test_usual_mistakes_get_a_hint_in_both_languages(name: str) -> None:
    for answer, hint in WRONG[name]:
        solved, said = verdict(name, answer)
        assert not solved
        assert hint in said, said
        before = spoken.set("ko")
        korean = verdict(name, answer)[1]
        spoken.reset(before)
        assert korean.startswith(f"✗ {name}번:")
        assert any("가" <= letter <= "힣" for letter in korean.split(":", 1)[1])
    assert not read_progress().solved


@pytest.mark.parametrize("name", RIGHT)
def test_three_dots_are_no_answer(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    check(name, ...)
    assert capsys.readouterr().out.startswith(f"○ {name} waits")
    if any(callable(answer) for answer in RIGHT[name]):
        assert verdict(name, lambda *given: ...)[1].startswith("○")


def test_an_unknown_exercise_is_named() -> None:
    with pytest.raises(ValueError, match=r"no exercise '1\.9'.*Exercises are named like 1\.2"):
        check("1.9", 3)


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("REGARD_COURSE", str(tmp_path / "file"))
    solved, said = verdict("1.2", 30)
    assert solved
    assert "cannot remember" in said
    assert "REGARD_COURSE" in said
