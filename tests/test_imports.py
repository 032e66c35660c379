"""Who may import whom: reads the imports of every module and holds them to the table of CONTRIBUTING.md."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "regard"

# A stage may import errors, config, itself, and what its row names: a whole stage or a single module.
EVERYONE = {"errors", "config", "files", "allocator", "notes", "run_log", "cancellation", "products"}
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "config": set(),
    "files": set(),
    "allocator": set(),
    "notes": set(),  # a logger
    "run_log": set(),
    "cancellation": set(),
    "products": set(),
    "documentation": set(),
    "data": set(),
    "bundled": {
        "__init__",
        "checkpoint",
        "tasks.trained",
        "tasks.text_to_image.painter",
        "tasks.translation.evaluation",
    },  # the scripts that made the files
    "attention": set(),
    "models": {"attention"},
    "checkpoint": set(),
    "training": {"checkpoint"},
    "decoding": set(),
    "evaluation": set(),
    "tasks": {
        "data",
        "models",
        "attention.changes",
        "attention.record",
        "training.loss",
        "training.consistency",
        "training.trainable",  # what a task hands the loop
        "checkpoint",
        "export",  # what else can decode
        "decoding",
        "evaluation",
        "view",
    },
    "view": {"attention.record"},
    "export": {
        "checkpoint",
        "models",
        "attention.layout",
        "attention.scaled_dot",
        "attention.multi_head",
        "data",
        "decoding",
        "tasks.task",
        "tasks.trained",
        "tasks.translation.native",
        "tasks.translation.warnings",  # which layer tells what was looked at
    },
    "serve": {"checkpoint", "tasks.registry", "tasks.task", "view"},  # it asks the rows, and knows no task
    "learn": {"view", "attention"},  # the course: its judges attend, its pages are pages
    "commands": {"plugins"},  # and the public names
}
# What single modules may import besides, by a pattern.
MODULES_MAY_IMPORT: dict[str, set[str]] = {
    "tasks.*.routes": {"serve"},  # a task's part of the service, which only the service imports, through the row
    "tasks.*.schemas": {"serve.schemas"},
    "tasks.*.task": {"serve.service", "serve.limits"},  # types only
}
MAY_IMPORT_ALL = {
    "__init__",
    "__main__",
    "plugins",
    "runs",
    "dry_runs",
    "cli",
    "experiments",
}
BY_TABLE = {
    "regard",
    "regard.cli",
    "regard.plugins",
    "regard.tasks.registry",
    "regard.attention",
    "regard.learn",
}  # these look up modules in a table
WITHOUT_TORCH = ("regard", "regard.attention", "regard.config", "regard.config.recipes", "regard.errors", "regard.cli")


class Import(NamedTuple):
    name: str  # dotted, as far down as a module exists
    line: int
    late: bool  # inside a function, or for the type checker only: importing the module does not run it


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def stage_of(module: str) -> str:
    """`regard.data.corpus` → `data`, `regard.cli` → `cli`, `regard` → `__init__`."""
    return module.split(".")[1] if "." in module else "__init__"


def imports_of(source: str, module: str, is_package: bool = False) -> Iterator[Import]:
    def walk(node: ast.AST, late: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                for alias in child.names:
                    yield Import(alias.name, child.lineno, late)
            elif isinstance(child, ast.ImportFrom):
                for alias in child.names:
                    yield Import(_target(child, alias.name, module, is_package), child.lineno, late)
            elif isinstance(child, ast.Call) and _is_import_call(child) and module not in BY_TABLE:
                assert isinstance(child.args[0], ast.Constant), (
                    f"{module}, line {child.lineno}: name the module plainly"
                )
                yield Import(str(child.args[0].value), child.lineno, late)
            elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                for statement in child.body:
                    yield from walk(ast.Module([statement], []), True)
                for statement in child.orelse:
                    yield from walk(ast.Module([statement], []), late)
                continue
            inside = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
            yield from walk(child, late or inside)

    yield from walk(ast.parse(source), False)


def _is_import_call(call: ast.Call) -> bool:
    return bool(call.args) and ast.unparse(call.func).split(".")[-1] in ("import_module", "__import__")


def _target(statement: ast.ImportFrom, name: str, module: str, is_package: bool) -> str:
    """`from regard.data import corpus` means the module corpus; `from regard.errors import DataError` means errors."""
    base = statement.module or ""
    if statement.level:
        parents = module.split(".")
        keep = len(parents) - statement.level + (1 if is_package else 0)
        base = ".".join(parents[:keep] + ([statement.module] if statement.module else []))
    return f"{base}.{name}" if f"{base}.{name}" in MODULES else base


def all_imports(module: str) -> list[Import]:
    path = MODULES[module]
    return list(imports_of(path.read_text(encoding="utf-8"), module, path.name == "__init__.py"))


def allowed(module: str, imported: str) -> bool:
    stage = stage_of(module)
    if imported == "regard":  # the name alone, such as its version; the package's own imports are late
        return True
    if stage in MAY_IMPORT_ALL:
        return True
    inside = imported.removeprefix("regard.")
    permitted = EVERYONE | {stage} | MAY_IMPORT.get(stage, set())
    for pattern, more in MODULES_MAY_IMPORT.items():
        if fnmatch(module.removeprefix("regard."), pattern):
            permitted |= more
    return any(inside == name or inside.startswith(f"{name}.") for name in permitted)


def needs_torch(module: str, visited: set[str] | None = None) -> str | None:
    """The chain of immediate imports by which importing this module imports torch, or None."""
    visited = set() if visited is None else visited
    if module in visited:
        return None
    visited.add(module)
    for each in all_imports(module):
        if each.late:
            continue
        if "torch" in each.name.split("."):  # torch, torch.nn, safetensors.torch
            return f"{module}, line {each.line}: {each.name}"
        if each.name in MODULES and (chain := needs_torch(each.name, visited)):
            return f"{module}, line {each.line} → {chain}"
    return None


def test_every_stage_has_a_row() -> None:
    stages = {stage_of(module) for module in MODULES}
    assert stages <= MAY_IMPORT.keys() | MAY_IMPORT_ALL


def test_modules_import_only_what_the_table_allows() -> None:
    broken = [
        f"{module}, line {each.line} imports {each.name}"
        for module in MODULES
        for each in all_imports(module)
        if each.name.split(".")[0] == "regard" and not allowed(module, each.name)
    ]
    assert not broken, "\n".join(["not in the table of who may import whom:", *broken])


def test_stage_inits_are_empty() -> None:
    gathers = {
        PACKAGE,
        PACKAGE / "config",
        PACKAGE / "attention",
        PACKAGE / "learn",
    }  # which people import from by their own names
    full = [str(path.relative_to(ROOT)) for path in PACKAGE.rglob("__init__.py")
            if path.parent not in gathers and path.read_text(encoding="utf-8").strip()]  # fmt: skip
    assert not full, f"stage __init__ files stay empty: {', '.join(full)}"


@pytest.mark.parametrize("module", WITHOUT_TORCH)
def test_no_torch_at_top_level(module: str) -> None:
    assert module in MODULES, f"{module} does not exist"
    assert (chain := needs_torch(module)) is None, chain


@pytest.mark.parametrize("module", WITHOUT_TORCH)
def test_importing_does_not_load_torch(module: str) -> None:
    program = f"import {module}, sys; assert 'torch' not in sys.modules"
    result = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_one_file_knows_of_other_processes() -> None:
    words = ("RANK", "WORLD_SIZE", "torch.distributed")
    knowing = {
        name for name, path in MODULES.items() if any(word in path.read_text(encoding="utf-8") for word in words)
    }
    assert knowing == {"regard.training.distributed"}


SAMPLE = """
from typing import TYPE_CHECKING
import torch.nn as nn
from regard import config
from regard.data import corpus
from . import sibling
from ..errors import DataError
if TYPE_CHECKING:
    from regard.models import transformer
