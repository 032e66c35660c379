"""What is shown is what is computed without showing; compared in double precision, where no rounding decides a token."""

from __future__ import annotations

import pytest

from regard.tasks.translation.translator import Translator


@pytest.fixture(scope="session")
def tiny_translator(exact_translator: Translator) -> Translator:
    return exact_translator
