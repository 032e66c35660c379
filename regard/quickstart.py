"""`regard quickstart`: from the bundled corpus to a trained model, its score, ten translations and a page."""

from __future__ import annotations

import shlex
import sys
import time
from importlib import resources
from pathlib import Path

from rich.console import Console

import regard
from regard import config
from regard.checkpoint import MODEL, store_scores
from regard.config import recipes
from regard.errors import TrainingError
from regard.runs import train
from regard.tasks.translation.evaluation import evaluate, recipe_test_sets
from regard.tasks.translation.movie_file import load_movie
from regard.tasks.translation.page import write_page

PROMISED_BLEU = (30.0, 35.0)
SHOWN = "Ich habe gestern ein interessantes Buch gelesen."


def quickstart(folder: Path, overrides: list[str], console: Console) -> None:
    """Train (or go on), score, show; each step says what it does and which command would do it again."""
    began = time.perf_counter()

    def say(text: str) -> None:
        console.print(text, highlight=False, soft_wrap=True, markup=False)

    recipe = recipes.load_as(
        config.TranslationRecipe, Path(str(resources.files("regard") / "bundled" / "quickstart.toml")), overrides
    )
    say(f"Training a German → English Transformer on 60,000 bundled sentence pairs, into {folder}")
    if train(recipe, run=folder, show=console).reason == "interrupted":
        say(f"stopped and saved. Go on with: {shlex.join(['regard', *sys.argv[1:]])}")
        return
    translator = regard.load(folder, task="translation")
    say("\nScoring it on test sentences it has never seen …")
    (test_set,) = recipe_test_sets(recipe)
    scores, texts = evaluate(translator, test_set)
    store_scores(folder / MODEL, {test_set.name: [vars(each) for each in scores]})
    for each in scores:
        say(f"  {each.format()}")
    say("\nTen translations beside their references:")
    for number in range(0, len(texts), max(1, len(texts) // 10))[:10]:
        say(f"  {test_set.sources[number]}\n    → {texts[number]}\n    = {test_set.references[number]}")
    seen = translator.attention(SHOWN)
    page = folder / "attention.html"
    write_page(page, [seen], load_movie(folder))
    say(f"\nIts attention, and how it formed, on “{SHOWN}” → “{seen.translation}”: open {page}")
    say(f"Done in {(time.perf_counter() - began) / 60:.1f} minutes. Next:")
    say(f"  regard translate {folder} 'Wo ist der Bahnhof?'")
    say(f"  regard view {folder} 'Wo ist der Bahnhof?'")
    if not overrides:
        check_promise(scores[0].value)


def check_promise(bleu: float) -> None:
    """The README promises a range; outside of it something is wrong with this machine or this version."""
    low, high = PROMISED_BLEU
    if not low <= bleu <= high:
        raise TrainingError(
            f"BLEU is {bleu:.1f}, outside the {low:.0f} to {high:.0f} that quickstart promises. "
            "Please report this with your versions of torch and regard."
        )
