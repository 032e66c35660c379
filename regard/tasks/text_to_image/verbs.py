"""What the verbs of every task do with a painter: evaluate and view."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from regard.errors import UsageError
from regard.tasks.data_folder import choose_test, require_test, with_data_folder
from regard.tasks.text_to_image.evaluation import PaintingTest, evaluate_painter
from regard.tasks.text_to_image.page import PaintingAttention, look
from regard.tasks.verbs import load


def evaluate(
    model: str | Path, data: str | Path | None = None, *, test: str | None = None, device: str = "cpu"
) -> Iterator[PaintingTest]:
    """What captions are worth in bits on each test set, or only on `test`, and whether attention points at what words name."""
    painter = load(model, device, task="text-to-image")
    recipe = with_data_folder(painter.recipe, model, data)
    require_test(recipe)
    for name in choose_test(recipe.data.test, test):
        yield from evaluate_painter(painter, recipe.data, name)


def view(model: str | Path, text: str | None = None, *, device: str = "cpu") -> PaintingAttention:
    """A caption painted, and what each part of the picture looked at."""
    if not text or not text.strip():
        raise UsageError("give a caption to paint, such as 'a red boot left of a blue bag'")
    painter = load(model, device, task="text-to-image")
    return look(painter, painter.paint(text), Path(model).name)
