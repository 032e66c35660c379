"""What can be done with a trained model of any task: its row does it, and says which options it understands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from regard.config import task_settings
from regard.config.stored import BUNDLED_FOLDER, find_model
from regard.errors import UsageError
from regard.tasks.ensembles import ModelNames, first_of, names_of, require_alike, require_one, told
from regard.tasks.registry import find_task, load_quickly, own_options
from regard.tasks.texts import LOOK_AHEAD
from regard.view.document import check_name

if TYPE_CHECKING:
    from regard.tasks.classification.classifier import Classifier
    from regard.tasks.image_classification.recognizer import Recognizer
    from regard.tasks.language_model.generator import TextGenerator
    from regard.tasks.task import Result, Scored, Seen, Task
    from regard.tasks.translation.translator import Translator


@overload
def load(
    model: ModelNames,
    device: str = ...,
    *,
    task: Literal["translation", "translate"],
    engine: str = ...,
    int8: bool = ...,
    shortlist: bool = ...,
    workers: int = ...,
) -> Translator: ...
@overload
def load(model: ModelNames, device: str = ..., *, task: Literal["text-classification", "classify"]) -> Classifier: ...
@overload
def load(
    model: ModelNames, device: str = ..., *, task: Literal["text-generation", "language-model"]
) -> TextGenerator: ...
@overload
def load(model: ModelNames, device: str = ..., *, task: Literal["image-classification", "recognize"]) -> Recognizer: ...
@overload
def load(model: ModelNames, device: str = ..., *, task: str | None = ..., **options: Any) -> Any: ...


def load(model: ModelNames, device: str = "cpu", *, task: str | None = None, **options: Any) -> Any:
    """A trained model by run folder, file or bundled name: `regard.load("demo").translate("Ich habe Hunger.")`.

    Several, as a list, answer together: by the mean of their probabilities.
    What comes back can do what the model was trained for: a Translator, a Classifier, a TextGenerator or a
    Recognizer; with `task`, a model
    of another is refused. The rest is about the speed of translation (docs/performance.md): `engine` is native,
    ctranslate2 or auto; `int8` computes in 8 bits; `shortlist` looks only for tokens that translate a sentence's own;
    `workers` processes share many sentences, 0 means one for each core.
    """
    wanted = None if task is None else task_settings(task)
    names = names_of(model)
    if device == "cpu" and len(names) == 1:
        quick = load_quickly(names[0], None if wanted is None else wanted.name, options)
        if quick is not None:
            return quick
    import torch  # late: what is converted already is at work before it would be imported

    from regard.tasks.trained import load_trained

    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:  # of a word that torch does not know, of a GPU that is not there
        raise UsageError(f"cannot compute on the device {device!r}: {str(error).splitlines()[0]}") from None
    members = [load_trained(name, device) for name in names]
    for name, each in zip(names, members, strict=True):
        row = find_task(each.recipe.task)
        if wanted is not None and wanted.name != row.name:
            raise UsageError(f"{name} cannot {wanted.verb}: its task is {row.name!r}. Try: regard {row.verb} {name}")
    own = own_options(row, "load", options, told(names))
    if len(names) == 1:
        return row.load(members[0], names[0], **own)
    require_alike(names, [each.recipe.task for each in members], "the task", "Name models of one task")
    return door(row, "ensemble", told(names))(members, names, **own)


@dataclass(frozen=True)
class Evaluation:
    """What a model came to on each test set."""

    model: str
    results: tuple[Result, ...]

    def __getitem__(self, name: str) -> Result:
        """That of one test set."""
        return {each.name: each for each in self.results}[name]

    def lines(self) -> list[str]:
        """For people."""
        return [line for each in self.results for line in each.lines()]

    def to_dict(self) -> dict[str, Any]:
        """For JSON, by test set."""
        return {each.name: each.to_dict() for each in self.results}


def evaluate(
    model: ModelNames,
    *,
    data: str | Path | None = None,
    save: bool = False,
    output: str | Path | None = None,
    keep: str | Path | None = None,
    command: str = "",
    on_result: Callable[[Result], None] | None = None,
    **options: Any,
) -> Evaluation:
    """How good a model is, on its recipe's test sets (in the folder `data`) or on text that `options` give.

    `save` stores the scores in the model file, `output` is a folder for the model's answers, `keep` one for these and all that
    proves the scores (docs/results.md), where `command` is what they say made them, and `on_result` is told what
    each test set came to as soon as it is known. Of translation, `source` and `target` are files, `beam` and `paper` (also
    lower-cased, Moses-tokenised BLEU) are about the scores, and `engine`, `int8`, `shortlist` and `workers` as in `load`.
    Of classification and language models, `file` is other text; of the latter, `stride` is by how many tokens the context
    slides, and `cache` how many tokens are remembered beyond it, for a score of its own.
    """
    file, row = find_model(first_of(model)), row_of(model)
    if save:
        require_one(model, "a score that is stored")
    if save and file.resolve().parent == BUNDLED_FOLDER.resolve():
        raise UsageError(f"{told(model)} is part of regard and stays as it is; leave out `save`, or copy {file}")
    if keep is not None:
        if output is not None:
            raise UsageError("`keep` writes the answers, too; leave out `output`")
        from regard.tasks import kept

        kept.require_folder(Path(keep))
        output = keep if row.understands("evaluate", "output") else None
    own = own_options(row, "evaluate", {**options, "output": output}, told(model))
    if row.understands("evaluate", "save"):
        own["save"] = save
    results = []
    for result in door(row, "evaluate", model)(model, data, **own):
        results.append(result)
        if on_result is not None:
            on_result(result)
    if keep is not None:
        given = any(options.get(name) is not None for name in task_settings(row.name).text_options)
        kept.keep(Path(keep), model, results, data, command, given)
    if save:
        from regard.checkpoint import store_scores

        store_scores(file, {each.name: each.stored() for each in results})
    return Evaluation(told(model), tuple(results))


def score(
    model: ModelNames, texts: Iterable[Any] | None = None, *, look_ahead: int = LOOK_AHEAD, **options: Any
) -> Iterator[Scored]:
    """How probable a model finds each of any number of texts, in order and in bounded memory.

    A language model takes texts. A translator takes pairs (source, target), lines `source TAB target`, or two files `source`
    and `target`. `look_ahead` texts are read before the first is answered.
    """
    row = row_of(model)
    own = own_options(row, "score", options, told(model))
    found: Iterator[Scored] = door(row, "score", model)(model, texts, look_ahead, **own)
    return found


def view(
    model: str | Path,
    text: str | None = None,
    *,
    output: str | Path | None = None,
    command: str = "",
    live: bool = False,
    **options: Any,
) -> Seen:
    """What a model attends to while it works on a text: to draw in a terminal, or to write as a page.

    `output` is where to write the page at once, and `command` what it should say it was made by. Of translation, `beam`,
    `engine`, `int8` and `shortlist` are as in `translate` and `load`; without a text, it is the first of the run's movie.
    With `live`, the page has the model inside and runs it in the browser; a text is what it begins with.
    """
    if output is not None:
        check_name(Path(output))
    require_one(model, "attention")
    row = row_of(model)
    seen: Seen
    if live:
        seen = _live(row, model, text, options)
    else:
        seen = door(row, "view", model)(model, text, **own_options(row, "view", options, str(model)))
    if output is not None:
        seen.write(output, command)
    return seen


def _live(row: Task, model: str | Path, text: str | None, options: dict[str, Any]) -> Seen:
    """With the model inside; what a page decides by itself cannot be asked for."""
    from regard.tasks.live_page import live_page

    own, assumed = own_options(row, "view", options, str(model)), row.options("view")
    direction = {name: own.pop(name) for name in ("to",) if name in own}
    idle = [name for name, value in own.items() if value != assumed[name]]
    if idle:
        raise UsageError(f"`{idle[0]}` has no effect on a live page: whoever reads it chooses")
    engine = {"engine": "native"} if row.understands("load", "engine") else {}
    return live_page(row, load(model, **engine, **direction), Path(model).name, text)


def row_of(model: ModelNames) -> Task:
    """The row of a model's task."""
    from regard.checkpoint import task_of

    return find_task(task_of(first_of(model)))


def door(row: Task, name: str, model: ModelNames) -> Callable[..., Any]:
    """What a row does for a verb, if it does anything."""
    function: Callable[..., Any] | None = getattr(row, name)
    if function is None:
        raise UsageError(f"there is no `{name}` for models of the task {row.name!r}, such as {told(model)}")
    return function
