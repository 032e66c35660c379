"""Do numbers, times and addresses survive translation? On test and validation rows that hold one in both languages, with and without protection.

    python benchmarks/numbers_kept.py --model demo --data DIR   # DIR/tatoeba/deu-eng.tsv.xz
    python benchmarks/numbers_kept.py --model demo              # the bundled rows, which are the same

A row counts if all values that source and reference share are in the output as they are. A model that was not trained with
placeholders is measured without them only.
"""

from __future__ import annotations

import argparse
import json
import os
from itertools import chain
from pathlib import Path

import regard
from regard.config import recipes
from regard.data.corpus import read_pairs
from regard.data.placeholders import protect


def values_of(text: str) -> list[str]:
    return protect(text)[1]


def rows_with_values(data: Path | None) -> list[tuple[str, set[str]]]:
    """Sources of held-out rows, and the values that their references have, too."""
    settings = recipes.load("tatoeba-de-en" if data is not None else "bundled:quickstart.toml", folder=data).data
    found = []
    held_out = (read_pairs(settings.test["test"], settings, split) for split in ("test", "valid"))  # type: ignore[arg-type]
    for source, target in chain.from_iterable(held_out):
        values = {*values_of(source)} & {*values_of(target)}
        if values:
            found.append((source, values))
    return found


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--model", default="demo")
    asked.add_argument("--data", type=Path, default=os.environ.get("REGARD_DATA"))
    asked.add_argument("--most", type=int, help="rows; all unless said")
    given = asked.parse_args()
    model = regard.load(given.model, task="translation")
    rows = rows_with_values(given.data)[: given.most]
    ways = (False, True) if model.tokenizer.has_placeholders else (False,)
    found = {}
    for way in ways:
        texts = [each.text for each in model.translate([source for source, _ in rows], protect=way)]
        kept = sum(values <= {*values_of(text)} for text, (_, values) in zip(texts, rows, strict=True))
        found["protected" if way else "as they are"] = {
            "rows": len(rows),
            "kept": kept,
            "share": round(kept / len(rows), 4),
        }
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
