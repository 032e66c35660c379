"""The course: `from regard.learn import check, heatmap, curves, bars, link`, as the cells of its lessons do.

Each name is imported when it is first asked for, so that `regard --help` does not wait for torch or matplotlib.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regard.learn.checking import check, told
    from regard.learn.figures import bars, curves, heatmap, link, pictures

__all__ = ["bars", "check", "curves", "heatmap", "link", "pictures", "told"]

_PLACES = {
    "bars": "figures",
    "check": "checking",
    "curves": "figures",
    "heatmap": "figures",
    "link": "figures",
    "pictures": "figures",
    "told": "checking",
}


def __getattr__(name: str) -> Any:
    """A public name, imported when first asked for."""
    if name in _PLACES:
        return getattr(import_module(f"regard.learn.{_PLACES[name]}"), name)
    raise AttributeError(f"module 'regard.learn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
