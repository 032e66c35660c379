"""What all verbs share: help, and what is said of a mistake."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import regard
from tests.commands.calling import ROOT, VERBS, fail, prepared, succeed


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


def test_quiet_leaves_the_answer_and_nothing_else(run: Path, tmp_path: Path) -> None:
    (tmp_path / "film.srt").write_text("x")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        loud = succeed("translate", run, "film.srt")
        quiet = succeed("translate", run, "film.srt", "--quiet")
    assert "there is a file of that name" in loud.err
    assert (quiet.out, quiet.err) == (loud.out, "")
    assert succeed("view", run, "Hallo.", "-o", tmp_path / "page.html", "-q").out == ""
    assert "no model at" in fail("translate", f"{run}s", "x", "--quiet")
    assert "give one of them" in fail("translate", run, "x", "--quiet", "--verbose")


def test_quiet_training_says_nothing(folder: Path, tmp_path: Path) -> None:
    few = (
        "--set",
        "training.updates=2",
        "--set",
        "training.validate_every=2",
        "--set",
        "training.warmup=1",
        *prepared(folder),
    )
    answer = succeed("train", folder / "toy.toml", "--run", tmp_path / "run", "--device", "cpu", "--quiet", *few)
    assert (answer.out, answer.err) == ("", "")
    assert (tmp_path / "run" / "model.safetensors").is_file()
    assert succeed("prepare", folder / "toy.toml", "--quiet", *prepared(folder)).out == ""
    assert "training.device must be one of" in fail("train", folder / "toy.toml", "--device", "gpu", *prepared(folder))


def test_quiet_lasts_for_one_command(run: Path, tmp_path: Path) -> None:
    assert succeed("view", run, "Hallo.", "-o", tmp_path / "page.html", "-q").out == ""
    assert "wrote" in succeed("view", run, "Hallo.", "-o", tmp_path / "page.html").out


@pytest.mark.parametrize(
    "words",
    [
        ("evaluate",),
        ("score", "x"),
        ("view", "x"),
        ("compare", "b"),
        ("align",),
        ("heads",),
        ("generate", "x"),
        ("paint", "x"),
    ],
)
def test_a_device_that_is_not_there_is_named(words: tuple[str, ...], run: Path, rhymes: Path) -> None:
    verb, *rest = words
    model = rhymes if verb in ("generate", "score") else run
    rest = [str(run) if word == "b" else word for word in rest]
    said = fail(verb, model, *rest, "--device", "abacus", stdin=b"a\tb\n")
    assert "cannot compute on the device 'abacus'" in said


def test_one_test_set_by_name(run: Path, folder: Path, moods: Path, rhymes: Path) -> None:
    for model in (run, moods, rhymes):
        every = json.loads(succeed("evaluate", model, "--json").out)
        (name, *_) = every
        assert [*json.loads(succeed("evaluate", model, "--json", "--test", name).out)] == [name]
        assert f"no test set 'tset'. There are: {', '.join(every)}" in fail(
            "evaluate", model, "--test", "tset"
        ).replace(f" Did you mean '{name}'?", "")
    files = ("--source", folder / "test.de", "--target", folder / "test.en")
    assert "--test is one of the recipe's test sets" in fail("evaluate", run, "--test", "test", *files)
    assert "--test is one of the recipe's test sets" in fail("heads", run, "--test", "test", *files)


def test_a_shell_can_complete() -> None:
    answers = {}
    for typed in ("regard tr", "regard evaluate demo --te", "regard translate de"):
        asked = {"_REGARD_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))}
        ended = subprocess.run(
            [sys.executable, "-c", "import sys; from regard.cli import main; sys.argv = ['regard']; main()"],
            cwd=ROOT, capture_output=True, text=True, check=False, env={**os.environ, **asked},
        )  # fmt: skip
        answers[typed] = ended.stdout.split()
    assert answers["regard tr"] == ["train", "translate"]
    assert answers["regard evaluate demo --te"] == ["--test"]
    assert "demo" in answers["regard translate de"]
