"""What settings were called before: recipes and model files that say so keep loading."""

from __future__ import annotations

from typing import Any

PRESENT = {
    "data.max_pieces": "data.max_tokens",
    "tokenizer.pieces": "tokenizer.vocabulary",
}
"""By what a setting was called before, what it is called now; it never moves to another section."""


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
