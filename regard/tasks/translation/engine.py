"""Which program decodes for a model: regard itself, or CTranslate2 with the same weights."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from regard.decoding.engine import Engine
from regard.errors import UsageError, did_you_mean
from regard.export.folder import CTRANSLATE2, refusal
from regard.models.int8 import in_int8
from regard.models.shortlist import Shortlists
from regard.models.transposed import transpose_weights
from regard.tasks.task import Trained
from regard.tasks.translation.native import Native
from regard.tasks.translation.workers import WorkerPool

ENGINES = ("native", "ctranslate2", "auto")


def choose_engine(
    trained: Trained, name: str | Path, engine: str, *, int8: bool, shortlist: bool, workers: int
) -> Engine:
    """`auto` is CTranslate2 where it is installed and can do what is asked.

    `trained` is left as it is. On a CPU the native engine computes with a copy of its model whose linear layers have weights
    of their own, turned round in memory or in 8 bits; all else is shared: embeddings, norms, biases and positions.
    """
    if engine not in ENGINES:
        raise UsageError(f"no engine {engine!r}.{did_you_mean(engine, ENGINES)} There are {', '.join(ENGINES)}")
    if trained.model.device.type != "cpu" and (int8 or shortlist or engine == "ctranslate2"):
        raise UsageError(
            f"`int8`, `shortlist` and the engine ctranslate2 are for the CPU; leave them out, or the device {trained.model.device}"
        )
    if shortlist and engine == "ctranslate2":
        raise UsageError("`shortlist` is of the native engine; leave it out, or `engine` ctranslate2")
    able = find_spec("ctranslate2") is not None and not (shortlist or refusal(trained, CTRANSLATE2))
    able &= trained.model.device.type == "cpu"
    if engine == "ctranslate2" or (engine == "auto" and able):
        from regard.export.ctranslate2_engine import open_engine

        return open_engine(name, int8, workers)
    if shortlist and trained.assets.lexicon is None:
        raise UsageError(
            f"{name} carries no lexicon to make shortlists from, as models do that are trained now, or go on training. "
            "Leave out `shortlist`"
        )
    shortlists = (
        Shortlists(trained.assets.lexicon, trained.model.output.weight.detach())
        if trained.assets.lexicon and shortlist
        else None
    )
    model = trained.model
    if int8:
        model = in_int8(model)
    elif model.device.type == "cpu":
        model = transpose_weights(model)
    native = Native(model, shortlists)
    return WorkerPool(native, workers) if workers > 1 else native
