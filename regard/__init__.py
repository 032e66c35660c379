"""regard trains attention models from your own data, lets you see through them, and puts them to work."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from regard.errors import RegardError

if TYPE_CHECKING:
    from regard.tasks.classification.classifier import Classification, Classifier
    from regard.tasks.classification.page import Decision
    from regard.tasks.language_model.generator import TextWriter
    from regard.tasks.language_model.page import TextLook
    from regard.tasks.language_model.results import Generation, TextScore
    from regard.tasks.translation.attention import Attention
    from regard.tasks.translation.results import PairScore, Translation
    from regard.tasks.translation.translator import Translator

__all__ = [
    "Attention",
    "Classification",
    "Classifier",
    "Decision",
    "Generation",
    "PairScore",
    "RegardError",
    "TextLook",
    "TextScore",
    "TextWriter",
    "Translation",
    "Translator",
    "load",
]
__version__ = "0.1.0"


@overload
def load(
    model: str | Path,
    device: str = ...,
    *,
    task: Literal["translate"],
    engine: str = ...,
    int8: bool = ...,
    shortlist: bool = ...,
    workers: int = ...,
) -> Translator: ...
@overload
def load(model: str | Path, device: str = ..., *, task: Literal["classify"]) -> Classifier: ...
@overload
def load(model: str | Path, device: str = ..., *, task: Literal["language-model"]) -> TextWriter: ...
@overload
def load(
    model: str | Path,
    device: str = ...,
    *,
    engine: str = ...,
    int8: bool = ...,
    shortlist: bool = ...,
    workers: int = ...,
) -> Any: ...


def load(
    model: str | Path,
    device: str = "cpu",
    *,
    task: str | None = None,
    engine: str = "native",
    int8: bool = False,
    shortlist: bool = False,
    workers: int = 1,
) -> Any:
    """A trained model by run folder, file or bundled name: `regard.load("demo").translate("Ich habe Hunger.")`.

    What comes back can do what the model was trained for: a Translator, a Classifier or a TextWriter; with `task`, a model
    of another is refused. The rest is about the speed of translation (docs/performance.md): `engine` is native,
    ctranslate2 or auto; `int8` computes in 8 bits; `shortlist` looks only for pieces that translate a sentence's own;
    `workers` processes share many sentences.
    """
    import torch  # late: importing regard must not cost importing torch

    from regard.checkpoint import load_model
    from regard.errors import UsageError
    from regard.tasks.registry import TASKS
    from regard.tasks.translation.engine import choose_engine

    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:  # of a word that torch does not know, of a GPU that is not there
        raise UsageError(f"cannot compute on the device {device!r}: {str(error).splitlines()[0]}") from None
    trained = load_model(model, device)
    found = trained.recipe.task
    row = TASKS[found]
    if task is not None and task != found:
        raise UsageError(f"{model} cannot {TASKS[task].verb}: its task is {found!r}. Try: regard {row.verb} {model}")
    if found == "translate":
        chosen = choose_engine(trained, model, engine, int8=int8, shortlist=shortlist, workers=workers)
        return row.working(trained.model, trained.tokenizer, trained.recipe, trained.provenance, chosen)
    if engine != "native" or int8 or shortlist or workers != 1:
        raise UsageError(f"engine, int8, shortlist and workers are of translation; the task of {model} is {found!r}")
    return row.working(trained.model, trained.tokenizer, trained.recipe, trained.provenance, trained.facts)


def __getattr__(name: str) -> object:
    """`regard.Translator` and the other public classes, imported when first asked for."""
    if name in __all__:
        from regard.tasks.classification import classifier
        from regard.tasks.language_model import generator as text_writer
        from regard.tasks.translation import translator

        return next(vars(module)[name] for module in (translator, classifier, text_writer) if hasattr(module, name))
    raise AttributeError(f"module 'regard' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
