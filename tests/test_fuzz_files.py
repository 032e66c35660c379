"""Whatever stands in a model file, loading it works or says what is wrong: no other error, however odd the file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

import regard
from regard.checkpoint import read, store_scores, task_of, write
from regard.errors import RegardError

FILES = Path(__file__).parent / "compat" / "files"
STORED = {(path.parent.name, path.stem): read(path) for path in sorted(FILES.glob("format-*/*.safetensors"))}
ODD = [
    None, True, 0, -1, 3, 2**70, 0.5, float("nan"), float("inf"), "", "x", "\x1b[2J", "\ud800", [], [1], [[]], [{}], {}, {"x": 1},
    {"": None}, [{"name": 3, "value": "x"}], {"test": [{"name": "BLEU", "value": None}]}, {"test": []}, {"test": {"name": 1}},
]  # fmt: skip
JSON = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats() | some.text(max_size=20),
    lambda inner: some.lists(inner, max_size=4) | some.dictionaries(some.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
EVERY = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
TALL = torch.zeros(3, 5)
Draw = Callable[[Any], Any]


def places(content: Any, before: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every value inside."""
    inside = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    return [before, *(place for key, each in inside for place in places(each, (*before, key)))]


def changed(content: Any, place: tuple[Any, ...], value: Any) -> Any:
    """The content with another value in one place; without it if the value is `places` itself."""
    if not place:
        return {} if value is places else value
    copy, (key, *rest) = content.copy(), place
    if not rest and value is places:
        del copy[key]
    else:
        copy[key] = changed(copy[key], tuple(rest), value)
    return copy


def load_and_use(path: Path) -> None:
    """All that reads what the file says: the task, the model, what pages and reports tell of it."""
    try:
        task_of(path)
        model = regard.load(path)
        model.facts()
        if hasattr(model, "classify"):
            model.classify(["a good film"])
        store_scores(path, {"new": []})
        assert regard.load(path).provenance["scores"]["new"] == []
    except RegardError:
        return  # which is a message, not a traceback


@EVERY
@given(data=some.data())
def test_values_of_another_kind(tmp_path_factory: pytest.TempPathFactory, data: some.DataObject) -> None:
    tensors, metadata = STORED[data.draw(some.sampled_from(sorted(STORED)))]
    part = data.draw(some.sampled_from(sorted(metadata.keys() - {"format"})))
    content = json.loads(metadata[part])
    for _ in range(data.draw(some.integers(1, 3))):
        found = places(content)
        content = changed(
            content, data.draw(some.sampled_from(found)), data.draw(some.sampled_from([*ODD, places]) | JSON)
        )
    path = tmp_path_factory.mktemp("odd") / "odd.safetensors"
    write(path, tensors, {**metadata, part: json.dumps(content)})
    load_and_use(path)


@EVERY
@given(
    stored=some.sampled_from(sorted(STORED)),
    key=some.sampled_from(["format", "recipe", "assets", "provenance", "tokenizer", "facts"]),
    value=some.sampled_from([None, "", "0", "-1", "3", "x", "1.0", " 2", "9" * 5_000, "null", "[]", '"x"', "{", '{"a": 1}', "NaN"]),
)  # fmt: skip
def test_metadata_of_another_kind(
    tmp_path_factory: pytest.TempPathFactory, stored: tuple[str, str], key: str, value: str | None
) -> None:
    tensors, metadata = STORED[stored]
    path = tmp_path_factory.mktemp("odd") / "odd.safetensors"
    after = {**metadata, key: value}
    write(path, tensors, {name: each for name, each in after.items() if each is not None})
    load_and_use(path)


@EVERY
@given(data=some.data())
def test_tensors_of_another_kind(tmp_path_factory: pytest.TempPathFactory, data: some.DataObject) -> None:
    tensors, metadata = STORED[data.draw(some.sampled_from(sorted(STORED)))]
    name = data.draw(some.sampled_from(sorted(tensors)))
    tensor = tensors[name]
    dtypes = [torch.bool, torch.uint8, torch.int64, torch.float64, torch.bfloat16, torch.complex64, torch.float8_e4m3fn]
    strange = some.one_of(
        some.sampled_from(dtypes).map(lambda dtype: {name: tensor.float().to(dtype)}),
        some.sampled_from([TALL, tensor.flatten()[:0].clone(), tensor[None].clone(), tensor.flatten().clone()]).map(
            lambda each: {name: each}
        ),
        some.sampled_from(["\x1b[2J", "", "asset.", "asset.lexicon.x", "lexicon.", "lexicon.table", "x" * 500]).map(
            lambda other: {other: tensor.clone()}
        ),
        some.just({name: torch.full_like(tensor, -7)}),
        some.just({name: torch.full_like(tensor, 120)}),
    )
    kept = data.draw(some.booleans())
    after = {**{key: each for key, each in tensors.items() if kept or key != name}, **data.draw(strange)}
    path = tmp_path_factory.mktemp("odd") / "odd.safetensors"
    write(path, after, metadata)
    load_and_use(path)


@EVERY
@given(cut=some.integers(0, 9_000), byte=some.integers(0, 255))
def test_bytes_that_changed(tmp_path_factory: pytest.TempPathFactory, cut: int, byte: int) -> None:
    content = bytearray((FILES / "format-2" / "classification.safetensors").read_bytes())
    content[cut] = byte
    path = tmp_path_factory.mktemp("odd") / "odd.safetensors"
    path.write_bytes(content)
    load_and_use(path)


@pytest.mark.parametrize("odd", [each for each in ODD if each != {}], ids=str)
def test_scores_of_another_shape_were_not_told(tmp_path: Path, odd: Any) -> None:
    for stored in (
        ("format-2", "classification"),
        ("format-1", "language-model-cutoffs"),
        ("format-2", "translation-transformer"),
    ):
        tensors, metadata = STORED[stored]
        path = tmp_path / "odd.safetensors"
        provenance = json.loads(metadata["provenance"])
        for key in ("updates", "training_examples", "training_pairs", "source_tokens", "scores", "versions"):
            provenance[key] = odd
        write(path, tensors, {**metadata, "provenance": json.dumps(provenance)})
        facts = regard.load(path).facts()
        assert not any(" on " in name for name in facts)
        assert facts["updates"] == ("3" if odd == 3 and odd is not True else "0")
