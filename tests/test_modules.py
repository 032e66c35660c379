"""How many modules one must open to follow one translation, or one update: few, and never silently more."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
import torch

import regard
from regard import Translator, config
from regard.tasks.trained import load_trained
from regard.tasks.translation.training import translation_loss
from regard.training.distributed import ALONE
from regard.training.trainable import MicroBatch
from regard.training.update import Objective, build_optimizer, take_update
from tests.test_imports import PACKAGE

MOST_IN_A_TRANSLATION, MOST_WITH_CTRANSLATE2, MOST_IN_AN_UPDATE = 28, 15, 16
"""As many as there are today: who makes them fewer lowers these."""


def modules_of(work: Callable[[], Any]) -> set[str]:
    """The package's modules whose code runs."""
    found: set[str] = set()

    def see(frame: FrameType, event: str, _: Any) -> None:
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(f"{PACKAGE}/") and not path.endswith("__init__.py"):
            found.add(path.removeprefix(f"{PACKAGE}/"))

    before = sys.getprofile()
    sys.setprofile(see)
    try:
        work()
    finally:
        sys.setprofile(before)
    return found


@pytest.fixture(scope="module")
def demo() -> Translator:
    return regard.load("demo")


def test_modules_of_a_translation(demo: Translator) -> None:
    demo.translate("Ich habe Hunger.")  # what happens only once is not part of it
    found = modules_of(lambda: demo.translate("Ich habe Hunger."))
    assert {"tasks/translation/translator.py", "decoding/search.py", "attention/multi_head.py"} <= found
    assert len(found) <= MOST_IN_A_TRANSLATION, sorted(found)


def test_modules_of_a_translation_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where CTranslate2 is installed, it searches and computes."""
    pytest.importorskip("ctranslate2")
    monkeypatch.delenv("REGARD_ENGINE")
    fast = regard.load("demo")
    fast.translate("Ich habe Hunger.")
    found = modules_of(lambda: fast.translate("Ich habe Hunger."))
    assert "export/ctranslate2_engine.py" in found
    assert "attention/multi_head.py" not in found
    assert len(found) <= MOST_WITH_CTRANSLATE2, sorted(found)


def test_modules_of_an_update() -> None:
    model: Any = load_trained("demo").model
    source, target = torch.tensor([[5, 6, 7, 2]]), torch.tensor([[1, 5, 6]])
    wanted = torch.tensor([[5, 6, 2]])
    objective = Objective(model, lambda model, batch: translation_loss(model, *batch, smoothing=0.1))
    settings, batch = config.Training(), MicroBatch((source, target, wanted), 3)
    optimizer = build_optimizer(model, settings)
    found = modules_of(lambda: take_update(objective, optimizer, [batch], settings, 1, ALONE))
    assert {"training/update.py", "training/loss.py", "attention/multi_head.py"} <= found
    assert len(found) <= MOST_IN_AN_UPDATE, sorted(found)
