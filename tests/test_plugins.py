"""What may be registered, and what is said of what may not."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from torch import nn

import regard
from regard import config
from regard.config import recipes
from regard.errors import UsageError
from regard.models.transformer import Transformer
from regard.plugins import load_plugin, load_plugins
from regard.tasks.registry import find_task, forget_architecture


@dataclass(frozen=True)
class Mine(config.Transformer):
    architecture: str = "mine"


@pytest.fixture(autouse=True)
def as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    if "mine" in find_task("translation").settings.architectures:
        forget_architecture("mine")
    assert list(find_task("translation").settings.architectures) == ["transformer", "rnn", "rnn-attention", "conv"]
    assert len(find_task("translation").models) == 4


def test_registering_again_replaces_as_a_notebook_does() -> None:
    register = regard.register_architecture("mine", settings=Mine, sizes={"base": {"width": 8, "heads": 2}})
    first, second = type("First", (Transformer,), {}), type("Second", (Transformer,), {})
    assert register(first) is first
    register(second)
    recipe = recipes.parse({"model": {"architecture": "mine"}})
    assert (type(recipe.model), recipe.model.width) == (Mine, 8)
    assert type(find_task("translation").build(Mine(width=8, heads=2, feed_forward=8), (9, 9))) is second


class Unmade(config.Transformer):
    architecture = "mine"


@dataclass(frozen=True)
class Unnamed(config.Transformer):
    """Whose architecture is still `transformer`."""


@dataclass(frozen=True)
class Other(config.TextEncoder):
    architecture: str = "mine"


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("mine", Unmade, r"Unmade must be a dataclass itself: write @dataclass\(frozen=True\)"),
        ("mine", Unnamed, 'Unnamed must say which architecture it is of: architecture: str = "mine"'),
        ("mine", Other, "must derive from config.TranslationModel; Other does not"),
        ("mine", dict, "must derive from config.TranslationModel; dict does not"),
        ("mine", Mine(), "must derive from config.TranslationModel"),
        ("transformer", Unnamed, "translation has an architecture 'transformer' already"),
    ],
)
def test_what_cannot_be_registered(name: str, settings: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        regard.register_architecture(name, settings=settings)(Transformer)


def test_what_is_no_model() -> None:
    with pytest.raises(UsageError, match=r"'mine' must be a class of torch\.nn\.Module"):
        regard.register_architecture("mine", settings=Mine)(dict)  # type: ignore[type-var]
    with pytest.raises(UsageError, match=r"unknown task 'tranlation'\. Did you mean 'translation'"):
        regard.register_architecture("mine", settings=Mine, task="tranlation")(nn.Module)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("broken_plugin.py", "1 / 0", "broken_plugin.py cannot be imported: ZeroDivisionError: division by zero"),
        ("json.py", "", r"a module is called 'json' already \(.*json.__init__\.py\); rename the plug-in"),
        ("plugin.txt", "", "no plug-in at .*plugin.txt: it is a Python file"),
        (
            "twice_plugin.py",
            "import regard\nfrom regard import config\n"
            "regard.register_architecture('transformer', settings=type('X', (), {}))",
            "the plug-in .*twice_plugin.py: settings of an architecture of 'translation' must derive",
        ),
    ],
)
def test_files_that_are_no_plug_ins(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=message):
        load_plugin(tmp_path / name)


def test_what_lies_beside_a_plug_in_hides_nothing(tmp_path: Path) -> None:
    (tmp_path / "quiet_plugin.py").write_text("import colorsys", encoding="utf-8")
    (tmp_path / "colorsys.py").write_text("raise SystemExit", encoding="utf-8")
    sys.modules.pop("colorsys", None)
    load_plugins([tmp_path / "quiet_plugin.py", tmp_path / "quiet_plugin.py"])
    assert sys.modules.pop("quiet_plugin")
    assert sys.path.count(str(tmp_path)) == 1
