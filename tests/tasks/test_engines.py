"""Every way to decode with a model gives what the plain way gives, or is near it, and says what it cannot do."""

from __future__ import annotations

import copy
import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import regard
from regard import config
from regard.checkpoint import store_scores
from regard.decoding.options import Engine, Hypothesis, Search
from regard.errors import UsageError
from regard.models.encoder_decoder import EncoderDecoder as Model
from regard.models.int8 import in_int8
from regard.models.packed import pack_weights
from regard.models.shortlist import Lexicon, Shortlists
from regard.tasks.task import Trained
from regard.tasks.trained import load_trained, save_trained
from regard.tasks.translation import workers as workers_module
from regard.tasks.translation.assets import TranslationAssets
from regard.tasks.translation.engine import choose_engine, native_of
from regard.tasks.translation.native import Native
from regard.tasks.translation.translator import Translator
from regard.tasks.translation.workers import WorkerPool
from tests.conftest import made_up_sentences, taught

ROOT = Path(__file__).parents[2]
PATIENCE = 300  # seconds, on a machine that is busy with other things
SETTINGS = config.Decoding(max_ratio=1.0, max_extra=5, batch_tokens=120)
SEARCHES = [
    Search(beam=1), Search(beam=4, nbest=2), Search(sample=True, nbest=3, seed=2, top_k=9), Search(beam=3, no_repeat_ngram=2),
]  # fmt: skip


def sources(translator: Translator) -> list[list[int]]:
    return [[], *translator.tokenizer.encode_all(made_up_sentences(1, 30), "source")]


def full_lexicon(translator: Translator) -> Lexicon:
    size = translator.tokenizer.size("target")
    return Lexicon(torch.zeros(size, 3, dtype=torch.int32), torch.arange(size, dtype=torch.int32))


def narrow_lexicon(translator: Translator) -> Lexicon:
    """Each token may become one of forty that depend on it; none of the bytes, which were never trained and tie."""
    size = translator.tokenizer.size("target")
    table = 260 + (torch.arange(size)[:, None] * 7 + torch.arange(40)) % (size - 260)
    return Lexicon(table, torch.arange(280, 300))


def shortlists(lexicon: Lexicon, model: Model) -> Shortlists:
    return Shortlists(lexicon, model.output.weight.detach())


def assert_same(found: list[list[Hypothesis]], expected: list[list[Hypothesis]]) -> None:
    for one, other in zip(found, expected, strict=True):
        assert [each.tokens for each in one] == [each.tokens for each in other]
        assert [each.score for each in one] == pytest.approx([each.score for each in other], abs=1e-4)


@pytest.mark.parametrize("search", SEARCHES)
def test_a_shortlist_of_everything_changes_nothing(exact_translator: Translator, search: Search) -> None:
    given, model = sources(exact_translator), exact_translator.model
    prefixes = [[20, 21] if number % 3 else [] for number in range(len(given))]
    whole = Native(model).decode(given, search, SETTINGS, prefixes)
    assert_same(
        Native(model, shortlists(full_lexicon(exact_translator), model)).decode(given, search, SETTINGS, prefixes),
        whole,
    )


@pytest.mark.parametrize("search", SEARCHES)
def test_shortlists_do_not_depend_on_the_batch(exact_translator: Translator, search: Search) -> None:
    given, model = sources(exact_translator), exact_translator.model
    engine = Native(model, shortlists(narrow_lexicon(exact_translator), model))
    together = engine.decode(given, search, SETTINGS)
    assert_same([engine.decode([each], search, SETTINGS)[0] for each in given], together)
    for source, nbest in zip(given, together, strict=True):
        allowed = set(narrow_lexicon(exact_translator).tokens(source).tolist())
        assert all(set(each.tokens) <= allowed for each in nbest)


@pytest.fixture(scope="module")
def by_heart(tiny_translator: Translator) -> Translator:
    """Knows its sixteen sentences so well that the rounding of 8 bits, which depends on the CPU, decides nothing."""
    return taught(tiny_translator.recipe, tiny_translator.tokenizer, updates=200)


def test_8_bits_write_the_same_together_and_alone(by_heart: Translator) -> None:
    given, search = sources(by_heart)[1:17], SEARCHES[0]  # those it knows
    exact = Native(by_heart.model).decode(given, search, SETTINGS)
    assert all(min(found.token_log_probabilities) > -0.7 for (found,) in exact), "not known by heart"
    model = copy.deepcopy(by_heart.model)
    engine = Native(in_int8(model), shortlists(full_lexicon(by_heart), by_heart.model))
    together = engine.decode(given, search, SETTINGS)
    alone = [engine.decode([each], search, SETTINGS)[0] for each in given]
    for wanted, *found in zip(exact, together, alone, strict=True):
        for (each,) in found:
            assert each.tokens == wanted[0].tokens
            assert each.token_log_probabilities == pytest.approx(wanted[0].token_log_probabilities, abs=0.3)


