"""A part of `python -m tests.fuzz` in every run of the tests; the whole takes minutes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
SHARES = {"model files": 0.05, "recipes": 0.15, "corpora": 0.05}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="forks, and reads /proc")
@pytest.mark.parametrize("area", SHARES)
def test_hostile_files_are_used_or_refused_in_words(area: str) -> None:
    words = [sys.executable, "-m", "tests.fuzz", "--area", area, "--share", str(SHARES[area])]
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr[-2_000:]
    tried, clear = map(int, done.stdout.splitlines()[-1].split(" · ")[1:3])
    assert clear == tried >= 30