def later():
    from regard.data.corpus import locate
    import_module("regard.cli")
class Model:
    import safetensors.torch
"""


def test_the_reader_sees_every_form_of_import() -> None:
    seen = {(each.name, each.late) for each in imports_of(SAMPLE, "regard.data.corpus")}
    assert seen == {
        ("typing", False), ("torch.nn", False), ("regard.config", False), ("regard.data.corpus", False),
        ("regard.data", False), ("regard.errors", False), ("regard.models.transformer", True), ("regard.data.corpus", True),
        ("regard.cli", True), ("safetensors.torch", False),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("module", "imported", "fine"),
    [
        ("regard.data.corpus", "regard.errors", True),
        ("regard.data.corpus", "regard.data.ids", True),
        ("regard.data.corpus", "regard.models.transformer", False),
        ("regard.checkpoint", "regard.config.recipes", True),
        ("regard.checkpoint", "regard.tasks.registry", False),
        ("regard.tasks.translation.training", "regard.training.loss", True),
        ("regard.tasks.translation.training", "regard.training.loop", False),
        ("regard.decoding.candidates", "regard.models.transformer", False),
        ("regard.tasks.translation.page", "regard.attention.record", True),
        ("regard.tasks.translation.page", "regard.attention.masks", False),
        ("regard.config", "regard.data.corpus", False),
        ("regard.serve.app", "regard.tasks.registry", True),
        ("regard.serve.app", "regard.tasks.translation.page", False),
        ("regard.tasks.translation.routes", "regard.serve.service", True),
        ("regard.tasks.translation.page", "regard.serve.service", False),
        ("regard.cli", "regard.training.loop", True),
    ],
)
def test_the_table_is_read_as_written(module: str, imported: str, fine: bool) -> None:
    assert allowed(module, imported) is fine
