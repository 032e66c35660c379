"""Model files as no honest program writes them: the stored ones of every task and format, with something changed."""

from __future__ import annotations

import json
import math
import random
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

import regard
from regard.checkpoint import read, store_scores, task_of, write
from tests.fuzz.guard import Case

FILES = Path(__file__).parent.parent / "compat" / "files"
NAMES = [str(path.relative_to(FILES)) for path in sorted(FILES.glob("format-*/*.safetensors"))]
ESCAPES = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202egnp\r\x08\n"
DEEP = 100_000
ODD: list[Any] = [
    None, True, False, 0, -1, 1, 3, 2**31, 2**63, 2**70, 10**30, 0.5, -0.5, 1e300, math.nan, math.inf, -math.inf, "", "x",
    "3", ESCAPES, "\ud800", "\0", "x" * 100_000, "../../x", "/etc/passwd", "C:\\x", "\\\\host\\x", "file:///etc/passwd",
    [], [1], [[]], [{}], [None], ["x"] * 10_000, list(range(10_000)), {}, {"x": 1}, {"": None}, {"x": {"x": {"x": {}}}},
    {str(number): number for number in range(10_000)}, {ESCAPES: ESCAPES}, [{"name": 3, "value": "x"}],
    {"test": [{"name": "BLEU", "value": None}]}, {"test": [{"name": ESCAPES, "value": 1e308}]}, {ESCAPES: [{"name": "x", "value": 1}]},
]  # fmt: skip
SIZES = [2, 3, 7, 100, 1_000, 4_096, 10_000, 20_000, 65_536, 2**20, 10**8, 10**9, 2**31, 2**62, 2**63, 2**64, 10**30]
TEXTS = [
    "", "null", "[]", "{", "{}", '"x"', "NaN", "1" * 5_000, "1e999", "[" * DEEP + "]" * DEEP, '{"a":' * DEEP + "1" + "}" * DEEP,
    "\ufeff{}", '{"a": 1, "a": 2}', "{} {}", "\0", ESCAPES, "x" * 1_000_000, '{"x": ' + "9" * 4_299 + "}", "[" + "1," * 300_000 + "1]",
    '{"x": [' + "{}," * 3_000_000 + "{}]}", '{"x": "' + "y" * 20_000_000 + '"}',
]  # fmt: skip
FORMATS = [
    "0",
    "-1",
    "2.5",
    "99",
    " 2",
    "2 ",
    "²",
    "٢",
    "0x2",
    "1e0",
    "+2",
    "2_0",
    "true",
    "null",
    "",
    "9" * 5_000,
    "nan",
    "-0",
]
TYPES = [
    torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float64,
    torch.complex64, torch.float8_e4m3fn, torch.float8_e5m2,
]  # fmt: skip
Make = Callable[[Path], None]


def cases(seed: int, count: int) -> Iterator[Case]:
    families = (
        other_values,
        other_values,
        other_values,
        other_sizes,
        other_texts,
        other_tensors,
        other_tensors,
        other_bytes,
    )
    for number in range(count):
        chance = random.Random(f"{seed} model files {number}")
        family = families[number % len(families)]
        name, make = family(chance)
        expected = "refused" if family is other_texts and name.split(" ")[1] == "format" else "either"
        yield Case(f"{number} {name}", make, use, "either" if "=+2" in name or "=2" in name else expected)


def honest_cases() -> Iterator[Case]:
    for name in ("classification", "language-model-pointer", "translation-transformer"):
        yield Case(name, stored(*read(FILES / "format-2" / f"{name}.safetensors")), use, "accepted")


def use(folder: Path) -> str:
    """All that reads what a file says: the task, the model at work, reports, pages, scores, tests."""
    path = folder / "odd.safetensors"
    task_of(path)
    model = regard.load(path)
    facts = str(model.facts())
    if hasattr(model, "translate"):
        model.translate(["a b c", ""])
    elif hasattr(model, "classify"):
        model.classify(["a good film", ""])
    else:
        model.generate("a", max_new_tokens=5, seed=1)
    regard.view(path, "a b c").write(folder / "page.html")
    assert "\x1b" not in (folder / "page.html").read_text(encoding="utf-8")
    store_scores(path, {"new": []})
    assert regard.load(path).provenance["scores"]["new"] == []
    return facts


