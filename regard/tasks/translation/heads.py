"""What each attention head is worth: switch it off alone, translate again, and see what BLEU becomes."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from regard.data.progress import progress
from regard.data.sampling import evenly
from regard.errors import UsageError
from regard.evaluation.compare import compare
from regard.tasks.translation.evaluation import TestSet, choose, sets_to_test
from regard.tasks.translation.heads_page import HeadImportance, check_name
from regard.tasks.translation.translator import Translator
from regard.tasks.verbs import load

SENTENCES = 200


def heads(
    model: str | Path,
    *,
    source: str | Path | None = None,
    target: str | Path | None = None,
    data: str | Path | None = None,
    test: str | None = None,
    sentences: int = SENTENCES,
    output: str | Path | None = None,
    command: str = "",
) -> HeadImportance:
    """What each attention head of a translator is worth: the change of BLEU when it alone is switched off.

    On `sentences` of the recipe's test set `test` (the first; in the folder `data`), or of two files `source` and `target`.
    `output` is a page (.html) or picture (.png, .svg, .pdf) to write, and `command` what it says made it.
    """
    if output is not None:
        check_name(Path(output))
    translator = load(model, task="translation")
    test_set = choose(sets_to_test(translator, model, data, source, target), test)[0]
    found = head_importance(translator, test_set, sentences=sentences)
    if output is not None:
        found.write(output, command)
    return found


def head_importance(
    translator: Translator, test_set: TestSet, *, sentences: int = SENTENCES, resamples: int = 1_000, seed: int = 1
) -> HeadImportance:
    """BLEU without each head, on sentences spread evenly over a test set, decoded greedily; with a progress bar."""
    pairs = evenly(list(zip(test_set.sources, test_set.references, strict=True)), sentences)
    if not pairs:
        raise UsageError(f"the test set {test_set.name!r} has {len(test_set.sources)} sentences, of which {sentences} "
                         "were asked for; at least one is needed")  # fmt: skip
    sources, references = [source for source, _ in pairs], [reference for _, reference in pairs]
    names, heads = translator.attention_names(), translator.model.heads
    differences = {kind: np.zeros((len(modules), heads)) for kind, modules in names.items()}
    p_values = {kind: np.ones((len(modules), heads)) for kind, modules in names.items()}
    places = [(kind, layer, head) for kind, layers in differences.items() for layer, head in np.ndindex(layers.shape)]
    with progress() as bar:
        task = bar.add_task("Switching heads off", total=len(pairs) * (1 + len(places)))

        def translated(off: dict[str, list[int]]) -> list[str]:
            texts = []
            with translator.changed(off=off):
                for translation in translator.stream(sources, beam=1):
                    texts.append(translation.text)
                    bar.advance(task)
            return texts

        whole = translated({})
        for kind, layer, head in places:
            without = translated({names[kind][layer]: [head]})
            found = compare(
                whole, without, references, names=("all heads", "without one"), resamples=resamples, seed=seed, worst=0,
                target_language=translator.recipe.data.target_language,
            ).metrics[0]  # fmt: skip
            differences[kind][layer, head], p_values[kind][layer, head] = found.difference, found.p_value
    return HeadImportance(
        translator.recipe.name, test_set.name, len(pairs), found.scores[0], found.signature, differences, p_values
    )
