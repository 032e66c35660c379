"""Which program decodes for a model: regard itself, or CTranslate2 with the same weights."""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Callable, Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard import config
from regard.decoding.options import Engine, Hypothesis, Search
from regard.errors import CheckpointError, UsageError, did_you_mean, install
from regard.export.folder import CTRANSLATE2, refusal
from regard.notes import note

if TYPE_CHECKING:  # what needs torch is imported when our own search is made
    from regard.tasks.task import Trained
    from regard.tasks.translation.native import Native
    from regard.tasks.translation.workers import WorkerPool

ENGINES = ("native", "ctranslate2", "auto")
VARIABLE = "REGARD_ENGINE"  # what `auto` means for somebody who always wants the same


class FastEngine:
    """CTranslate2 for what it can search, and our own search for the rest: what is drawn at random, and models that are
    changed meanwhile. Ours is made when it is first needed."""

    def __init__(self, fast: Engine, make_native: Callable[[], Engine], about: str) -> None:
        self.fast, self._make_native, self.about = fast, make_native, about

    @cached_property
    def native(self) -> Engine:
        return self._make_native()

    def chosen(self, options: Search) -> Engine:
        """Which of the two searches with these options, in this thread, at this moment."""
        if options.sample:
            return self.native
        return self.native if "native" in vars(self) and is_changed(self.native) else self.fast

    def decode(
        self,
        sources: Sequence[Sequence[int]],
        options: Search,
        settings: config.Decoding,
        prefixes: Sequence[Sequence[int]] | None = None,
    ) -> list[list[Hypothesis]]:
        return self.chosen(options).decode(sources, options, settings, prefixes)


def is_changed(engine: Engine) -> bool:
    """Whether the model that our own search decodes with is changed in this thread."""
    from regard.attention import changes

    native = native_of(engine)
    return native is not None and changes.is_changed(native.model)


def native_of(engine: Engine) -> Native | None:
    """The search of our own that decodes, be it shared among processes; None if another program does."""
    from regard.tasks.translation.native import Native
    from regard.tasks.translation.workers import WorkerPool

    inner = engine.engine if isinstance(engine, WorkerPool) else engine
    return inner if isinstance(inner, Native) else None


def watched_of(engine: Engine, options: Search) -> Native | None:
    """The search of our own that an engine decodes with, which can be watched; None if another program decodes."""
    return native_of(engine.chosen(options) if isinstance(engine, FastEngine) else engine)


def about(engine: Engine) -> str:
    """Which engine it is, and why."""
    return str(getattr(engine, "about", "native"))


def choose_engine(
    trained: Trained, name: str | Path, engine: str, *, int8: bool, shortlist: bool, workers: int
) -> Engine:
    """`auto` is CTranslate2 where it is installed and can do what is asked.

    `trained` is left as it is. On a CPU the native engine computes with a copy of its model whose linear layers have weights
    of their own, turned round in memory or in 8 bits; all else is shared: embeddings, norms, biases and positions.
    """
    engine = meant(engine)
    if trained.model.device.type != "cpu" and (int8 or shortlist or engine == "ctranslate2"):
        raise UsageError(
            f"`int8`, `shortlist` and the engine ctranslate2 are for the CPU; leave them out, or the device {trained.model.device}"
        )
    if shortlist and engine == "ctranslate2":
        raise UsageError("`shortlist` is of the native engine; leave it out, or `engine` ctranslate2")
    why = "as asked" if engine != "auto" else reason_against(trained.recipe.model, str(trained.model.device), shortlist)
    if engine == "ctranslate2" or (engine == "auto" and not why):
        from regard.export.ctranslate2_engine import open_engine

        try:
            fast: Any = open_engine(name, int8, workers if workers > 1 else threads())
        except (CheckpointError, ImportError, UsageError) as error:  # files or a package that do not work here
            if engine == "ctranslate2":
                raise
            why = str(error)
        else:
            note_int8(int8)
            own_int8 = int8 and engine == "auto"
            return FastEngine(fast, lambda: native_engine(trained, name, own_int8, shortlist, workers), fast.about)
    chosen = native_engine(trained, name, int8, shortlist, workers)
    chosen.about = f"native ({why})"
    return chosen


def multiplies_exactly(cpu: str = "/proc/cpuinfo") -> bool:
    """Whether this CPU adds up products of 8-bit numbers in 32 bits: by VNNI, AMX, or ARM's dot product. Others may do it in 16, where
    large ones are cut off. Where nobody tells (not on Linux), an ARM does."""
    try:
        told = Path(cpu).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return platform.machine().lower() in ("arm64", "aarch64")
    return bool(re.search(r"\b(avx512_vnni|avx_vnni|amx_int8|asimddp)\b", told))


def note_int8(wanted: bool) -> None:
    """8 bits are nobody's default; who asks for them where they round more than elsewhere is told so."""
    if wanted and not multiplies_exactly():
        note(
            "this CPU has no VNNI: CTranslate2 may add up products of 8-bit numbers in 16 bits, which cuts off large ones. "
            "`evaluate` with and without `int8` tells what that costs; `engine` native does not"
        )


def meant(engine: str) -> str:
    """The engine of that name; `auto` may stand for another."""
    if engine == "auto":
        engine = os.environ.get(VARIABLE) or "auto"
    if engine not in ENGINES:
        raise UsageError(f"no engine {engine!r}.{did_you_mean(engine, ENGINES)} There are {', '.join(ENGINES)}")
    return engine


def cores() -> int:
    """CPU cores that this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def threads() -> int:
    """Of one process, as torch would count them: OMP_NUM_THREADS, or the cores."""
    named = os.environ.get("OMP_NUM_THREADS", "")
    return int(named) if named.isdecimal() and int(named) else cores()


def reason_against(settings: config.Model, device: str, shortlist: bool) -> str:
    """Why CTranslate2 is not used though nobody asked for another engine; empty if it is."""
    if sys.modules.get(CTRANSLATE2, True) is None or find_spec(CTRANSLATE2) is None:
        return f"ctranslate2 is not installed: {install('serve')}"
    if not device.startswith("cpu"):
        return f"on the device {device}"
    if shortlist:
        return "`shortlist` is its own"
    why = refusal(settings, CTRANSLATE2)
    return f"{CTRANSLATE2} {why}" if why else ""


def native_engine(trained: Trained, name: str | Path, int8: bool, shortlist: bool, workers: int) -> Native | WorkerPool:
    """Our own search, in one process or in several."""
    from regard.models.int8 import in_int8
    from regard.models.packed import pack_weights
    from regard.models.shortlist import Shortlists
    from regard.tasks.translation.native import Native
    from regard.tasks.translation.workers import WorkerPool

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
    model = in_int8(trained.model) if int8 else pack_weights(trained.model)
    native = Native(model, shortlists)
    return WorkerPool(native, workers) if workers > 1 else native
