"""A trained model against references: translate a test set and score it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from regard import config
from regard.data.corpus import locate, read_lines, read_pairs
from regard.data.mixture import read_direction
from regard.data.progress import progress
from regard.errors import UsageError
from regard.evaluation.scores import Score, paper_score, score, sentence_chrf
from regard.tasks.data_folder import choose_test, require_test, with_data_folder
from regard.tasks.ensembles import ModelNames
from regard.tasks.translation.confidence import rank_correlation
from regard.tasks.translation.results import Translation
from regard.tasks.translation.translator import Translator

ENOUGH_SENTENCES = 20  # sentences; a correlation of fewer says little


@dataclass(frozen=True)
class TestSet:
    """Sentences with their references."""

    __test__ = False  # not for pytest

    name: str
    sources: list[str]
    references: list[str]
    files: tuple[Path, ...] = ()
    """Where they stand."""
    to: str = ""
    """The language of the references, where a model has several."""


@dataclass(frozen=True)
class TranslationTest:
    """What became of one test set."""

    name: str
    scores: list[Score]
    sources: list[str]
    texts: list[str]
    """What was written for each."""
    references: list[str]
    confidence: float | None = None
    """Rank correlation of the confidence with sentence chrF, if the model tells confidence."""

    def stored(self) -> list[dict[str, Any]]:
        """The scores as a model file keeps them; the first is the one to tell."""
        return [dict(vars(each)) for each in self.scores]

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        told = {} if self.confidence is None else {"confidence_rank_correlation": self.confidence}
        return {"scores": self.stored(), "sentences": len(self.texts), **told}

    def lines(self) -> list[str]:
        """For people."""
        lines = [f"{self.name} ({len(self.texts):,} sentences)", *(f"  {each.format()}" for each in self.scores)]
        if self.confidence is not None:
            lines.append(f"  confidence: rank correlation {self.confidence:.2f} with the chrF of each sentence")
        return lines


def sets_to_test(
    translator: Translator,
    model: ModelNames,
    data: str | Path | None = None,
    source: str | Path | None = None,
    target: str | Path | None = None,
) -> list[TestSet]:
    """Those of a model's recipe, or the one that two files make up."""
    if (source is None) != (target is None):
        raise UsageError("`source` and `target` go together: one file of sentences, one of references")
    if source is not None and target is not None:
        return [file_test_set(Path(source), Path(target))]
    return recipe_test_sets(with_data_folder(replace(translator.recipe, data=translator.data), model, data))


def recipe_test_sets(recipe: config.TranslationRecipe) -> list[TestSet]:
    """The test sets that a recipe names; pairs with an empty side stay: one line in, one line out."""
    require_test(recipe)
    sets = []
    several = len(recipe.data.target_languages) > 1
    for direction in recipe.data.directions:
        for name, files in direction.data.test.items():
            called = direction.test_name if direction.name else name
            pairs = list(read_direction(direction, name))
            found = tuple(locate(file, recipe.data) for file in files)
            to = direction.languages[1] if several else ""
            sets.append(TestSet(called, [source for source, _ in pairs], [target for _, target in pairs], found, to))
    return sets


def file_test_set(source: Path, target: Path) -> TestSet:
    """Two line-aligned files."""
    data = config.ParallelText()
    pairs = list(read_pairs((str(source.resolve()), str(target.resolve())), data, "test"))
    return TestSet(source.name, [left for left, _ in pairs], [right for _, right in pairs], (source, target))


def choose(sets: list[TestSet], name: str | None) -> list[TestSet]:
    """The test set of that name, or all."""
    chosen = choose_test((each.name for each in sets), name)
    return [each for each in sets if each.name in chosen]


def require_same(sets: list[TestSet], theirs: list[TestSet], model: str) -> None:
    """Refuse to compare models on texts that only one of them calls its test; what the sets are called may differ."""
    known = [(each.sources, each.references) for each in theirs]
    for each in sets:
        if (each.sources, each.references) not in known:
            raise UsageError(
                f"the recipe of {model} has no test set with the sentences of {each.name!r}, so the models cannot be "
                "compared on it; give `source` and `target`"
            )


def translate_all(translator: Translator, sources: list[str]) -> list[str]:
    """Translate with a progress bar."""
    return [translation.text for translation in stream_all(translator, sources)]


def stream_all(
    translator: Translator,
    sources: list[str],
    beam: int | None = None,
    split: bool = True,
    protect: bool | None = None,
    truecase: bool = True,
) -> Iterator[Translation]:
    """Each translation as it comes, with a progress bar."""
    with progress() as bar:
        line = bar.add_task("Translating", total=len(sources))
        for translation in translator.stream(
            sources, beam=beam, split=split, protect=protect, truecase=truecase, scores=False
        ):
            yield translation
            bar.advance(line)


def evaluate(
    translator: Translator,
    test_set: TestSet,
    *,
    paper: bool = False,
    beam: int | None = None,
    split: bool = True,
    protect: bool | None = None,
    truecase: bool = True,
) -> TranslationTest:
    """Translate a test set and score it; `paper` adds BLEU as papers report it.

    The signature says how many sentences at a time were translated: `split:1`, or `split:no` for whole lines; and of a model
    that can, whether it protected numbers and addresses: `protect:yes` or `protect:no`. Where sentences are all in capitals, or all in
    small letters, it says whether they were read in another case.
    """
    if test_set.to:
        translator = translator.to(test_set.to)
    texts, confidences = [], []
    for each in stream_all(translator, test_set.sources, beam, split, protect, truecase):
        texts.append(each.text)
        confidences.append(each.confidence)
    language = translator.recipe.data.target_language
    scores = score(texts, test_set.references, target_language=language)
    if paper:
        scores.append(paper_score(texts, test_set.references, language))
    told = f"split:{translator.sentences if split else 'no'}"
    if translator.tokenizer.has_placeholders:
        told += f"|protect:{'no' if protect is False else 'yes'}"
    if translator.is_truecased(test_set.sources, split=split):
        told += f"|truecase:{'yes' if truecase else 'no'}"
    scores = [replace(each, signature=f"{each.signature}|{told}") for each in scores]
    told_of = [number for number, confidence in enumerate(confidences) if confidence is not None]
    chrf = sentence_chrf([texts[each] for each in told_of], [test_set.references[each] for each in told_of])
    ranked = rank_correlation([confidences[each] or 0.0 for each in told_of], chrf)
    correlation = ranked if len(told_of) >= ENOUGH_SENTENCES else None
    return TranslationTest(test_set.name, scores, test_set.sources, texts, test_set.references, correlation)


def hypotheses(name: str) -> list[str] | None:
    """The lines of a plain text file of translations, or None when the name is that of a model."""
    path = Path(name)
    if path.is_file() and path.suffix != ".safetensors":
        return list(read_lines(path))
    return None
