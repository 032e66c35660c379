"""What settings were called before: recipes and model files that say so keep loading."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from regard.config.tasks import TASKS, names

PRESENT = {
    "data.max_pieces": "data.max_tokens",
    "tokenizer.pieces": "tokenizer.vocabulary",
}
"""By what a setting was called before, what it is called now; it never moves to another section."""

ONCE_OF_ALL = ("training.validate_sentences", "training.probes", "training.probe_every")
"""What every task could be told when model files had format 1, and stored, though only one ever heeded it."""


def renamed(given: dict[str, Any]) -> list[str]:
    """Give the settings in `given` their present names → a sentence for each that had another."""
    notes = []
    for old, present in PRESENT.items():
        (section, key), (_, new) = old.split("."), present.split(".")
        content = given.get(section)
        if isinstance(content, dict) and key in content and new not in content:
            given[section] = {new if name == key else name: value for name, value in content.items()}
            notes.append(f"{old} is now called {present}")
    return notes


def drop_unheeded(given: dict[str, Any]) -> None:
    """Take out of what a file of that time states what its task never heeded; whoever writes it today is told."""
    task = given.get("task", next(iter(TASKS)))
    row = names().get(task) if isinstance(task, str) else None
    for section, key in (name.split(".") for name in ONCE_OF_ALL):
        content = given.get(section)
        if row is None or not isinstance(content, dict):
            continue
        if key not in {each.name for each in fields(row.sections[section])}:
            given[section] = {name: value for name, value in content.items() if name != key}
