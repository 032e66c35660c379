"""What a model did, scene by scene → JSON → one HTML file that needs nothing else, neither files nor network.

One frame with tabs for every task: a tab is there if the scene has what it shows.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from regard.view.document import DRAWN, check_name, document, write_document

VIEWS = ("decision", "writing", "look", "walk", "steps", "positions", "movie", "live", "compare")
SHARED = (
    "data",
    "dom",
    "key",
    "heat",
    "views",
    "address",
    "take_along",
    "band",
    "walk_text",
    "walk_flow",
    "model_inside",
)
SCRIPTS = (*SHARED, *VIEWS, "main")
BODY = (
    """<main>
  <header id="header"></header>
  <nav class="tabs" id="tabs" role="tablist"></nav>
  <div id="view" role="tabpanel" tabindex="-1"></div>
  <footer><p class="muted" id="caution"></p></footer>
</main>
"""
    + DRAWN
)
FRAME_HEIGHT = 900
MOST_WALKED = 4_000_000
"""Numbers of walks through the computation that a page carries at most: some 11 MB."""


class Scene(Protocol):
    """One pass of a model over one part of a text."""

    @property
    def walk_size(self) -> int:
        """How many numbers a walk through the computation takes."""
        ...

    def to_dict(self, *, walk: bool = True) -> dict[str, Any]:
        """All that a page draws, as plain JSON values."""
        ...


def render(
    scenes: Sequence[Mapping[str, Any]], movie: Mapping[str, Any] | None = None, live: Mapping[str, Any] | None = None
) -> str:
    """The page as text: `scenes` are what `Scene.to_dict` gave, one per part of the text.

    `movie` is how attention formed; `live` is what the page should know of the server behind it, or of the
    model inside it.
    """
    content = {"scenes": list(scenes), "movie": movie, "live": live}
    inside = live is not None and "inside" in live
    return document("regard", BODY, VIEWS, SCRIPTS, content, asks=live is not None and not inside, threads=inside)


def scenes_of(seen: Iterable[Scene], *, walk: bool = True) -> list[dict[str, Any]]:
    """What a page shows of a text's parts, one after the other: all that was recorded of many would fill the memory.

    Only as many of a long text's parts can be walked through as have room.
    """
    scenes: list[dict[str, Any]] = []
    size = 0
    for each in seen:
        size += each.walk_size
        scene = each.to_dict(walk=walk and size <= MOST_WALKED)
        if scenes:
            scene["matrices"] = {}  # the first scene has them for all
        scenes.append(scene)
    return scenes


def write_page(path: Path, seen: Sequence[Scene], movie: Mapping[str, Any] | None = None) -> None:
    """Write the page of a text's parts, making its folder if need be."""
    check_name(path, "; a picture is made by Attention.plot in Python")
    write_document(path, render(scenes_of(seen), movie))


def in_a_frame(seen: Scene) -> str:
    """The page inside another one, such as a notebook."""
    page = html.escape(render(scenes_of([seen])), quote=True)
    return f'<iframe srcdoc="{page}" style="width: 100%; height: {FRAME_HEIGHT}px; border: 0"></iframe>'
