"""What the verbs share: the app, the arguments that mean the same everywhere, standard input, and how notes are told."""

from __future__ import annotations

import json
import logging
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from inspect import Parameter, signature
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from typer.core import TyperCommand

import regard
from regard.config.shipped import shipped_recipes
from regard.config.stored import BUNDLED, names_model
from regard.errors import UsageError
from regard.files import about_file, is_file
from regard.notes import be_quiet, is_quiet
from regard.plugins import load_plugins

if TYPE_CHECKING:
    import click

T = TypeVar("T")

F = TypeVar("F", bound=Callable[..., Any])

PluginFiles = Annotated[
    list[Path],
    typer.Option(
        "--plugin", envvar="REGARD_PLUGINS", metavar="FILE", help="Python that registers an architecture. Repeatable."
    ),
]


Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Only answers and errors: no notes, no progress bar, no report.")
]


class Verb(TyperCommand):
    """Where texts are arguments, one that begins with a hyphen is taken for an option: the message tells what to do."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            texts = any(each.param_type_name == "argument" and each.nargs == -1 for each in self.params)
            if texts and hasattr(error, "option_name") and isinstance(message := getattr(error, "message", None), str):
                error.message = f"{message}. A text that begins with - is written behind --"  # type: ignore[attr-defined]
            raise


class Verbs(typer.Typer):
    """An app whose every verb takes `--quiet` and `--plugin`, and imports what the latter names before anything else."""

    def command(self, *given: Any, **options: Any) -> Callable[[F], F]:
        register = super().command(*given, cls=Verb, **options)

        def add(verb: F) -> F:
            @wraps(verb)
            def with_plugins(*, quiet: bool, plugin: list[Path], **arguments: Any) -> Any:
                if quiet and arguments.get("verbose"):
                    raise UsageError("--quiet says less and --verbose more: give one of them")
                be_quiet(quiet)
                if plugin:
                    load_plugins(plugin)
                return verb(**arguments)

            shown = signature(verb, eval_str=True)  # typer would look for their names in this file
            own = [
                Parameter("quiet", Parameter.KEYWORD_ONLY, default=False, annotation=Quiet),
                Parameter("plugin", Parameter.KEYWORD_ONLY, default=[], annotation=PluginFiles),
            ]
            named = [each.replace(kind=Parameter.KEYWORD_ONLY) for each in shown.parameters.values()]
            with_plugins.__signature__ = shown.replace(parameters=[*named, *own])  # type: ignore[attr-defined]
            with_plugins.__annotations__ = {each.name: each.annotation for each in (*named, *own)}
            register(with_plugins)
            return verb

        return add


app = Verbs(
    help="Train attention models from your own data, see through them, and put them to work.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Try it: `regard translate demo 'Ich habe Hunger.'`  Train: `regard quickstart`",
)


def recipe_names(incomplete: str) -> list[tuple[str, str]]:
    """For the Tab key."""
    return [(name, each.about) for name, each in shipped_recipes().items() if name.startswith(incomplete)]


RecipePath = Annotated[
    Path,
    typer.Argument(
        metavar="RECIPE",
        help="A TOML file, or the name of one that comes with regard: see `regard recipes`.",
        autocompletion=recipe_names,
    ),
]


def bundled_models(incomplete: str) -> list[str]:
    """For the Tab key; a shell completes names of files and folders by itself where this finds nothing."""
    return [name for name in BUNDLED if name.startswith(incomplete)]


ModelName = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="A run folder, a model file, or a bundled one such as `demo`.",
        autocompletion=bundled_models,
    ),
]
FirstModel = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="A run folder, a model file, or a bundled one such as `demo`; more of them answer together.",
        autocompletion=bundled_models,
    ),
]
Models = Annotated[
    list[str],
    typer.Argument(
        metavar="MODEL",
        help="Run folders, model files, or bundled ones such as `demo`; several answer together.",
        autocompletion=bundled_models,
    ),
]
TestFile = Annotated[
    Path | None, typer.Option("--file", metavar="FILE", help="Not the recipe's: labelled text, or plain.")
]
DataFolder = Annotated[
    Path | None, typer.Option("--data", envvar="REGARD_DATA", metavar="DIR", help="Where the recipe's files are.")
]
Overrides = Annotated[
    list[str], typer.Option("--set", metavar="KEY=VALUE", help="Override a setting, such as model.heads=4. Repeatable.")
]
To = Annotated[
    str | None,
    typer.Option(metavar="LANGUAGE", help="Of a model with several: into which. [as the text's letters tell]"),
]
Beam = Annotated[int | None, typer.Option(min=1, help="Hypotheses kept side by side; 1 is greedy. [recipe's]")]
EngineName = Annotated[
    str,
    typer.Option(
        "--engine", metavar="NAME", help="What decodes: native, ctranslate2, or auto: the latter where it can."
    ),
]
Int8 = Annotated[bool, typer.Option("--int8", help="Compute in 8 bits: faster on a CPU, hardly worse.")]
Shortlist = Annotated[
    bool,
    typer.Option(
        "--shortlist", help="Consider only frequent tokens and likely translations of the source's tokens: faster."
    ),
]
Worker = Annotated[
    int, typer.Option("--workers", min=0, help="Processes that share many sentences; 0: one for each core.")
]
Protect = Annotated[
    bool | None,
    typer.Option(
        "--protect/--no-protect",
        help="Keep numbers, times, addresses and tags as they are. [where the model was trained for it]",
    ),
]
Truecase = Annotated[
    bool,
    typer.Option(
        "--truecase/--no-truecase",
        help="Read what is all in capitals, or all in small letters, in the case that the model knows.",
    ),
]
Split = Annotated[
    bool,
    typer.Option("--split/--no-split", help="Translate a text sentence by sentence, or whole if it is not too long."),
]
Device = Annotated[str, typer.Option(metavar="NAME", help="What computes: cpu or cuda.")]
TrainingDevice = Annotated[
    str | None, typer.Option("--device", metavar="NAME", help="As --set training.device: auto, cpu or cuda.")
]
TestName = Annotated[str | None, typer.Option("--test", metavar="NAME", help="Only this test set. [all]")]
Json = Annotated[bool, typer.Option("--json", help="Write JSON.")]


def tell_more(wanted: bool) -> bool:
    """Notes of what is usually left unsaid."""
    notes.setLevel(logging.DEBUG if wanted else logging.INFO)
    return wanted


Verbose = Annotated[
    bool, typer.Option("--verbose", callback=tell_more, help="Also say which engine decodes, and why.", is_eager=True)
]
SourceFile = Annotated[Path | None, typer.Option("--source", metavar="FILE", help="Source sentences, one per line.")]
TargetFile = Annotated[Path | None, typer.Option("--target", metavar="FILE", help="Their references, line-aligned.")]
errors = Console(stderr=True)


def standard_input() -> Iterator[str]:
    """Lines of standard input; only a line feed ends one, as in every file that regard reads."""
    if sys.stdin.isatty():
        say("regard: reading lines from the keyboard; end with Ctrl-D")
    return regard.read_lines(sys.stdin.buffer, "standard input")


def counted(answers: Iterable[T], description: str, total: int | None = None) -> Iterator[T]:
    """The answers, with a progress bar for whoever watches while they go into a file."""
    bar = Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), console=errors,
        disable=is_quiet() or sys.stdout.isatty() or not sys.stderr.isatty(),
    )  # fmt: skip
    with bar:
        yield from bar.track(answers, total=total, description=description)


def report(text: str) -> None:
    """What came of it, on standard output; the answer itself is elsewhere, in a file or folder."""
    if not is_quiet():
        print(text)


def with_device(overrides: list[str], device: str | None) -> list[str]:
    """--device is --set training.device, and the last word."""
    return overrides if device is None else [*overrides, f"training.device={device}"]


def command_line() -> str:
    """What was typed, to be typed again."""
    return shlex.join(["regard", *sys.argv[1:]])


def print_json(content: Any) -> None:
    """For one object that is the whole output."""
    print(json.dumps(content, ensure_ascii=False, indent=1))


def say(message: str) -> None:
    """To people, not into the output."""
    if not is_quiet():
        errors.print(message, highlight=False, markup=False, soft_wrap=True)


def note_files(texts: Iterable[str]) -> None:
    """A text that is the name of a file is read as text all the same; whoever meant the file is told how."""
    for text in texts:
        if meant := about_file(text):
            say(f"regard: {meant}" + (f"; for its lines: < {shlex.quote(text)}" if is_file(text) else ""))


def models_and_texts(model: str, arguments: Iterable[str] | None) -> tuple[list[str], list[str]]:
    """What was typed after a verb: models as long as each is the name of one, then texts."""
    given = list(arguments or ())
    more = list(takewhile(lambda each: names_model(each, beside=model), given))
    if more:
        say(f"regard: {len(more) + 1} models answer together: {', '.join([model, *more])}")
    note_files(given[len(more) :])
    return [model, *more], given[len(more) :]


def as_typed(message: str) -> str:
    """A message of the package as the command line spells it: `max_ratio` is --max-ratio, if the verb has such an option."""
    options = {name: option for option in _options_of_verb() for name in option.opts if name.startswith("--")}

    def spelled(found: re.Match[str]) -> str:
        name = f"--{found[1].replace('_', '-')}"
        if name not in options:
            return found[0]
        variable = options[name].envvar
        return f"{name} {options[name].metavar} or {variable}={options[name].metavar}" if variable else name

    return re.sub(r"`(\w+)`", spelled, message)


def _options_of_verb() -> list[click.Option]:
    command: Any = typer.main.get_command(app)
    for word in sys.argv[1:]:
        if word not in getattr(command, "commands", {}):
            break
        command = command.commands[word]
    return [each for each in command.params if each.param_type_name == "option"]


class Notes(logging.Handler):
    """What the package has to say besides its answers goes to stderr."""

    def emit(self, record: logging.LogRecord) -> None:
        say(f"regard: {as_typed(record.getMessage())}")


notes = logging.getLogger("regard.notes")
notes.setLevel(logging.INFO)
notes.addHandler(Notes())
notes.propagate = False
