"""What all verbs share: help, and what is said of a mistake."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import regard
from tests.commands.calling import ROOT, VERBS, fail, succeed


@pytest.mark.parametrize("verb", VERBS)
def test_help_shows_an_example(verb: str) -> None:
    answer = succeed(verb, "--help")
    example = re.search(rf"Examples?: .*regard {verb}\b", answer.out)
    assert example, answer.out
    assert succeed(verb, "-h").out == answer.out


def test_help_names_every_verb() -> None:
    out = succeed("--help").out
    assert all(re.search(rf"│ {verb}\b", out) for verb in VERBS)
    assert succeed("--version").out == f"regard {regard.__version__}\n"


def test_help_does_not_wait_for_torch() -> None:
    program = f"""
import sys
from regard.cli import main
for verb in {["--version", *VERBS]}:
    sys.argv = ["regard", verb] if verb[0] == "-" else ["regard", verb, "--help"]
    try:
        main()
    except SystemExit as left:
        assert not left.code, verb
    assert "torch" not in sys.modules, verb
"""
    ended = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr


def test_an_unknown_verb_or_option_is_named() -> None:
    assert "translat" in fail("translat")
    assert "--beem" in fail("translate", "x", "--beem", 3)


@pytest.mark.parametrize("verb", ["translate", "evaluate", "score", "view"])
def test_an_unknown_model_suggests_a_neighbour(verb: str, run: Path) -> None:
    wrong = f"{run}s"
    said = fail(verb, wrong, *(["x"] if verb == "view" else []))
    assert said == f"regard: no model at {wrong}. Did you mean '{run}'?\n"
