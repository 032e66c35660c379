"""`regard quickstart`: from the bundled corpus to a trained model, its score, ten translations and a page."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from rich.console import Console

import regard
from regard import config
from regard.checkpoint import MODEL, store_scores
from regard.config import recipes
from regard.errors import TrainingError
from regard.runs import train
from regard.tasks.movie_file import load_movie
from regard.tasks.translation.evaluation import TranslationTest, evaluate, recipe_test_sets
from regard.view.scenes import write_page

PROMISED_BLEU = (30.0, 35.0)
SHOWN = "Ich habe gestern ein interessantes Buch gelesen."


@dataclass(frozen=True)
class Quickstart:
    """What a quickstart came to."""

    folder: Path
    """The run folder."""
    finished: bool
    """Whether nobody stopped the training; if somebody did, the same call goes on."""
    test: TranslationTest | None = None
    """How good the model is, with its translations of the test set."""
    page: Path | None = None
    """Its attention, and how it formed."""

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        found = None if self.test is None else self.test.to_dict()
        page = None if self.page is None else str(self.page)
        return {"folder": str(self.folder), "finished": self.finished, "test": found, "page": page}


def quickstart(
    run: str | Path = "runs/quickstart",
    *,
    overrides: Sequence[str] = (),
    console: Console | None = None,
    command: str = "",
) -> Quickstart:
    """Train on the bundled corpus (or go on), score, translate, and write an attention page: minutes on a laptop's CPU.

    `run` is the run folder; `console` hears of each step and which command would do it again, `command` is this one.
    """
    began, folder, console = time.perf_counter(), Path(run), console or Console(quiet=True)

    def say(text: str) -> None:
        console.print(text, highlight=False, soft_wrap=True, markup=False)

    recipe = recipes.load_as(
        config.TranslationRecipe, Path(str(resources.files("regard") / "bundled" / "quickstart.toml")), list(overrides)
    )
    say(f"Training a German → English Transformer on 60,000 bundled sentence pairs, into {folder}")
    if train(recipe, run=folder, show=console).reason == "interrupted":
        say(f"stopped and saved. Go on with: {command}" if command else "stopped and saved.")
        return Quickstart(folder, finished=False)
    translator = regard.load(folder, task="translation")
    say("\nScoring it on test sentences it has never seen …")
    (test_set,) = recipe_test_sets(recipe)
    found = evaluate(translator, test_set)
    store_scores(folder / MODEL, {found.name: found.stored()})
    for each in found.scores:
        say(f"  {each.format()}")
    say("\nTen translations beside their references:")
    for number in range(0, len(found.texts), max(1, len(found.texts) // 10))[:10]:
        say(f"  {found.sources[number]}\n    → {found.texts[number]}\n    = {found.references[number]}")
    seen = translator.attention(SHOWN)
    page = folder / "attention.html"
    write_page(page, [seen], load_movie(folder))
    say(f"\nIts attention, and how it formed, on “{SHOWN}” → “{seen.translation}”: open {page}")
    say(f"Done in {(time.perf_counter() - began) / 60:.1f} minutes. Next:")
    say(f"  regard translate {folder} 'Wo ist der Bahnhof?'")
    say(f"  regard view {folder} 'Wo ist der Bahnhof?'")
    if not overrides:
        check_promise(found.scores[0].value)
    return Quickstart(folder, True, found, page)


def check_promise(bleu: float) -> None:
    """The README promises a range; outside of it something is wrong with this machine or this version."""
    low, high = PROMISED_BLEU
    if not low <= bleu <= high:
        raise TrainingError(
            f"BLEU is {bleu:.1f}, outside the {low:.0f} to {high:.0f} that quickstart promises. "
            "Please report this with your versions of torch and regard."
        )
