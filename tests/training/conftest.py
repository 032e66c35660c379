"""The toy recipe, prepared once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from tests.training.toy import write_corpus


@pytest.fixture(scope="session")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    """Training sets the number of threads for the whole process."""
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)
