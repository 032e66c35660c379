"""Every way to decode with a model gives what the plain way gives, or is near it, and says what it cannot do."""

from __future__ import annotations

import copy
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

import regard
from regard import config
from regard.checkpoint import Trained, load_model, save_model, store_scores
from regard.decoding.engine import Engine
from regard.decoding.options import Hypothesis, Search
from regard.engines import choose_engine
from regard.errors import UsageError
from regard.models.build import Model
from regard.models.int8 import in_int8
from regard.models.shortlist import Lexicon, Shortlists
from regard.tasks.crew import Crew
from regard.tasks.decode import Native
from regard.tasks.translator import Translator
from tests.conftest import made_up_sentences, taught

PATIENCE = 60  # seconds
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
    """Each piece may become one of forty that depend on it; none of the bytes, which were never trained and tie."""
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
        allowed = set(narrow_lexicon(exact_translator).pieces(source).tolist())
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


@pytest.mark.parametrize("search", SEARCHES)
def test_two_processes_write_what_one_writes(exact_translator: Translator, search: Search) -> None:
    given, engine = sources(exact_translator), Native(exact_translator.model)
    prefixes = [[20] if number % 2 else [] for number in range(len(given))]
    crew = Crew(engine, workers=2)
    try:
        assert_same(crew.decode(given, search, SETTINGS, prefixes), engine.decode(given, search, SETTINGS, prefixes))
        assert_same(crew.decode(given[:1], search, SETTINGS), engine.decode(given[:1], search, SETTINGS))
        assert crew.decode([], search, SETTINGS) == []
    finally:
        crew.close()


class Failing:
    """Fails in the way it is told to."""

    def __init__(self, how: str) -> None:
        self.how = how

    def decode(
        self,
        sources: Sequence[Sequence[int]],
        options: Search,
        settings: config.Decoding,
        prefixes: Sequence[Sequence[int]] | None = None,
    ) -> list[list[Hypothesis]]:
        if self.how == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.how == "hang":
            time.sleep(PATIENCE)
        raise UsageError("what went wrong")


@pytest.mark.parametrize(("how", "message"), [("die", "--workers 1"), ("raise", "what went wrong")])
def test_a_process_that_fails_says_so(how: str, message: str) -> None:
    crew = Crew(Failing(how), workers=2)
    with pytest.raises(UsageError, match=message):
        crew.decode([[5] * 50] * 9, Search(beam=1), SETTINGS)


def test_control_c_does_not_wait_for_the_processes() -> None:
    before, known = signal.signal(signal.SIGINT, signal.default_int_handler), multiprocessing.active_children()
    crew = Crew(Failing("hang"), workers=2)
    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            crew.decode([[5] * 50] * 9, Search(beam=1), SETTINGS)
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
    save_model(
        path,
        weights,
        tiny_translator.recipe,
        tiny_translator.tokenizer,
        {},
        lexicon=full_lexicon(tiny_translator),
    )
    return path


def test_the_lexicon_is_part_of_the_model_file(model_file: Path, tiny_translator: Translator) -> None:
    store_scores(model_file, {})
    lexicon = load_model(model_file).lexicon
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
    trained = Trained(each.model, each.tokenizer, each.recipe, {})
    with pytest.raises(UsageError, match="no lexicon"):
        chosen(trained, shortlist=True)
    with pytest.raises(UsageError, match=r"'nativ'.*native"):
        chosen(trained, "nativ")
    with pytest.raises(UsageError, match="--shortlist"):
        chosen(trained, "ctranslate2", shortlist=True)
    assert isinstance(chosen(trained, workers=2), Crew)
    assert isinstance(chosen(trained), Native)


def test_only_the_native_engine_in_one_process_can_be_changed(tiny_translator: Translator) -> None:
    each = tiny_translator
    crew = Translator(each.model, each.tokenizer, each.recipe, {}, Crew(Native(each.model), 2))
    with pytest.raises(UsageError, match="native"), crew.changed(hard=True):
        pass
