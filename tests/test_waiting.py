"""Threads wait politely before torch is imported, unless somebody has said how they should."""

from __future__ import annotations

import os
import subprocess
import sys
from ast import literal_eval
from pathlib import Path

import pytest

from regard.waiting import CHOSEN, POLITE

ROOT = Path(__file__).parent.parent
TELL = "import os; print({name: os.environ.get(name) for name in " + repr(CHOSEN) + "})"


def told(program: str, **variables: str) -> dict[str, str | None]:
    environment = {name: value for name, value in os.environ.items() if name not in CHOSEN} | variables
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    found: dict[str, str | None] = literal_eval(done.stdout.splitlines()[-1])
    return found


def test_before_anything_of_the_package_is_used() -> None:
    assert told(f"import regard; regard.read_lines; {TELL}") == {"OMP_WAIT_POLICY": None, **POLITE}


def test_the_command_line_does_it() -> None:
    program = f"""
import sys
from regard.cli import main
sys.argv = ["regard", "--version"]
try:
    main()
except SystemExit:
    pass
{TELL}
"""
    assert told(program) == {"OMP_WAIT_POLICY": None, **POLITE}


def test_importing_alone_touches_nothing() -> None:
    assert set(told(f"import regard; {TELL}").values()) == {None}


@pytest.mark.parametrize("name", CHOSEN)
def test_what_somebody_has_set_stays(name: str) -> None:
    found = told(f"import regard; regard.read_lines; {TELL}", **{name: "active"})
    assert found == {**dict.fromkeys(CHOSEN), name: "active"}
