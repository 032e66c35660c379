"""The playground: attention of a few typed vectors, with the formula filled in; a page that needs no model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from regard.view.document import DRAWN, check_name, document, write_document

SCRIPTS = ("dom", "attend", "playground_text", "playground")
BODY = (
    """<main class="playground">
  <header id="header"></header>
  <div id="view"></div>
  <footer><p class="muted" id="caution"></p></footer>
</main>
"""
    + DRAWN
)


@dataclass(frozen=True)
class Playground:
    """Queries, keys and values to type, and what attention makes of them."""

    def write(self, path: str | Path) -> None:
        """As one HTML file that needs nothing else."""
        check_name(Path(path))
        write_document(Path(path), self.render())

    def render(self) -> str:
        """The page as text."""
        return document("Attention playground · regard", BODY, ["playground"], SCRIPTS)


def playground(output: str | Path | None = None) -> Playground:
    """A page to try attention on a few vectors of your own, written to `output` at once if that is given.

    Queries, keys and values are typed; β, hard attention, masks, positions and the order are switched, and every number of
    softmax(β · Q·Kᵀ / √d)·V is shown.
    """
    made = Playground()
    if output is not None:
        made.write(output)
    return made
