"""`regard docs`: open the site."""

from __future__ import annotations

from typing import Annotated

import typer

import regard
from regard.commands.app import app


@app.command(epilog="Examples: `make docs && regard docs`, `regard docs --no-open`")
def docs(
    show: Annotated[
        bool, typer.Option("--open/--no-open", help="Open it in a browser, besides saying where it is.")
    ] = True,
) -> None:
    """The site with docs, course and reference, if `make docs` has built it."""
    print(regard.docs(show=show))
