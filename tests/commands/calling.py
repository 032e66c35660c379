"""`regard VERB` as a user calls it, in this process, and what the toys that it is called with are made of."""

from __future__ import annotations

import io
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from regard import cli

ROOT = Path(__file__).parent.parent.parent
VERBS = sorted(command.callback.__name__ for command in cli.load_verbs().registered_commands if command.callback)
SENTENCE = "Ich habe heute keine Zeit."
GOOD, BAD = "The soup was wonderful!", "국물은 너무 실망스러웠다."
LONG_REVIEW = " ".join([GOOD] * 30)
RHYMES = ROOT / "regard" / "bundled" / "rhymes.toml"


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """Lines as regard counts them: only a line feed ends one."""
        assert self.out.endswith("\n") or not self.out
        return self.out.split("\n")[:-1]


def call(*arguments: object, stdin: bytes = b"") -> Answer:
    """`regard ARGUMENTS`, in this process."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="") for _ in "oe")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["regard", *map(str, arguments)])
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        patch.setenv("COLUMNS", "300")
        patch.delenv("REGARD_DATA", raising=False)
        with pytest.raises(SystemExit) as left:
            cli.main()
    texts = []
    for stream in (out, err):
        stream.flush()
        texts.append(stream.buffer.getvalue().decode("utf-8"))  # type: ignore[attr-defined]
    return Answer(int(left.value.code or 0), *texts)


def succeed(*arguments: object, stdin: bytes = b"") -> Answer:
    answer = call(*arguments, stdin=stdin)
    assert answer.code == 0, answer
    return answer


def fail(*arguments: object, stdin: bytes = b"") -> str:
    """What is said on stderr when a command is refused."""
    answer = call(*arguments, stdin=stdin)
    assert answer.code == 2, answer
    assert "Traceback" not in answer.err
    return answer.err


def prepared(folder: Path) -> tuple[str, str]:
    return "--set", f"data.prepared={folder / 'prepared'}"
