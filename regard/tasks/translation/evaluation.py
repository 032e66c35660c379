"""A trained model against references: translate a test set and score it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from regard import config
from regard.data.corpus import locate, read_lines, read_pairs
from regard.data.progress import progress
from regard.errors import UsageError, did_you_mean
from regard.evaluation.scores import Score, paper_score, score
from regard.tasks.data_folder import require_test, with_data_folder
from regard.tasks.translation.translator import Translator


@dataclass(frozen=True)
class TestSet:
    """Sentences with their references."""

    __test__ = False  # not for pytest

    name: str
    sources: list[str]
    references: list[str]
    files: tuple[Path, ...] = ()
    """Where they stand."""


@dataclass(frozen=True)
class TranslationTest:
    """What became of one test set."""

    name: str
    scores: list[Score]
    sources: list[str]
    texts: list[str]
    """What was written for each."""
    references: list[str]

    def stored(self) -> list[dict[str, Any]]:
        """The scores as a model file keeps them; the first is the one to tell."""
        return [dict(vars(each)) for each in self.scores]

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"scores": self.stored(), "sentences": len(self.texts)}

    def lines(self) -> list[str]:
        """For people."""
        return [f"{self.name} ({len(self.texts):,} sentences)", *(f"  {each.format()}" for each in self.scores)]


def sets_to_test(
    translator: Translator,
    model: str | Path,
    data: str | Path | None = None,
    source: str | Path | None = None,
    target: str | Path | None = None,
) -> list[TestSet]:
    """Those of a model's recipe, or the one that two files make up."""
    if (source is None) != (target is None):
        raise UsageError("`source` and `target` go together: one file of sentences, one of references")
    if source is not None and target is not None:
        return [file_test_set(Path(source), Path(target))]
    return recipe_test_sets(with_data_folder(translator.recipe, model, data))


def recipe_test_sets(recipe: config.TranslationRecipe) -> list[TestSet]:
    """The test sets that a recipe names; pairs with an empty side stay: one line in, one line out."""
    require_test(recipe)
    sets = []
    for name, files in recipe.data.test.items():
        pairs = list(read_pairs(files, recipe.data, name))
        found = tuple(locate(file, recipe.data) for file in files)
        sets.append(TestSet(name, [source for source, _ in pairs], [target for _, target in pairs], found))
    return sets


def file_test_set(source: Path, target: Path) -> TestSet:
    """Two line-aligned files."""
    data = config.ParallelText()
    pairs = list(read_pairs((str(source.resolve()), str(target.resolve())), data, "test"))
    return TestSet(source.name, [left for left, _ in pairs], [right for _, right in pairs], (source, target))


def choose(sets: list[TestSet], name: str | None) -> list[TestSet]:
    """The test set of that name, or all."""
    chosen = [each for each in sets if name in (None, each.name)]
    if not chosen:
        names = [each.name for each in sets]
        raise UsageError(f"no test set {name!r}.{did_you_mean(str(name), names)} There are: {', '.join(names)}")
    return chosen


def require_same(sets: list[TestSet], theirs: list[TestSet], model: str) -> None:
    """Refuse to compare models on texts that only one of them calls its test; what the sets are called may differ."""
    known = [(each.sources, each.references) for each in theirs]
    for each in sets:
        if (each.sources, each.references) not in known:
            raise UsageError(
                f"the recipe of {model} has no test set with the sentences of {each.name!r}, so the models cannot be "
                "compared on it; give `source` and `target`"
            )


def translate_all(translator: Translator, sources: list[str], beam: int | None = None, split: bool = True) -> list[str]:
    """Translate with a progress bar."""
    with progress() as bar:
        line = bar.add_task("Translating", total=len(sources))
        texts = []
        for translation in translator.stream(sources, beam=beam, split=split):
            texts.append(translation.text)
            bar.advance(line)
    return texts


def evaluate(
    translator: Translator, test_set: TestSet, *, paper: bool = False, beam: int | None = None, split: bool = True
) -> TranslationTest:
    """Translate a test set and score it; `paper` adds BLEU as papers report it.

    The signature says how many sentences at a time were translated: `split:1`, or `split:no` for whole lines.
    """
    texts = translate_all(translator, test_set.sources, beam, split)
    language = translator.recipe.data.target_language
    scores = score(texts, test_set.references, target_language=language)
    if paper:
        scores.append(paper_score(texts, test_set.references, language))
    told = f"split:{translator.sentences if split else 'no'}"
    scores = [replace(each, signature=f"{each.signature}|{told}") for each in scores]
    return TranslationTest(test_set.name, scores, test_set.sources, texts, test_set.references)


def hypotheses(name: str) -> list[str] | None:
    """The lines of a plain text file of translations, or None when the name is that of a model."""
    path = Path(name)
    if path.is_file() and path.suffix != ".safetensors":
        return list(read_lines(path))
    return None
