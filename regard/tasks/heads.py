"""What each attention head is worth: switch it off alone, let the model answer again, and see what its score becomes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from regard.data.progress import progress
from regard.data.sampling import evenly
from regard.errors import UsageError
from regard.evaluation.compare import bootstrap
from regard.tasks.data_folder import choose_test
from regard.tasks.heads_page import HeadImportance, check_name
from regard.tasks.registry import find_task, own_options
from regard.tasks.task import Examples, Judge, Judged
from regard.tasks.verbs import door, load, row_of

SENTENCES = 200


def heads(
    model: str | Path,
    *,
    data: str | Path | None = None,
    test: str | None = None,
    sentences: int = SENTENCES,
    output: str | Path | None = None,
    command: str = "",
    device: str = "cpu",
    **options: Any,
) -> HeadImportance:
    """What each attention head is worth: the change of the score when it alone is switched off.

    The score is that of the task: BLEU, accuracy, or the perplexity of a word. It is measured on `sentences` examples of the
    recipe's test set `test` (the first; in the folder `data`), or of files: of translation `source` and `target`, of the others
    `file`. `output` is a page (.html) or picture (.png, .svg, .pdf) to write, and `command` what it says made it.
    """
    if output is not None:
        check_name(Path(output))
    row = row_of(model)
    own = own_options(row, "examples", options, str(model))
    glass = {"engine": "native"} if row.understands("load", "engine") else {}  # whose heads can be switched off
    loaded = load(model, device, **glass)
    sets = {each.name: each for each in door(row, "examples", model)(loaded, model, data, **own)}
    chosen = sets[choose_test(sets, test, own.get("file") or own.get("source"))[0]]
    found = head_importance(loaded, chosen, sentences=sentences)
    if output is not None:
        found.write(output, command)
    return found


def head_importance(
    model: Any, test_set: Judged, *, sentences: int = SENTENCES, resamples: int = 1_000, seed: int = 1
) -> HeadImportance:
    """The score without each head, on examples spread evenly over a test set; with a progress bar."""
    recipe, judge = model.recipe, judge_of(model)
    pairs = evenly(list(zip(test_set.sources, test_set.references, strict=True)), sentences)
    if not pairs:
        raise UsageError(f"the test set {test_set.name!r} has {len(test_set.sources)} sentences, of which {sentences} "
                         "were asked for; at least one is needed")  # fmt: skip
    chosen = Examples(test_set.name, [source for source, _ in pairs], [reference for _, reference in pairs])
    names, heads = model.model.attention_names(), model.model.heads
    if not names:
        raise UsageError(f"{recipe.name} is of the architecture {recipe.model.architecture!r}, which has no attention")
    differences = {kind: np.zeros((len(modules), heads)) for kind, modules in names.items()}
    p_values = {kind: np.ones((len(modules), heads)) for kind, modules in names.items()}
    places = [(kind, layer, head) for kind, layers in differences.items() for layer, head in np.ndindex(layers.shape)]
    with progress() as bar:
        task = bar.add_task("Switching heads off", total=len(pairs) * (1 + len(places)))

        def counted(off: dict[str, list[int]]) -> Any:
            answers = []
            with model.changed(off=off):
                for answer in judge.quick(model, chosen.sources):
                    answers.append(answer)
                    bar.advance(task)
            return judge.counts(recipe, answers, chosen)  # [examples, counts]

        whole = counted({})
        for kind, layer, head in places:
            without = counted({names[kind][layer]: [head]})
            scores, _, p_value = bootstrap(lambda counts: judge.score(recipe, counts), whole, without, resamples, seed)
            differences[kind][layer, head], p_values[kind][layer, head] = scores[1] - scores[0], p_value
    signature = f"{judge.signature(recipe)}|bs:{resamples}|seed:{seed}"
    return HeadImportance(
        recipe.name, test_set.name, len(pairs), judge.score(recipe, whole.sum(0)), signature, differences, p_values,
        judge.metric, judge.lower,
    )  # fmt: skip


def judge_of(model: Any) -> Judge:
    judge = find_task(model.recipe.task).judge
    if judge is None:
        raise UsageError(f"models of the task {model.recipe.task!r} have no score by which heads could be compared")
    return judge
