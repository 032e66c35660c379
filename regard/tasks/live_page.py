"""A page with a model inside, of any task whose glass box can be packed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from regard.errors import UsageError
from regard.tasks.task import Seen, Task
from regard.view.document import write_document
from regard.view.portable import render_live


@dataclass(frozen=True, repr=False)
class LivePage:
    """A model that runs in the browser."""

    told: dict[str, Any]
    """What a live page knows of any model."""
    model: dict[str, Any]
    """All that this one computes with."""
    text: str = ""
    """To begin with."""

    def draw(self, console: Console) -> None:
        """A terminal runs no page."""
        raise UsageError("a live page is a file: name it with -o, such as -o demo.html")

    def write(self, path: str | Path, command: str = "") -> None:
        """As one HTML file that needs nothing else."""
        write_document(Path(path), render_live(self.told, self.model, self.text))

    def to_dict(self) -> dict[str, Any]:
        """What the page computes with, as plain JSON values."""
        return self.model


def live_page(row: Task, model: Any, name: str, text: str | None) -> Seen:
    """Of a loaded model."""
    if row.live_page is not None:
        return row.live_page(model, name, text)
    box = row.glass_box
    if box is None or box.portable is None:
        raise UsageError(f"{name} cannot run inside a page: models of the task {row.name!r} cannot yet")
    told = {
        "name": name,
        "title": model.recipe.name,
        "verb": row.verb,
        **box.about(model),
    }
    return LivePage(told, box.portable(model), text or "")
