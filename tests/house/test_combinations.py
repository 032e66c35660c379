"""Settings of the theory taken together, in every task and architecture: whatever combination is drawn trains two updates and then
answers, is looked into, changed, embedded and exported; or is refused by the name of what stands in the way."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import regard
from regard.attention.changes import AttentionModule
from regard.errors import RegardError

ATTENTION: dict[str, list[Any]] = dict(
    norm=["post", "pre", "none"], positions=["sinusoidal", "learned", "none"], residual=[True, False], scale=[True, False],
    bias=[True, False], feed_forward=[0, 24], activation=["relu", "gelu", "swish"], norm_epsilon=[1e-5, 0.3], heads=[1, 2, 4],
    key_width=[0, 3], value_width=[0, 5, 16], attention_dropout=[0, 0.2], activation_dropout=[0, 0.2],
)  # fmt: skip
STACKS: dict[str, list[Any]] = dict(encoder_layers=[1, 2], decoder_layers=[1, 2], tied=[True, False])
CELL: dict[str, list[Any]] = dict(cell=["lstm", "gru"])
SCORE: dict[str, list[Any]] = dict(score=["additive", "dot"])
TEXT: dict[str, list[Any]] = dict(layers=[1, 2], ngrams=[1, 2])
NEXT: dict[str, list[Any]] = dict(layers=[1, 2], tied=[True, False], cutoffs=[[], [50, 150]], adaptive_factor=[1, 2])
CHOICES: dict[tuple[str, str], dict[str, list[Any]]] = {
    ("translation", "transformer"): ATTENTION | STACKS,
    ("translation", "rnn"): CELL | STACKS,
    ("translation", "rnn-attention"): CELL | SCORE | STACKS | dict(input_feeding=[True, False]),
    ("translation", "conv"): STACKS | dict(kernel=[1, 3, 5]),
    ("text-classification", "transformer"): ATTENTION | TEXT | dict(pooling=["max", "mean", "first"]),
    ("text-classification", "rnn"): CELL | TEXT | dict(pooling=["last", "max", "mean"]),
    ("text-classification", "rnn-attention"): CELL | SCORE | TEXT,
    ("text-classification", "conv"): TEXT | dict(kernel=[1, 3], pooling=["max", "mean"]),
    ("text-generation", "transformer"): ATTENTION | NEXT | dict(pointer=[False, True]),
    ("text-generation", "rnn"): CELL | NEXT,
}
REFUSALS = (
    "has no attention", "no attention that could be changed", "cannot run inside a page", "onnx takes Transformers", "ctranslate2 takes",
)  # fmt: skip
"""Of what a model has not, or an engine cannot; each names the model's setting."""
SENTENCE = "ba do ke ni mu"
SHOWN = {
    "translation": "\t{reversed}", "text-classification": "\t{label}", "text-generation": "",
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Words of two letters; what becomes of a line is the line backwards, whether it holds a word, or nothing."""
    folder, chance = tmp_path_factory.mktemp("combinations"), random.Random(1)
    words = [a + b for a in "bdkmnt" for b in "aeiou"]
    for name, count in (("train", 200), ("valid", 8), ("test", 8)):
        lines = [chance.choices(words, k=chance.randint(1, 6)) for _ in range(count)]
        for task, after in SHOWN.items():
            rows = [
                " ".join(line) + after.format(reversed=" ".join(line[::-1]), label="yes" if "ba" in line else "no")
                for line in lines
            ]
            (folder / f"{task}-{name}.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return folder


def drawn(task: str, architecture: str, seed: int) -> dict[str, Any]:
    chance = random.Random(f"{task} {architecture} {seed}")
    model: dict[str, Any] = {
        "architecture": architecture,
        "width": 16,
        "max_positions": 64,
        "dropout": chance.choice([0.0, 0.1]),
    }
    for name, choices in CHOICES[task, architecture].items():
        model[name] = chance.choice(choices) if chance.random() < 0.6 else choices[0]
    if not model.get("cutoffs"):
        model.pop("adaptive_factor", None)
    if "heads" in model:
        model["feed_forward"] = chance.choice([24, 24, 0])
    return model


def recipe_of(folder: Path, task: str, model: dict[str, Any]) -> dict[str, Any]:
    files = {name: [str(folder / f"{task}-{name}.tsv")] for name in ("train", "valid", "test")}
    recipe: dict[str, Any] = {
        "name": "drawn",
        "task": task,
        "data": {
            **files,
            "test": {"test": files["test"]},
            "max_tokens": 20,
            "prepared": str(folder / f"prepared-{task}"),
        },
        "tokenizer": {"vocabulary": 290},
        "model": model,
        "training": {
            "batch_tokens": 300,
            "updates": 2,
            "validate_every": 2,
            "warmup": 1,
            "average": 1,
            "threads": 1,
            "probes": 1,
        },
    }
    if task == "translation":
        recipe["decoding"] = {"beam": 2, "max_ratio": 1.0, "max_extra": 4}
    if task == "text-generation":
        recipe["data"]["documents"] = "lines"
    return recipe


def try_all(folder: Path, task: str, architecture: str, seed: int) -> None:
    model = drawn(task, architecture, seed)
    run = regard.train(recipe_of(folder, task, model), run=folder / f"{task}-{architecture}-{seed}", show=False)
    assert np.isfinite([line["loss"] for line in run.metrics if line["kind"] == "valid"]).all()
    loaded: Any = regard.load(run.folder)
    answer: Callable[[], Any] = {
        "translation": lambda: loaded.translate([SENTENCE, "", SENTENCE]),
        "text-classification": lambda: loaded.classify([SENTENCE, "", SENTENCE]),
        "text-generation": lambda: loaded.generate("ba", max_new_tokens=4),
    }[task]

    def change() -> None:
        attentions = [name for name, each in loaded.model.named_modules() if isinstance(each, AttentionModule)]
        for asked in (
            {"hard": True},
            {"temperature": 2.0},
            {"off": {attentions[0]: [0]} if attentions else {"no": [0]}},
        ):
            with loaded.changed(**asked):
                answer()

    def embed() -> None:
        texts = [SENTENCE, "", "ba", f"{SENTENCE} {SENTENCE}"]
        together, alone = loaded.embed(texts), np.stack([loaded.embed(each) for each in texts])
        np.testing.assert_allclose(together, alone, atol=1e-5)

    def export(engine: str) -> None:
        agreement = regard.export(run.folder, engine, output=run.folder / engine).agreement
        if task != "translation":  # what an untaught translator writes is decided by rounding
            assert agreement.share == 1, f"{engine} agrees on {agreement.share:.0%}"

    page = str(run.folder / "page.html")
    steps: list[Callable[[], Any]] = [
        answer, change, embed, lambda: regard.evaluate(run.folder), lambda: regard.view(run.folder, SENTENCE, output=page),
        lambda: regard.view(run.folder, SENTENCE, output=page, live=True), lambda: regard.heads(run.folder, sentences=2),
        lambda: loaded.neighbours("ba", 2), lambda: regard.curve(run.folder),
        *(lambda engine=engine: export(engine) for engine in ("onnx", *["ctranslate2"] * (task == "translation"))),
    ]  # fmt: skip
    for step in steps:
        try:
            step()
        except RegardError as error:
            if not any(each in str(error) for each in REFUSALS):
                raise AssertionError(f"{model}: {error}") from error
        except Exception as error:
            raise AssertionError(f"{model} fails") from error


each_kind = pytest.mark.parametrize(("task", "architecture"), CHOICES)


@each_kind
def test_a_drawn_combination_does_all_or_says_what_it_lacks(folder: Path, task: str, architecture: str) -> None:
    pytest.importorskip("ctranslate2")
    pytest.importorskip("onnxruntime")
    try_all(folder, task, architecture, seed=0)


@pytest.mark.slow
@each_kind
@pytest.mark.parametrize("seed", range(1, 25))
def test_so_do_many(folder: Path, task: str, architecture: str, seed: int) -> None:
    pytest.importorskip("ctranslate2")
    pytest.importorskip("onnxruntime")
    try_all(folder, task, architecture, seed)
