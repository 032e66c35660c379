"""regard trains attention models from your own data, lets you see through them, and puts them to work."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from regard.errors import RegardError

if TYPE_CHECKING:
    from regard.runs import Run, train
    from regard.tasks.classification.classifier import Classification, Classifier
    from regard.tasks.classification.page import Decision
    from regard.tasks.language_model.generator import TextGenerator
    from regard.tasks.language_model.page import TextLook
    from regard.tasks.language_model.results import Generation, TextScore
    from regard.tasks.registry import register_architecture
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
    "Run",
    "TextGenerator",
    "TextLook",
    "TextScore",
    "Translation",
    "Translator",
    "load",
    "register_architecture",
    "train",
]
__version__ = "0.1.0"


@overload
def load(
    model: str | Path,
    device: str = ...,
    *,
    task: Literal["translation", "translate"],
    engine: str = ...,
    int8: bool = ...,
    shortlist: bool = ...,
    workers: int = ...,
) -> Translator: ...
@overload
def load(model: str | Path, device: str = ..., *, task: Literal["text-classification", "classify"]) -> Classifier: ...
@overload
def load(
    model: str | Path, device: str = ..., *, task: Literal["text-generation", "language-model"]
) -> TextGenerator: ...
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
    **options: Any,
) -> Any:
    """A trained model by run folder, file or bundled name: `regard.load("demo").translate("Ich habe Hunger.")`.

    What comes back can do what the model was trained for: a Translator, a Classifier or a TextGenerator; with `task`, a model
    of another is refused. The rest is about the speed of translation (docs/performance.md): `engine` is native,
    ctranslate2 or auto; `int8` computes in 8 bits; `shortlist` looks only for pieces that translate a sentence's own;
    `workers` processes share many sentences.
    """
    import torch  # late: importing regard must not cost importing torch

    from regard.config import task_settings
    from regard.errors import UsageError
    from regard.tasks.registry import find_task, foreign_option
    from regard.tasks.trained import load_trained

    wanted = None if task is None else task_settings(task)
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:  # of a word that torch does not know, of a GPU that is not there
        raise UsageError(f"cannot compute on the device {device!r}: {str(error).splitlines()[0]}") from None
    trained = load_trained(model, device)
    row = find_task(trained.recipe.task)
    if wanted is not None and wanted.name != row.name:
        raise UsageError(f"{model} cannot {wanted.verb}: its task is {row.name!r}. Try: regard {row.verb} {model}")
    for option in options:
        if not row.understands("load", option):
            raise foreign_option(row, "load", option, str(model))
    return row.load(trained, model, **options)


def __getattr__(name: str) -> object:
    """`regard.Translator` and the other public classes, imported when first asked for."""
    if name in ("Run", "train"):
        from regard import runs

        return vars(runs)[name]
    if name == "register_architecture":
        from regard.tasks.registry import register_architecture

        return register_architecture
    if name in __all__:
        from regard.tasks.classification import classifier
        from regard.tasks.language_model import generator as text_writer
        from regard.tasks.translation import translator

        return next(vars(module)[name] for module in (translator, classifier, text_writer) if hasattr(module, name))
    raise AttributeError(f"module 'regard' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
