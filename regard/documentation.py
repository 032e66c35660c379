"""The site that `make docs` builds from this repository, and where it is."""

from __future__ import annotations

import webbrowser
from pathlib import Path

from regard.errors import UsageError

BUILT = Path(__file__).parent.parent / "build" / "site" / "index.html"


def docs(*, show: bool = True) -> Path:
    """The first page of the site, opened in a browser if `show`; it works from the file system, without a network."""
    if not BUILT.is_file():
        raise UsageError(
            "the site is not built here. In a clone of the repository, `make docs` builds it; docs/ holds the same pages."
        )
    if show:
        webbrowser.open(BUILT.as_uri())
    return BUILT
