"""regard trains attention models from your own data, lets you see through them, and puts them to work."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from regard.errors import RegardError

if TYPE_CHECKING:
    from regard.tasks.translation import PairScore, Translation
    from regard.tasks.translator import Translator
    from regard.view.attention import Attention

__all__ = ["Attention", "PairScore", "RegardError", "Translation", "Translator", "load"]
__version__ = "0.1.0"


def load(
    model: str | Path,
    device: str = "cpu",
    *,
    engine: str = "native",
    int8: bool = False,
    shortlist: bool = False,
    workers: int = 1,
) -> Translator:
    """A trained model by run folder, file or bundled name: `regard.load("demo").translate("Ich habe Hunger.")`.

    The rest is about speed (docs/performance.md): `engine` is native, ctranslate2 or auto; `int8` computes in 8 bits;
    `shortlist` looks only for pieces that translate a sentence's own; `workers` processes share many sentences.
    """
    import torch  # late: importing regard must not cost importing torch

    from regard.checkpoint import load_model
    from regard.engines import choose_engine
    from regard.errors import UsageError
    from regard.tasks.table import TASKS

    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:  # of a word that torch does not know, of a GPU that is not there
        raise UsageError(f"cannot compute on the device {device!r}: {str(error).splitlines()[0]}") from None
    trained = load_model(model, device)
    chosen = choose_engine(trained, model, engine, int8=int8, shortlist=shortlist, workers=workers)
    working = TASKS[trained.recipe.task].working
    return working(trained.model, trained.tokenizer, trained.recipe, trained.provenance, chosen)


def __getattr__(name: str) -> object:
    """`regard.Translator` and the other public classes, imported when first asked for."""
    if name in __all__:
        from regard.tasks import translator

        return getattr(translator, name)
    raise AttributeError(f"module 'regard' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
