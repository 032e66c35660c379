"""The recipes that come with regard: each by its name, to be listed, trained or copied."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from regard.config.stored import BUNDLED_FOLDER
from regard.errors import UsageError, did_you_mean

INSTALLED = BUNDLED_FOLDER / "recipes"
"""Where setup.py puts the repository's recipes into a wheel."""


@dataclass(frozen=True)
class ShippedRecipe:
    """A recipe of the package."""

    name: str
    path: Path

    @property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @property
    def about(self) -> str:
        """The sentence that its file opens with."""
        opening = takewhile(lambda line: line.startswith("# "), self.text.splitlines())
        return re.split(r"(?<!\bal\.)(?<=\.)\s", " ".join(line[2:] for line in opening))[0]

    def copy(self, folder: str | Path = ".") -> Path:
        """Into a folder, under its own name; what is there stays → the file."""
        to = Path(folder) / self.path.name
        if to.exists():
            raise UsageError(f"there is a {to} already; give another folder, or move it away")
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(self.path, to)
        return to


def shipped_recipes() -> dict[str, ShippedRecipe]:
    """By name: those of the repository or the wheel, task by task, and the small ones whose text is bundled as well."""
    files = [*sorted(_folder().glob("*/*.toml")), *sorted(BUNDLED_FOLDER.glob("*.toml"))]
    return {path.stem: ShippedRecipe(path.stem, path) for path in files}


def shipped_recipe(name: str) -> ShippedRecipe:
    """That of a name, with or without its ending."""
    known = shipped_recipes()
    found = known.get(Path(name).stem if name.endswith(".toml") else name)
    if found is None:
        raise UsageError(
            f"regard comes with no recipe {name!r}.{did_you_mean(name, known)} `regard recipes` lists those there are"
        )
    return found


def _folder() -> Path:
    """In a wheel they are inside of the package; in a clone of the repository beside it."""
    root = BUNDLED_FOLDER.parent.parent
    return root / "recipes" if (root / "pyproject.toml").is_file() and not INSTALLED.is_dir() else INSTALLED
