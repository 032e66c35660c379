"""What each choice of a recipe is worth: the trials, the table, and the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from regard.experiments.ablation.page import write_ablation
from regard.experiments.ablation.rows import read_rows
from regard.experiments.ablation.running import Ablation, chosen_test_set
from regard.experiments.ablation.table import Table, draw, tabulate
from regard.files import alone_in
from regard.notes import note
from regard.runs import make_folder
from regard.tasks.translation.engine import cores

FOLDERS = {
    "parts": "parts",
    "regularization": "regularization",
}  # what a preset's folder ends in; others are ablations as they always were


@dataclass(frozen=True)
class Ablated:
    """What an ablation came to."""

    folder: Path
    """Holds the run folder of each trial."""
    table: Table | None
    """None if no trial came to its end."""
    page: Path | None
    finished: bool
    """Whether nobody stopped it; if somebody did, the same call goes on."""

    def draw(self, console: Console) -> None:
        """The table in a terminal."""
        if self.table is not None:
            draw(self.table, console)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {} if self.table is None else self.table.to_dict()


def ablate(
    recipe: str | Path,
    vary: Sequence[str] = (),
    *,
    seeds: int = 2,
    overrides: Sequence[str] = (),
    data: str | Path | None = None,
    run: str | Path | None = None,
    workers: int = 0,
    test: str | None = None,
    preset: str = "paper",
    command: str = "",
) -> Ablated:
    """Train a recipe again and again with one thing changed, or go on with that, and tell what each change is worth.

    `vary` are changes such as `model.heads=1,2`; without any, those of the `preset`: `paper` is Table 3 of the paper, `parts` a
    Transformer without each of its parts, `regularization` what keeps it from knowing its text by heart. The recipe may be of any task. Each row is trained with `seeds` seeds in the folder
    `run`, `workers` at a time (0: one for each core), and judged by the test set `test`. `command` is what the page says made it.
    """
    rows, left_out = read_rows(Path(recipe), overrides, None if data is None else Path(data), vary, preset)
    for reason in left_out:
        note(f"left out: {reason}")
    folder = Path(run) if run is not None else Path("runs") / f"{rows[0].recipe.name}-{FOLDERS.get(preset, 'ablate')}"
    test_set = chosen_test_set(rows[0].recipe, test)
    make_folder(folder)
    with alone_in(folder):
        ablation = Ablation(rows, seeds, folder, test_set)
        left, workers = len(ablation.left()), workers or cores()
        note(f"{len(rows)} rows × {seeds} seeds in {folder}, {left} trials to go, {workers} at a time")
        results, stopped = ablation.run(workers)
    if not results:
        return Ablated(folder, None, None, not stopped)
    table = tabulate(rows, results, test_set)
    return Ablated(folder, table, write_ablation(folder, table, command), not stopped)
