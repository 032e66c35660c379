"""`regard prepare`: a recipe's corpus, ready for training."""

from __future__ import annotations

import regard
from regard.commands.app import DataFolder, Overrides, RecipePath, app, report


@app.command(epilog="Example: `regard prepare recipes/translate/multi30k-en-de.toml --data DIR`")
def prepare(recipe: RecipePath, data: DataFolder = None, overrides: Overrides = []) -> None:  # noqa: B006
    """Clean and count the corpus, train the tokenizer, write memory-mapped ids; or check what is there.

    `train` prepares when needed.
    """
    prepared = regard.prepare(recipe, overrides=overrides, data=data, verify=True)
    report("\n".join(prepared.lines()))
