"""A trained run → `demo.safetensors`, the model that `regard translate demo` uses: half precision, with its score inside.

regard train recipes/translate/tatoeba-de-en.toml --data DIR
python -m regard.bundled.make_demo runs/tatoeba-de-en --data DIR
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import regard
from regard.checkpoint import store_scores
from regard.tasks.trained import load_trained, save_trained
from regard.tasks.translation.evaluation import evaluate, recipe_test_sets

DEMO = Path(__file__).parent / "demo.safetensors"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    arguments.add_argument("run", type=Path, help="run folder of the recipe tatoeba-de-en")
    arguments.add_argument("--data", type=Path, required=True, help="folder that holds tatoeba/deu-eng.tsv.xz")
    given = arguments.parse_args()
    trained = load_trained(given.run)
    weights = dict(trained.model.named_parameters())
    save_trained(DEMO, weights, trained.recipe, trained.assets, trained.provenance, half=True)
    demo = regard.load(DEMO, task="translation")
    here = replace(demo.recipe, data=replace(demo.recipe.data, folder=str(given.data)))
    for test_set in recipe_test_sets(here):
        found = evaluate(demo, test_set)
        store_scores(DEMO, {test_set.name: found.stored()})
        print("\n".join(found.lines()))
    print(f"{DEMO.name}: {DEMO.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
