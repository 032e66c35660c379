"""Is one translator better than another? Both translate the test sets of the first."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.data.corpus import read_lines
from regard.errors import UsageError
from regard.evaluation.compare import Comparison
from regard.evaluation.compare import compare as compare_texts
from regard.tasks.translation.evaluation import (
    TestSet,
    choose,
    hypotheses,
    require_same,
    sets_to_test,
    translate_all,
)
from regard.tasks.translation.translator import Translator
from regard.tasks.verbs import load

Place = str | Path


@dataclass(frozen=True)
class Comparisons:
    """What two systems came to, by test set."""

    found: Mapping[str, Comparison]

    def __getitem__(self, name: str) -> Comparison:
        return self.found[name]

    def lines(self) -> list[str]:
        """For people."""
        return [line for name, each in self.found.items() for line in (f"test set: {name}", *each.lines())]

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {name: each.to_dict() for name, each in self.found.items()}


def compare(
    a: Place,
    b: Place,
    *,
    source: Place | None = None,
    target: Place | None = None,
    data: Place | None = None,
    test: str | None = None,
    resamples: int = 1_000,
    seed: int = 1,
    worst: int = 10,
    device: str = "cpu",
    on_result: Callable[[str, Comparison], None] | None = None,
) -> Comparisons:
    """Is B better than A? Paired bootstrap on the test sets of A (only `test`, if named), and the sentences that differ most.

    A and B are models, or files of translations, which need references: `target`. `on_result` is told the name of each test
    set and what it came to as soon as that is known.
    """
    given = {name: hypotheses(name) for name in (str(a), str(b))}
    models = {name: _with_sets(name, data, source, target, device) for name, lines in given.items() if lines is None}
    language, sets = _judged_by(models, target)
    sets = choose(sets, test)
    for name, (_, theirs) in models.items():
        require_same(sets, theirs, name)
    found: dict[str, Comparison] = {}
    for each in sets:
        texts = {
            name: translate_all(models[name][0], each.sources) if lines is None else lines
            for name, lines in given.items()
        }
        found[each.name] = compare_texts(
            texts[str(a)], texts[str(b)], each.references, names=(str(a), str(b)), resamples=resamples, seed=seed,
            worst=worst, target_language=language,
        )  # fmt: skip
        if on_result is not None:
            on_result(each.name, found[each.name])
    return Comparisons(found)


def _with_sets(
    name: str, data: Place | None, source: Place | None, target: Place | None, device: str
) -> tuple[Translator, list[TestSet]]:
    translator = load(name, device, task="translation")
    return translator, sets_to_test(translator, name, data, source, target)


def _judged_by(
    models: Mapping[str, tuple[Translator, list[TestSet]]], target: Place | None
) -> tuple[str, list[TestSet]]:
    """The language written, as far as a model tells it, and the test sets of the first model, or the references given."""
    if models:
        translator, sets = next(iter(models.values()))
        return translator.recipe.data.target_language, sets
    if target is None:
        raise UsageError("two files of translations need `target`, a file of references")
    return "", [TestSet(Path(target).name, [], list(read_lines(target)))]
