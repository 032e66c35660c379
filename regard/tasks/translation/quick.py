"""A translator by CTranslate2 that torch need not be imported for, until somebody wants to look inside."""

from __future__ import annotations

from pathlib import Path

from regard.config.model_file import Stored
from regard.decoding.options import Engine
from regard.errors import CheckpointError, DataError, UsageError
from regard.export.ctranslate2_engine import open_kept
from regard.export.folder import fingerprint
from regard.notes import detail
from regard.tasks.text_assets import tokenizer_in
from regard.tasks.translation.engine import FastEngine, cores, meant, native_engine, note_int8, reason_against, threads
from regard.tasks.translation.translator import Translator


def load(
    stored: Stored,
    name: str | Path,
    *,
    engine: str = "auto",
    int8: bool = False,
    shortlist: bool = False,
    workers: int = 1,
    to: str | None = None,
) -> Translator | None:
    """What the row's `load` returns on a CPU; None where that must do it: the model was not converted before, or another
    engine is meant, or something is wrong, which it says."""
    if meant(engine) == "native" or reason_against(stored.recipe.model, "cpu", shortlist):
        return None
    workers = workers or cores()
    try:
        made_from = fingerprint(stored.path)
        fast = open_kept(made_from, int8, workers if workers > 1 else threads())
        tokenizer = tokenizer_in(stored.assets)
    except (CheckpointError, DataError, ImportError, UsageError):
        return None
    if fast is None:
        return None
    note_int8(int8)
    own_int8 = int8 and meant(engine) == "auto"
    chosen = FastEngine(fast, lambda: read_native(stored.path, made_from, own_int8, workers), fast.about)
    detail(f"{name} is decoded by {fast.about}")
    translator = Translator(None, tokenizer, stored.recipe, stored.provenance, chosen)
    translator.origin = name
    return translator if to is None else translator.to(to)


def read_native(file: Path, made_from: str, int8: bool, workers: int) -> Engine:
    """Our own search with the model of a file, which must still be the one that was converted."""
    from regard.tasks.trained import load_trained

    trained = load_trained(file)
    if fingerprint(file) != made_from:
        raise CheckpointError(f"{file} has changed since it was loaded: load it again")
    return native_engine(trained, file, int8, False, workers)
