"""`regard VERB`: the entry point. The verbs are in commands/; a verb is imported only when it is asked for, a stage only when
its verb runs, so that help is instant.
"""

from __future__ import annotations

import atexit
import gc
import io
import os
import signal
import sys
import threading
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated

import typer

from regard import __version__
from regard.allocator import keep_memory
from regard.commands.app import app, as_typed, errors
from regard.errors import RegardError, visible

# In the order that help lists them; importing its file gives the app a verb, or a group of them.
VERBS = (
    "quickstart", "prepare", "train", "translate", "classify", "recognize", "generate", "paint", "evaluate", "compare", "score",
    "view", "curve", "align", "heads", "embed", "neighbours", "serve", "export", "race", "ablate", "docs",
)  # fmt: skip
GROUPS = ("bench", "learn", "recipes")
SELDOM = 50_000  # new objects until those that hold each other are looked for; Python's own 700 are for programs that import less


def load_verbs(words: Sequence[str] = ()) -> typer.Typer:
    """The app with the verb that these words begin with, or with all where they begin with none."""
    for verb in words[:1] if words and words[0] in (*VERBS, *GROUPS) else (*VERBS, *GROUPS):
        import_module(f"regard.commands.{verb}")
    app.registered_commands.sort(key=lambda command: VERBS.index(getattr(command.callback, "__name__", "")))
    return app


def main() -> None:
    """The entry point: mistakes become one message and exit code 2, Ctrl-C 130, a closed pipe 1 and silence."""
    _collect_seldom()
    _hear_interrupts()
    os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")  # before torch: large pages, some 5 % of a training step
    keep_memory()
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Like the input, whatever the terminal claims; half a surrogate pair, which an argument may hold, becomes "?".
        sys.stdout.reconfigure(encoding="utf-8", errors="replace")
    try:
        try:
            load_verbs(sys.argv[1:])()
        finally:
            sys.stdout.flush()  # now rather than at exit, when nobody could catch a closed pipe
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # keeps Python from complaining at exit
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
    except (RegardError, OSError) as error:  # the system's own words name the file and what is wrong with it
        if not getattr(error, "told", False):
            message = visible(f"regard: {as_typed(str(error))}")
            errors.print(message, style="red", highlight=False, markup=False, soft_wrap=True)
        sys.exit(2)


def _collect_seldom() -> None:
    """Modules are no garbage: to look through them while they are imported, and again when the process ends and the system takes
    everything back, took a quarter of the time in which one sentence is translated."""
    gc.set_threshold(SELDOM)
    atexit.unregister(gc.freeze)
    atexit.register(gc.freeze)


def _hear_interrupts() -> None:
    """Where SIGINT is inherited as ignored, as by a script's jobs in the background, Python leaves it so: kill -INT too."""
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@app.callback(invoke_without_command=True)
def about(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        print(f"regard {__version__}")
        raise typer.Exit