def test_two_processes_write_what_one_writes(exact_translator: Translator) -> None:
    given, engine = sources(exact_translator), Native(exact_translator.model)
    prefixes = [[20] if number % 2 else [] for number in range(len(given))]
    pool = WorkerPool(engine, workers=2)
    try:
        for search in [*SEARCHES, SEARCHES[0]]:  # at the first some is done here; at the last, all there
            expected = engine.decode(given, search, SETTINGS, prefixes)
            assert_same(pool.decode(given, search, SETTINGS, prefixes), expected)
            assert_same(pool.decode(given[:1], search, SETTINGS), engine.decode(given[:1], search, SETTINGS))
            assert pool.decode([], search, SETTINGS) == []
    finally:
        pool.close()


@pytest.mark.parametrize("int8", [False, True])
def test_processes_share_the_memory_of_the_weights(tiny_translator: Translator, int8: bool) -> None:
    """What they get is mapped from a file, and is gone from the disk with them."""
    model = copy.deepcopy(tiny_translator.model)
    engine = Native(in_int8(model) if int8 else pack_weights(model))
    pool, given = WorkerPool(engine, workers=2), sources(tiny_translator)
    try:
        assert_same(pool.decode(given, SEARCHES[0], SETTINGS), engine.decode(given, SEARCHES[0], SETTINGS))
        assert pool._pool is not None
        layouts, mapped = pool._pool.submit(seen_in_a_process).result(PATIENCE)
        assert layouts == [(name, each.stride()) for name, each in engine.model.named_parameters()]
        files = {Path(line.split(maxsplit=5)[-1]) for line in mapped if "regard-" in line}
        assert len(files) == 1 or sys.platform != "linux"
        assert all(each.exists() for each in files)
    finally:
        pool.close()
    assert not any(each.exists() for each in files)


def seen_in_a_process() -> tuple[list[tuple[str, tuple[int, ...]]], list[str]]:
    """How its weights lie, and which files it has mapped."""
    engine = workers_module._own[0]
    assert isinstance(engine, Native)
    layouts = [(name, each.stride()) for name, each in engine.model.named_parameters()]
    maps = Path("/proc/self/maps")
    return layouts, maps.read_text().splitlines() if maps.exists() else []


BUSY = """
import torch
from regard.decoding.options import Search
from regard.tasks.translation import workers as workers_module
from regard.tasks.translation.workers import WorkerPool
from tests.tasks.test_engines import SETTINGS, Parallel

if __name__ == "__main__":
    torch.set_num_threads(2)
    Parallel().compute()  # starts OpenMP's threads, and leaves them waiting for more
    pool = WorkerPool(Parallel(), workers=2)
    print(len(pool.decode([[5] * 50] * 9, Search(beam=1), SETTINGS)))
    pool.close()
"""


class Parallel:
    """Computes with as many threads as torch thinks it has, in whatever process."""

    def compute(self) -> None:
        one, two = torch.ones(300, 300), torch.ones(300, 300)
        torch.set_num_threads(2)
        for _ in range(20):
            (one @ two).exp().sum()

    def decode(self, sources: Sequence[Sequence[int]], *rest: Any, **options: Any) -> list[list[Hypothesis]]:
        if multiprocessing.parent_process() is None:
            time.sleep(0.05)  # leave some for the others
        self.compute()
        return [[] for _ in sources]


@pytest.mark.slow
def test_threads_of_the_parent_are_no_trap() -> None:
    """A forked process would wait for OpenMP's threads, which a fork does not copy."""
    found = subprocess.run(
        [sys.executable, "-c", BUSY], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=True
    )
    assert found.stdout == "9\n"


class Failing:
    """Fails in the way it is told to; dies only in a process that decodes."""

    def __init__(self, how: str) -> None:
        self.how = how
        self.held = (lambda: None) if how == "stay" else None  # cannot be sent

    def decode(self, sources: Sequence[Sequence[int]], *rest: Any, **options: Any) -> list[list[Hypothesis]]:
        if self.how in ("die", "stay"):
            if multiprocessing.parent_process() is None:
                time.sleep(0.1)
                return [[] for _ in sources]
            os.kill(os.getpid(), signal.SIGKILL)
        if self.how == "hang":
            time.sleep(PATIENCE)
        raise UsageError("what went wrong")


@pytest.mark.parametrize(
    ("how", "message"), [("die", "died"), ("raise", "what went wrong"), ("stay", "cannot be sent")]
)
def test_a_process_that_fails_says_so(how: str, message: str) -> None:
    pool = WorkerPool(Failing(how), workers=2)
    with pytest.raises(UsageError, match=message):  # enough that some are left when the processes have begun
        pool.decode([[5] * 50] * 2_000, Search(beam=1), SETTINGS)