def places(content: Any, before: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every value inside."""
    inside = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    return [before, *(place for key, each in inside for place in places(each, (*before, key)))]


def changed(content: Any, place: tuple[Any, ...], value: Any) -> Any:
    """The content with another value in one place."""
    if not place:
        return value
    copy, (key, *rest) = content.copy(), place
    copy[key] = changed(copy[key], tuple(rest), value)
    return copy


def shown(value: Any) -> str:
    return ascii(value)[:60]


def other_values(chance: random.Random) -> tuple[str, Make]:
    name = chance.choice(NAMES)
    tensors, metadata = read(FILES / name)
    part = chance.choice(sorted(metadata.keys() - {"format"}))
    content, told = json.loads(metadata[part]), []
    for _ in range(chance.choice((1, 1, 2))):
        place, value = chance.choice(places(content)), chance.choice(ODD)
        content = changed(content, place, value)
        told.append(f"{part}{list(place)}={shown(value)}")
    return f"{name} {' '.join(told)}", stored(tensors, {**metadata, part: json.dumps(content)})


def other_sizes(chance: random.Random) -> tuple[str, Make]:
    name = chance.choice(NAMES)
    tensors, metadata = read(FILES / name)
    recipe, told = json.loads(metadata["recipe"]), []
    numbers = [
        (section, key)
        for section, content in recipe.items()
        if isinstance(content, dict)
        for key, value in content.items()
        if isinstance(value, (int, float, list)) and not isinstance(value, bool) and key not in ("train", "valid")
    ]
    for _ in range(chance.choice((1, 2, 4))):
        section, key = chance.choice(numbers)
        size = chance.choice(SIZES)
        recipe[section][key] = [size] if key == "cutoffs" else [0.5, 0.5] if key == "betas" else size
        told.append(f"{section}.{key}={size}")
    return f"{name} {' '.join(told)}", stored(tensors, {**metadata, "recipe": json.dumps(recipe)})


def other_texts(chance: random.Random) -> tuple[str, Make]:
    name = chance.choice(NAMES)
    tensors, metadata = read(FILES / name)
    key = chance.choice([*sorted(metadata), "format", "extra"])
    value = chance.choice(FORMATS if key == "format" else TEXTS)
    return f"{name} {key} ={shown(value)}", stored(tensors, {**metadata, key: value})


def other_tensors(chance: random.Random) -> tuple[str, Make]:
    name = chance.choice(NAMES)
    tensors, metadata = read(FILES / name)
    target = chance.choice(sorted(tensors))
    tensor = tensors[target]
    kind = chance.randrange(9)
    after = dict(tensors)
    if kind == 0:
        after[target] = tensor.float().to(chance.choice(TYPES))
    elif kind == 1:
        after = {each: content.to(dtype) for dtype in [chance.choice(TYPES)] for each, content in tensors.items()}
    elif kind == 2:
        shapes = [
            torch.zeros(3, 5),
            tensor.flatten()[:0].clone(),
            tensor[None].clone(),
            tensor.flatten().clone(),
            torch.zeros(()),
        ]
        after[target] = chance.choice(shapes)
    elif kind == 3:
        del after[target]
    elif kind == 4:
        after[
            chance.choice(
                [ESCAPES, "", "asset.", "asset.x", "asset.lexicon.x", "lexicon.x", "x" * 9_999, "a.b", "__class__"]
            )
        ] = tensor.clone()
    elif kind in (5, 6):
        value = chance.choice([math.nan, math.inf, -math.inf, 3e38, -7, 120])
        spot = tensor.flatten().clone()
        spot[chance.randrange(len(spot)) : None if kind == 5 else 1] = (
            value if tensor.is_floating_point() or (math.isfinite(value) and abs(value) < 999) else 10**6
        )
        after[target] = spot.reshape(tensor.shape)
    elif kind == 7:
        after |= {f"extra.{number}": torch.zeros(1) for number in range(5_000)}
    else:
        after = {}
    return f"{name} tensor {kind} {target}", stored(after, metadata)


def stored(tensors: dict[str, torch.Tensor], metadata: dict[str, str]) -> Make:
    def make(folder: Path) -> None:
        write(folder / "odd.safetensors", tensors, metadata)

    return make


def other_bytes(chance: random.Random) -> tuple[str, Make]:
    name = chance.choice(NAMES)
    content = bytearray((FILES / name).read_bytes())
    length = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8 : 8 + length])
    tensors = sorted(header.keys() - {"__metadata__"})
    one, two = chance.choice(tensors), chance.choice(tensors)
    kind = chance.randrange(14)
    if kind == 0:
        for _ in range(chance.choice((1, 5, 200))):
            content[chance.randrange(len(content))] = chance.randrange(256)
    elif kind == 1:
        content = content[: chance.choice((0, 1, 7, 8, 9, length // 2, 8 + length, len(content) - 1))]
    elif kind == 2:
        content[:8] = struct.pack("<Q", chance.choice((0, 1, length - 1, length + 1, 10**8, 2**40, 2**63, 2**64 - 1)))
    elif kind == 3:
        content += b"\0" * chance.choice((1, 8, 1_000_000))
    else:
        if kind == 4:
            header[one]["shape"] = chance.choice(
                ([2**62], [2**32, 2**32], [-1], [10**30], [1.5], ["x"], [], "x", None, [0, 2**40])
            )
        elif kind == 5:
            header[one]["data_offsets"] = chance.choice(
                ([0, 2**62], [-1, 4], [4, 0], [0, 0], header[two]["data_offsets"], "x", [1], None)
            )
        elif kind == 6:
            header[one]["dtype"] = chance.choice(
                ("F128", "", None, 1, "BOOL", "U64", "I64", "F8_E4M3", "C64", "F4", "U16")
            )
        elif kind == 7:
            header["__metadata__"] = chance.choice(({}, None, [], "x", {"format": 2}, {"x": {"y": 1}}, {"": ""}))
        elif kind == 8:
            del header["__metadata__"]
        elif kind == 9:
            header[one] = chance.choice((None, [], {}, 1, {"dtype": "F32"}))
        elif kind == 10:
            header["__metadata__"]["recipe"] = header["__metadata__"]["recipe"][:-1] + " " * 2_000_000 + "}"
        elif kind == 11:
            header |= {f"x{number}": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]} for number in range(20_000)}
        after = json.dumps(header).encode()
        if kind == 12:
            after = b"[" * DEEP + after + b"]" * DEEP
        elif kind == 13:
            after += b" " * chance.choice((3, 20_000_000))
        content = bytearray(struct.pack("<Q", len(after)) + after) + content[8 + length :]
    return f"{name} bytes {kind}", lambda folder: (folder / "odd.safetensors").write_bytes(content) and None
