"""What `import regard` offers: the names, and that the command line needs no more than them."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import regard
from regard.config import TASKS
from regard.errors import UsageError
from regard.tasks.registry import all_tasks, forget_task, register_task
from regard.tasks.task import Task

ROOT = Path(__file__).parent.parent
COMMANDS = sorted((ROOT / "regard" / "commands").glob("*.py"))
MAY_IMPORT = ("regard.errors", "regard.files", "regard.config", "regard.commands", "regard.notes", "regard.plugins")


def test_public_names() -> None:
    assert set(regard.__all__) <= set(dir(regard))
    assert all(getattr(regard, name).__module__.startswith("regard") for name in regard.__all__)
    assert {*regard._PLACE, "RegardError"} == set(regard.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Translater'"):
        regard.Translater  # noqa: B018


def test_a_verb_is_not_hidden_by_the_stage_of_its_name() -> None:
    """Whoever imports first, the name is the package, which can be called."""
    program = """
import inspect
import sys
from importlib import import_module
import regard
for name in regard._STAGES:
    verb = getattr(regard, name)
    assert callable(verb), verb
    stage = import_module(f"regard.{name}")
    assert verb is stage is getattr(regard, name) is sys.modules[f"regard.{name}"]
    assert inspect.signature(verb) == inspect.signature(regard._find(name))
"""
    ended = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    for name in regard._STAGES:
        assert inspect.signature(getattr(regard, name)) == inspect.signature(regard._find(name))


@pytest.mark.slow
def test_importing_the_stage_first_leaves_the_verb() -> None:
    program = "import regard.view.words, regard; assert callable(regard.view); regard.view('demo', 'Ja.').to_dict()"
    ended = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr


# The command line is a thin skin


@pytest.mark.parametrize("path", COMMANDS, ids=lambda path: path.name)
def test_a_verb_needs_only_what_is_public(path: Path) -> None:
    allowed = MAY_IMPORT
    if path.name == "train.py":
        allowed = (*MAY_IMPORT, "regard.runs")  # until training is public too
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: name the module whole"
            names = [node.module or ""]
        else:
            continue
        for name in names:
            if name.split(".")[0] == "regard" and name != "regard":
                assert any(name == each or name.startswith(f"{each}.") for each in allowed), (
                    f"line {node.lineno}: {name}"
                )


@pytest.mark.parametrize("path", COMMANDS, ids=lambda path: path.name)
def test_a_verb_takes_only_public_names(path: Path) -> None:
    """`regard.x` is a public name, never a way into a stage."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "regard":
            assert node.attr in regard.__all__, f"line {node.lineno}: regard.{node.attr}"
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute):
            stage = node.value
            reached = isinstance(stage.value, ast.Name) and stage.value.id == "regard"
            assert not reached, f"line {node.lineno}: regard.{stage.attr}.{node.attr} reaches into a stage"


@pytest.mark.parametrize("path", COMMANDS, ids=lambda path: path.name)
def test_a_verb_never_asks_which_task_it_is(path: Path) -> None:
    names = {name for each in TASKS.values() for name in (each.name, *each.aliases)}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Compare | ast.match_case | ast.Dict | ast.Set):
            words = {each.value for each in ast.walk(node) if isinstance(each, ast.Constant)}
            assert not words & names, f"{path.name}: compares with {sorted(words & names)}"


def test_every_verb_has_its_file_and_its_tests() -> None:
    from regard import cli

    verbs = [command.callback.__name__ for command in cli.load_verbs().registered_commands if command.callback]
    files = {path.stem for path in COMMANDS} - {"__init__", "app"}
    assert files == {*verbs, "bench", "learn", "recipes"}
    for name in (*files, "app"):
        assert (ROOT / "tests" / "commands" / f"test_{name}.py").is_file(), f"tests/commands/test_{name}.py is missing"
    assert verbs == [
        "quickstart", "prepare", "train", "translate", "classify", "recognize", "generate", "paint", "evaluate", "compare", "score",
        "view", "curve", "align", "heads", "embed", "neighbours", "serve", "export", "race", "ablate", "docs",
    ]  # fmt: skip


# Options of one task


def test_an_unknown_task_is_refused_with_a_hint() -> None:
    assert isinstance(regard.load("demo", task="translation"), regard.Translator)
    assert isinstance(regard.load("demo", task="translate"), regard.Translator)
    with pytest.raises(
        UsageError, match=r"unknown task 'translaton'\. Did you mean 'translation'\? Known: translation"
    ):
        regard.load("demo", task="translaton")
    with pytest.raises(UsageError, match="demo cannot classify: its task is 'translation'"):
        regard.load("demo", task="text-classification")