def test_control_c_does_not_wait_for_the_processes() -> None:
    before, known = signal.signal(signal.SIGINT, signal.default_int_handler), multiprocessing.active_children()
    pool = WorkerPool(Failing("hang"), workers=2)
    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            pool.decode([[5] * 50] * 9, Search(beam=1), SETTINGS)
    finally:
        timer.join()
        signal.signal(signal.SIGINT, before)
    born = [each for each in multiprocessing.active_children() if each not in known]
    for process in born:
        process.join(PATIENCE / 2)
    assert not any(process.is_alive() for process in born)


@pytest.fixture
def model_file(tiny_translator: Translator, tmp_path: Path) -> Path:
    path = tmp_path / "model.safetensors"
    weights = dict(tiny_translator.model.named_parameters())
    save_trained(
        path,
        weights,
        tiny_translator.recipe,
        TranslationAssets(tiny_translator.tokenizer, full_lexicon(tiny_translator)),
        {},
    )
    return path


def test_the_lexicon_is_part_of_the_model_file(model_file: Path, tiny_translator: Translator) -> None:
    store_scores(model_file, {})
    lexicon = load_trained(model_file).assets.lexicon
    assert lexicon is not None
    assert all(map(torch.equal, lexicon, full_lexicon(tiny_translator)))
    text = made_up_sentences(1, 1)[0]
    fast = regard.load(model_file, int8=True, shortlist=True, workers=2)
    assert [each.text for each in fast.translate([text] * 400)] == [fast.translate(text).text] * 400


def chosen(trained: Trained, engine: str = "native", **changes: bool | int) -> Engine:
    options: dict[str, bool | int] = dict(int8=False, shortlist=False, workers=1)
    return choose_engine(trained, "a model", engine, **{**options, **changes})  # type: ignore[arg-type]


def test_what_cannot_be_done_is_said(tiny_translator: Translator) -> None:
    each = tiny_translator
    trained = Trained(each.model, each.recipe, TranslationAssets(each.tokenizer), {})
    with pytest.raises(UsageError, match="no lexicon"):
        chosen(trained, shortlist=True)
    with pytest.raises(UsageError, match=r"'nativ'.*native"):
        chosen(trained, "nativ")
    with pytest.raises(UsageError, match="`shortlist`"):
        chosen(trained, "ctranslate2", shortlist=True)
    assert isinstance(chosen(trained, workers=2), WorkerPool)
    assert isinstance(chosen(trained), Native)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("int8", [False, True])
def test_choosing_an_engine_leaves_the_model_alone(model_file: Path, int8: bool, workers: int) -> None:
    trained = load_trained(model_file)
    modules = list(trained.model.modules())
    before = {name: (each, each.stride(), each.clone()) for name, each in trained.model.named_parameters()}
    native = native_of(chosen(trained, int8=int8, shortlist=True, workers=workers))
    assert all(one is other for one, other in zip(trained.model.modules(), modules, strict=True))
    for name, each in trained.model.named_parameters():
        same, stride, values = before[name]
        assert each is same
        assert each.stride() == stride
        assert torch.equal(each, values)
    assert native is not None
    assert isinstance(native.model, Model)
    linear = {f"{name}.weight" for name, each in trained.model.named_modules() if isinstance(each, nn.Linear)}
    shared = dict(native.model.named_parameters())
    for name, each in trained.model.named_parameters():  # under its first name: a tied matrix is that of the embeddings
        assert name in linear or shared[name] is each, f"{name} takes memory twice"


@pytest.mark.parametrize("int8", [False, True])
def test_a_translator_keeps_only_the_model_that_computes(model_file: Path, int8: bool) -> None:
    trained = load_trained(model_file)
    engine = chosen(trained, int8=int8)
    translator = Translator(trained.model, trained.assets.tokenizer, trained.recipe, {}, engine)
    held = weakref.ref(trained.model.decoder[0])  # type: ignore[index, union-attr]
    del trained
    gc.collect()
    assert held() is None
    text = made_up_sentences(1, 1)[0]
    plain = translator.translate(text).token_log_probabilities
    with translator.changed(hard=True):  # reaches what decodes
        assert translator.translate(text).token_log_probabilities != pytest.approx(plain, abs=1e-2)


def test_only_the_native_engine_in_one_process_can_be_changed(tiny_translator: Translator) -> None:
    each = tiny_translator
    pool = Translator(each.model, each.tokenizer, each.recipe, {}, WorkerPool(Native(each.model), 2))
    with pytest.raises(UsageError, match="native"), pool.changed(hard=True):
        pass
