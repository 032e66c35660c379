"""Models for other engines, and the proof that they do the same there: what the verb `export` asks of every task's row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from regard.checkpoint import find_model
from regard.errors import UsageError, did_you_mean
from regard.export.folder import default_folder, fingerprint, need, require_ours
from regard.notes import note
from regard.tasks.registry import own_options
from regard.tasks.task import Trained
from regard.tasks.verbs import door, row_of

SAMPLES = 1_000
T = TypeVar("T")
NOT_AT_HAND = (
    "the model's test text is not at hand, so the export is not compared with the original; give `{}` or `data`"
)


class Compared(Protocol):
    """How an exported model and the original compare."""

    @property
    def agrees(self) -> bool:
        """Whether what differs is no more than rounding explains."""
        ...

    def lines(self, engine: str) -> list[str]:
        """For people."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        ...


@dataclass(frozen=True)
class Exported:
    """What was written, and whether it does the same as the original."""

    folder: Path
    engine: str
    int8: bool
    megabytes: float
    agreement: Any
    """Something `Compared`, of a kind that fits the task; None if nothing was compared."""

    @property
    def trusted(self) -> bool:
        """Whether nearly all was the same; 8 bits may write a few texts differently."""
        return self.agreement is None or self.int8 or bool(self.agreement.agrees)

    def lines(self) -> list[str]:
        """For people: how the two compare."""
        return [] if self.agreement is None else list(self.agreement.lines(self.engine))

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        facts = {"folder": str(self.folder), "engine": self.engine, "int8": self.int8, "megabytes": self.megabytes}
        return {**facts, **({} if self.agreement is None else self.agreement.to_dict())}


@dataclass(frozen=True)
class Target:
    """An engine to export to."""

    packages: tuple[str, ...]
    """That it needs."""
    write: Callable[[Trained, Path, bool, str], Any]
    """Export, and load what was written."""
    int8: bool = False
    """Whether it can be given matrices in 8 bits."""


@dataclass(frozen=True)
class Order:
    """What is to be written, and where."""

    engine: str
    target: Target
    folder: Path
    int8: bool
    made_from: str

    @classmethod
    def of(
        cls, model: str | Path, to: str, targets: Mapping[str, Target], output: str | Path | None, int8: bool
    ) -> Order:
        """What cannot be is refused before a model is loaded."""
        if to not in targets:
            known = ", ".join(targets)
            raise UsageError(
                f"no engine {to!r} to export such a model to.{did_you_mean(to, targets)} There are {known}"
            )
        if int8 and not targets[to].int8:
            raise UsageError("`int8` is for CTranslate2; onnxruntime.quantization makes 8 bits of an exported graph")
        need(*targets[to].packages)
        file = find_model(model)
        folder = Path(output) if output is not None else default_folder(file, f"{to}-int8" if int8 else to)
        require_ours(folder)
        return cls(to, targets[to], folder, int8, fingerprint(file))  # before loading: what changes meanwhile is stale

    def write(self, trained: Trained) -> Any:
        """The export, loaded again."""
        exported = self.target.write(trained, self.folder, self.int8, self.made_from)
        note(f"wrote {self.folder}, {self.megabytes():.1f} MB")
        return exported

    def megabytes(self) -> float:
        return sum(each.stat().st_size for each in self.folder.iterdir()) / 1e6

    def carry_out(
        self, trained: Trained, samples: Sequence[T], what: str, compare: Callable[[Any, Sequence[T]], Compared]
    ) -> Exported:
        """Write it; then `compare` lets the export and the original work on samples, if there are any."""
        exported = self.write(trained)
        if not samples:
            return self._result(None)
        note(f"comparing on {len(samples):,} {what} …")
        return self._result(compare(exported, samples))

    def _result(self, agreement: Compared | None) -> Exported:
        return Exported(self.folder, self.engine, self.int8, self.megabytes(), agreement)


def export(
    model: str | Path,
    to: str,
    *,
    output: str | Path | None = None,
    int8: bool = False,
    data: str | Path | None = None,
    samples: int = SAMPLES,
    **options: Any,
) -> Exported:
    """Write a model for another engine, then let both work on the same texts and see whether they agree.

    Translators go to ctranslate2 or onnx, classifiers and language models to onnx. `output` is the folder to write; else it is
    beside the model. `int8` is matrices in 8 bits, for CTranslate2. They are compared on `samples` texts (0: none) of the recipe's
    test set (in the folder `data`); of translation, `source` is a file of other sentences, and `beam` how they are decoded; of the
    other tasks, `file` is other text, as `evaluate` reads it.
    """
    row = row_of(model)
    function = door(row, "export", model)
    found: Exported = function(
        model, to, output, int8, data, samples, **own_options(row, "export", options, str(model))
    )
    return found
