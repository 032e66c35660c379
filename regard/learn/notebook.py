"""A lesson as a Jupyter notebook (nbformat 4.5): what Jupyter opens without Jupytext."""

from __future__ import annotations

import json
from typing import Any

from regard.learn.lesson import Cell, Lesson


def to_notebook(lesson: Lesson) -> str:
    """The notebook as JSON, its cells not run yet."""
    cells: list[dict[str, Any]] = []
    for place, part in enumerate(lesson.parts):
        code = isinstance(part, Cell)
        source = part.code if isinstance(part, Cell) else part.text
        cell: dict[str, Any] = {
            "cell_type": "code" if code else "markdown",
            "id": f"cell-{place}",
            "metadata": {},
            "source": source.rstrip("\n").splitlines(keepends=True),
        }
        cells.append({**cell, "execution_count": None, "outputs": []} if code else cell)
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return json.dumps(
        {"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}, ensure_ascii=False, indent=1
    )
