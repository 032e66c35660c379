"""What can go wrong for a user, as one small tree. Each message says what, where, and what to do.

RegardError           a ValueError too, for who catches what Python itself would have raised
├── ConfigError       a recipe or an override is wrong; all mistakes at once
├── DataError         a file is missing, empty, malformed or disagrees with its partner
├── CheckpointError   a model file cannot be read or written, or a run does not fit its recipe
│   └── DamagedError      it is gone, or not as it was written
├── TrainingError     the loss is not a number
├── ProcessError      another process of the same training failed or fell silent
├── Cancelled         work that was called off; see cancellation.py
└── UsageError        a call or a command that cannot mean anything
"""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterable
from numbers import Integral


class RegardError(ValueError):
    """The parent of every error that a user can mend; the command line prints it without a traceback."""

    told = False
    """Whether another process of the same training tells it, so that this one need not."""


class ConfigError(RegardError):
    """One or more mistakes in a recipe, gathered so that nobody mends them one run at a time."""

    def __init__(self, mistakes: Iterable[str]) -> None:
        self.mistakes = tuple(mistakes)
        super().__init__("\n".join(self.mistakes))


class DataError(RegardError):
    """Text that cannot be used as it is; the message names the file and the line."""


class CheckpointError(RegardError):
    """A model or run folder that cannot be read or continued."""


class DamagedError(CheckpointError):
    """A file that is gone, or not as it was written: another copy would do."""


class TrainingError(RegardError):
    """Training stopped before anything good was overwritten."""


class ProcessError(RegardError):
    """Training ended because of another process; what is saved is whole."""


class UsageError(RegardError):
    """A request that cannot be carried out as asked."""


def install(extra: str) -> str:
    """How to get what an extra names. From the repository: an index may hold somebody else's package of this name."""
    return f"pip install -e '.[{extra}]' in the repository's folder"


def visible(text: str) -> str:
    """With an escape for each character that a terminal would obey rather than show, or that turns the line around.

    Messages quote what stands in files of strangers: a tensor's name could clear the screen or retype a command.
    """
    return "".join(_escaped(letter) if unicodedata.category(letter) in _OBEYED else letter for letter in text)


_OBEYED = ("Cc", "Cf", "Cs", "Zl", "Zp")  # controls, marks of direction, half surrogate pairs, ends of lines
_LONGEST_WORD = 500  # characters
_HARMLESS = "\n\t\u200c\u200d"  # the last two join letters, as Persian and Hindi are written


def _escaped(letter: str) -> str:
    return letter if letter in _HARMLESS else letter.encode("unicode_escape", "backslashreplace").decode("ascii")


def shown(value: object, most: int = 120) -> str:
    """A wrong value as Python writes it, short enough for a message."""
    text = repr(value)
    return text if len(text) <= most else f"{text[:most]}… ({len(text):,} characters)"


def whole(value: object, what: str, least: int = 0) -> int:
    """A whole number, of NumPy's too, that is not too small; `what` begins the message: `heads`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise UsageError(f"{what} must be a whole number, at least {least}; not {shown(value, 60)}")
    return int(value)


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """` Did you mean 'heads'?`, or nothing when no known word is near."""
    if len(given) > _LONGEST_WORD:  # near to nothing, and comparing it would take long
        return ""
    near = difflib.get_close_matches(given, list(known), n=1, cutoff=0.6)
    return f" Did you mean '{near[0]}'?" if near else ""