def test_options_of_other_tasks_are_refused_as_python_spells_them() -> None:
    with pytest.raises(
        UsageError, match=r"^`stride` is of the task 'text-generation'; the task of demo is 'translation'"
    ):
        regard.evaluate("demo", stride=3)
    with pytest.raises(UsageError, match=r"^`file` is of the task 'text-classification' or 'text-generation'"):
        regard.evaluate("demo", file="x")
    with pytest.raises(UsageError, match=r"^there is no option `biam`. Did you mean 'beam'?"):
        regard.view("demo", "Ja.", biam=3)
    with pytest.raises(UsageError, match=r"^there is no option `shortlst`. Did you mean 'shortlist'?"):
        regard.load("demo", shortlst=True)
    with pytest.raises(UsageError, match=r"^`source` and `target` go together"):
        regard.evaluate("demo", source="x")
    with pytest.raises(
        UsageError, match=r"^`shortlist` is of the native engine; leave it out, or `engine` ctranslate2"
    ):
        regard.load("demo", engine="ctranslate2", shortlist=True)


def test_what_is_assumed_anyway_is_not_refused() -> None:
    """Whoever passes on all options has not asked for those of other tasks."""
    assert regard.view("demo", "Ja.", beam=None).to_dict()["scenes"]
    assert list(regard.score("demo", [("Ja.", "Yes.")], source=None))


@pytest.mark.parametrize("row", all_tasks(), ids=lambda row: row.name)
def test_a_row_states_its_options(row: Task) -> None:
    """As keywords with what is assumed: that is how options of other tasks are known."""
    for door in ("load", "evaluate", "score", "view", "export"):
        if getattr(row, door) is None:
            continue
        assert inspect.Parameter.empty not in row.options(door).values()
        kinds = [each.kind for each in inspect.signature(getattr(row, door)).parameters.values()]
        assert inspect.Parameter.VAR_KEYWORD not in kinds
    assert set(row.settings.text_options) <= set(row.options("evaluate"))


def test_a_task_from_outside_that_cannot_be_evaluated(monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    row = all_tasks()[0]
    other = replace(row, settings=replace(row.settings, name="other", aliases=()), evaluate=None, view=None)
    register_task(other)
    try:
        monkeypatch.setattr("regard.checkpoint.task_of", lambda model: "other")
        with pytest.raises(UsageError, match="there is no `evaluate` for models of the task 'other', such as demo"):
            regard.evaluate("demo")
        with pytest.raises(UsageError, match="there is no `view`"):
            regard.view("demo", "Ja.")
    finally:
        forget_task("other")


# What comes back


def test_pairs_or_lines_are_scored() -> None:
    pairs = [("Ja.", "Yes."), ("Nein.", "No.")]
    found = list(regard.score("demo", pairs))
    assert [str(each) for each in found] == [str(each) for each in regard.score("demo", ["Ja.\tYes.", "Nein.\tNo."])]
    assert found[0].to_dict()["log_probability"] == found[0].log_probability < 0
    with pytest.raises(UsageError, match="scored with its source"):
        regard.score("demo", ["Ja."])
    with pytest.raises(UsageError, match="give pairs of texts, or files by `source` and `target`"):
        regard.score("demo")
    with pytest.raises(regard.RegardError, match="the pairs, line 2 has 1 tab-separated columns"):
        list(regard.score("demo", iter(["Ja.\tYes.", "Nein."])))


def test_an_evaluation_by_name(tmp_path: Path) -> None:
    (tmp_path / "in.de").write_text("Ja.\nNein.\n", encoding="utf-8")
    (tmp_path / "in.en").write_text("Yes.\nNo.\n", encoding="utf-8")
    told: list[str] = []
    found = regard.evaluate(
        "demo", source=tmp_path / "in.de", target=tmp_path / "in.en", output=tmp_path / "out",
        on_result=lambda result: told.append(result.name),
    )  # fmt: skip
    assert told == ["in.de"]
    assert [each["name"] for each in found["in.de"].stored()] == ["BLEU", "chrF2", "TER"]
    assert found.to_dict() == {"in.de": {"scores": found["in.de"].stored(), "sentences": 2}}
    assert found.lines()[0] == "in.de (2 sentences)"
    assert (tmp_path / "out" / "in.de.txt").read_text(encoding="utf-8").count("\n") == 2


def test_a_look_is_written_where_it_should(tmp_path: Path) -> None:
    regard.view("demo", "Ja.", output=tmp_path / "page.html")
    assert "Ja." in (tmp_path / "page.html").read_text(encoding="utf-8")
    with pytest.raises(UsageError, match=r"should end in \.html"):
        regard.view("demo", "Ja.", output=tmp_path / "page.png")


def test_the_reference_lists_all_that_is_public() -> None:
    text = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    missing = [name for name in regard.__all__ if f"`{name}`" not in text and f"`regard.{name}(" not in text]
    assert not missing, f"docs/python.md does not tell of {', '.join(missing)}"
    for name in regard.__all__:
        found = importlib.import_module(f"regard.{regard._PLACE[name]}") if name in regard._PLACE else None
        if found is not None and name[0].islower():
            parameters = inspect.signature(vars(found)[name]).parameters.values()
            told = next((line for line in text.splitlines() if line.startswith(f"### `regard.{name}(")), "")
            assert told, f"docs/python.md has no heading with the signature of regard.{name}"
            untold = [each.name for each in parameters if each.name not in re.findall(r"\w+", told)]
            assert not untold, f"the signature of regard.{name} in docs/python.md lacks {', '.join(untold)}"
