"""What the verbs share: the app, the arguments that mean the same everywhere, and standard input."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from rich.console import Console

from regard.errors import UsageError
from regard.plugins import load_plugins

if TYPE_CHECKING:
    from regard import Translator

F = TypeVar("F", bound=Callable[..., Any])

PluginFiles = Annotated[
    list[Path],
    typer.Option(
        "--plugin", envvar="REGARD_PLUGINS", metavar="FILE", help="Python that registers an architecture. Repeatable."
    ),
]


class Verbs(typer.Typer):
    """An app whose every verb takes `--plugin`, and imports what it names before anything else."""

    def command(self, *given: Any, **options: Any) -> Callable[[F], F]:
        register = super().command(*given, **options)

        def add(verb: F) -> F:
            @wraps(verb)
            def with_plugins(*, plugin: list[Path], **arguments: Any) -> Any:
                if plugin:
                    load_plugins(plugin)
                return verb(**arguments)

            shown = signature(verb, eval_str=True)  # typer would look for their names in this file
            option = Parameter("plugin", Parameter.KEYWORD_ONLY, default=[], annotation=PluginFiles)
            named = [each.replace(kind=Parameter.KEYWORD_ONLY) for each in shown.parameters.values()]
            with_plugins.__signature__ = shown.replace(parameters=[*named, option])  # type: ignore[attr-defined]
            with_plugins.__annotations__ = {each.name: each.annotation for each in (*named, option)}
            register(with_plugins)
            return verb

        return add


app = Verbs(
    help="Train attention models from your own data, see through them, and put them to work.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Try it: `regard translate demo 'Ich habe Hunger.'`  Train: `regard quickstart`",
)

RecipePath = Annotated[
    Path, typer.Argument(metavar="RECIPE", help="A TOML file; see recipes/. `bundled:NAME` comes with regard.")
]
ModelName = Annotated[str, typer.Argument(metavar="MODEL", help="A run folder, a model file, or `demo`.")]
DataFolder = Annotated[
    Path | None, typer.Option("--data", envvar="REGARD_DATA", metavar="DIR", help="Where the recipe's files are.")
]
Overrides = Annotated[
    list[str], typer.Option("--set", metavar="KEY=VALUE", help="Override a setting, such as model.heads=4. Repeatable.")
]
Beam = Annotated[int | None, typer.Option(min=1, help="Hypotheses kept side by side; 1 is greedy. [recipe's]")]
EngineName = Annotated[
    str, typer.Option("--engine", metavar="NAME", help="What decodes: native, ctranslate2, or auto.")
]
Int8 = Annotated[bool, typer.Option("--int8", help="Compute in 8 bits: faster on a CPU, hardly worse.")]
Shortlist = Annotated[
    bool, typer.Option("--shortlist", help="Look only for pieces that translate the sentence's own: faster.")
]
Worker = Annotated[
    int, typer.Option("--workers", min=0, help="Processes that share many sentences; 0: one for each core.")
]
Json = Annotated[bool, typer.Option("--json", help="Write JSON.")]
SourceFile = Annotated[Path | None, typer.Option("--source", metavar="FILE", help="Source sentences, one per line.")]
TargetFile = Annotated[Path | None, typer.Option("--target", metavar="FILE", help="Their references, line-aligned.")]
errors = Console(stderr=True)

OF_TASKS: dict[str, tuple[str, ...]] = {
    "--source": ("translation",), "--target": ("translation",), "--beam": ("translation",), "--paper": ("translation",),
    "--engine": ("translation",), "--int8": ("translation",), "--shortlist": ("translation",), "--workers": ("translation",),
    "--output": ("translation", "text-classification"),
    "--file": ("text-classification", "text-generation"),
    "--stride": ("text-generation",),
}  # fmt: skip
"""Which tasks understand an option, of those that not all do."""


def refuse_foreign(model: str, task: str, given: Mapping[str, object]) -> None:
    """Options that were given, though only models of other tasks understand them, are said rather than ignored."""
    for name, value in given.items():
        if value and task not in OF_TASKS[name]:
            raise UsageError(
                f"{name} is of the task {' or '.join(map(repr, OF_TASKS[name]))}; the task of {model} is {task!r}"
            )


def standard_input() -> Iterator[str]:
    """Lines of standard input; only a line feed ends one, as in every file that regard reads."""
    if sys.stdin.isatty():
        errors.print("regard: reading lines from the keyboard; end with Ctrl-D", highlight=False)
    from regard.data.corpus import decode_lines

    return decode_lines(sys.stdin.buffer, "standard input")


def load_for_many(
    model: str, engine: str, int8: bool, shortlist: bool, workers: int, device: str = "cpu"
) -> Translator:
    """A model for sentences, with a word of what its engine has to say; `workers` 0: on a CPU one process for each core."""
    import regard
    from regard.allocator import keep_memory
    from regard.tasks.translation.workers import cores

    keep_memory()
    workers = 1 if device != "cpu" else workers or cores()
    translator = regard.load(
        model, device, task="translation", engine=engine, int8=int8, shortlist=shortlist, workers=workers
    )
    if notice := getattr(translator.engine, "notice", ""):
        errors.print(f"regard: {notice}", highlight=False, soft_wrap=True)
    return translator
