"""Files of a person's own that register architectures: `--plugin FILE`, or REGARD_PLUGINS in the environment.

A plug-in is an ordinary module, imported by its own name from its own folder. So processes that are started afresh, which
inherit where Python looks for modules, find its classes when they are sent settings or a model of them. Which files
these are only a person says: a recipe or a model file can name an architecture, but no code.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

from regard.errors import UsageError


def load_plugins(files: Iterable[str | Path]) -> None:
    """Import each, once."""
    for file in files:
        load_plugin(Path(file))


def load_plugin(file: Path) -> None:
    file = file.resolve()
    if not file.is_file() or file.suffix != ".py":
        raise UsageError(f"no plug-in at {file}: it is a Python file that registers an architecture")
    if str(file.parent) not in sys.path:
        sys.path.append(str(file.parent))  # last: what lies beside a plug-in hides no other module
    try:
        module = import_module(file.stem)
    except UsageError as error:
        raise UsageError(f"the plug-in {file}: {error}") from None
    except Exception as error:
        raise UsageError(f"the plug-in {file} cannot be imported: {type(error).__name__}: {error}") from error
    found = getattr(module, "__file__", None)
    if found is None or Path(found).resolve() != file:
        raise UsageError(f"a module is called {file.stem!r} already ({found or 'built in'}); rename the plug-in {file}")
