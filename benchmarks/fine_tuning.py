"""What a trained model is worth as a start: `demo` fine-tuned on 1,000, 5,000 and 29,000 Multi30k pairs against training from scratch.

And what it forgets: every model is scored on Multi30k (test2016) and on the sentences that `demo` was made for (Tatoeba), with and
without its old text mixed in. The same command goes on where it was stopped; the numbers found so far are in the JSON file.

    python benchmarks/fine_tuning.py --data DIR --json fine_tuning.json   # DIR/multi30k/train.de.gz …; an hour of one core
    python benchmarks/fine_tuning.py --data DIR --sizes 50 --updates 2 --scratch-updates 2 --sentences 8 --width 32   # does it run?
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import regard
from regard.config import recipes
from regard.data.corpus import read_pairs
from regard.files import replacing

TATOEBA = "bundled:tatoeba-de-en.tsv.xz"
WAYS = ("scratch", "fine-tuned", "mixed")


def lines_of(folder: Path, name: str) -> list[str]:
    return gzip.decompress((folder / "multi30k" / name).read_bytes()).decode().splitlines()


def write_texts(given: argparse.Namespace) -> None:
    """Training text of every size with its validation rows, as split TAB German TAB English, and both tests as two files."""
    folder = given.folder / "text"
    folder.mkdir(parents=True, exist_ok=True)
    train, valid, test = (
        list(zip(lines_of(given.data, f"{name}.de.gz"), lines_of(given.data, f"{name}.en.gz"), strict=True))
        for name in ("train", "val", "test_2016_flickr")
    )
    for size in given.sizes:
        rows = [("train", *pair) for pair in train[:size]] + [("valid", *pair) for pair in valid[: given.sentences]]
        (folder / f"multi30k-{size}.tsv").write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    data = recipes.load("bundled:quickstart.toml").data
    known = read_pairs(data.test["test"], data, "test")  # type: ignore[arg-type]
    for name, pairs in (("multi30k", test), ("tatoeba", known)):
        chosen = list(islice(pairs, given.sentences))
        for side, language in enumerate(("de", "en")):
            text = "".join(f"{pair[side]}\n" for pair in chosen)
            (folder / f"{name}.{language}").write_text(text, encoding="utf-8")


def recipe_of(way: str, size: int, given: argparse.Namespace) -> dict[str, Any]:
    """From scratch with the sizes of `demo`, from `demo`, or from `demo` with as many rows of its old text as of the new."""
    ours = {"name": "multi30k", "train": [f"multi30k-{size}.tsv"], "valid": [f"multi30k-{size}.tsv"]}
    corpora = [ours]
    if way == "mixed":
        corpora.append({"name": "tatoeba", "train": [TATOEBA], "weight": max(0.001, min(1.0, size / 60_000))})
    columns = {"split_column": 1, "source_column": 2, "target_column": 3}
    places = {"folder": str(given.folder / "text"), "prepared": str(given.folder / "prepared")}
    data = {"source_language": "de", "target_language": "en", **places, **columns, "corpus": corpora}
    scratch = way == "scratch"
    updates = given.scratch_updates if scratch else given.updates
    training: dict[str, Any] = {
        "batch_tokens": 2_048, "updates": updates, "warmup": max(1, updates // 10), "clip": 1.0, "schedule": "linear",
        "validate_every": max(1, updates // 5), "validate_sentences": min(200, given.sentences), "average": 1, "threads": 1, "precision": given.precision,
        "learning_rate": 1e-3 if scratch else 2e-4,
    }  # fmt: skip
    found: dict[str, Any] = {"name": f"{way}-{size}", "data": data, "training": training}
    if scratch:
        size_of = {"size": "small", "feed_forward": 768, "encoder_layers": 4, "decoder_layers": 2, "norm": "pre"}
        found["model"] = {**size_of, "dropout": 0.3, **({"width": given.width} if given.width else {})}
        found["tokenizer"] = {"vocabulary": 5_000 if size >= 5_000 else 2_000 if size >= 1_000 else 400}
    else:
        training["start"] = given.start
    return found


def scored(model: str | Path, given: argparse.Namespace) -> dict[str, float]:
    """BLEU and chrF on what is new and on what was known."""
    found = {}
    for name in ("multi30k", "tatoeba"):
        files = {
            side: given.folder / "text" / f"{name}.{language}"
            for side, language in (("source", "de"), ("target", "en"))
        }
        (result,) = regard.evaluate(model, engine="native", **files).results
        found |= {
            f"{name} {each['name']}": round(each["value"], 2)
            for each in result.stored()
            if each["name"] in ("BLEU", "chrF2")
        }
    return found


def trials(given: argparse.Namespace) -> Iterator[tuple[str, dict[str, Any]]]:
    yield given.start, {}
    for size in given.sizes:
        for way in WAYS:
            yield f"{way} {size}", recipe_of(way, size, given)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--data", type=Path, default=os.environ.get("REGARD_DATA", "."))
    asked.add_argument("--folder", type=Path, default=Path("runs/fine-tuning"), help="runs and texts")
    asked.add_argument("--json", type=Path, default=Path("fine_tuning.json"))
    asked.add_argument("--start", default="demo")
    asked.add_argument(
        "--sizes", type=lambda text: [int(each) for each in text.split(",")], default=[1_000, 5_000, 29_000]
    )
    asked.add_argument("--updates", type=int, default=300, help="from a start")
    asked.add_argument("--scratch-updates", type=int, default=1_000)
    asked.add_argument(
        "--sentences", type=int, default=1_000, help="of each test, and at most of validation, which takes 200"
    )
    asked.add_argument("--precision", default="bfloat16", help="as training.precision")
    asked.add_argument("--width", type=int, help="from scratch; to see whether this runs")
    given = asked.parse_args()
    given.folder = given.folder.resolve()
    found: dict[str, Any] = json.loads(given.json.read_text()) if given.json.is_file() else {}
    write_texts(given)
    for name, recipe in trials(given):
        if name in found:
            continue
        model: str | Path = given.start
        if recipe:
            run = regard.train(recipe, run=given.folder / recipe["name"], show=False)
            if run.reason == "interrupted":
                raise SystemExit(130)
            model = run.folder
        found[name] = scored(model, given)
        print(name, found[name], flush=True)
        with replacing(given.json) as temporary:
            temporary.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
