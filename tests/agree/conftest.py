"""Two ways that must agree are compared in double precision, where no rounding decides between nearly equal tokens."""

from __future__ import annotations

import pytest

from regard.tasks.translation.translator import Translator


@pytest.fixture(scope="session")
def tiny_translator(exact_translator: Translator) -> Translator:
    return exact_translator
