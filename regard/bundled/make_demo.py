"""A trained run → a model that comes with regard, such as `demo.safetensors`: half precision, with its scores inside.

regard train recipes/translate/demo-ko.toml --data DIR
python -m regard.bundled.make_demo runs/demo-ko --data DIR --name demo-ko
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import regard
from regard.checkpoint import BUNDLED, BUNDLED_FOLDER, store_scores
from regard.tasks.trained import load_trained, save_trained
from regard.tasks.translation.evaluation import evaluate, recipe_test_sets


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    arguments.add_argument("run", type=Path, help="run folder of the model's recipe")
    arguments.add_argument("--data", type=Path, required=True, help="folder that holds the recipe's files")
    arguments.add_argument("--name", choices=BUNDLED, default="demo", help="what it will be called")
    given = arguments.parse_args()
    file = BUNDLED_FOLDER / f"{given.name}.safetensors"
    trained = load_trained(given.run)
    weights = dict(trained.model.named_parameters())
    save_trained(file, weights, trained.recipe, trained.assets, trained.provenance, half=True)
    model = regard.load(file, task="translation")
    here = replace(model.recipe, data=replace(model.data, folder=str(given.data)))
    for test_set in recipe_test_sets(here):
        found = evaluate(model, test_set)
        store_scores(file, {test_set.name: found.stored()})
        print("\n".join(found.lines()))
    print(f"{file.name}: {file.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
