"""What a request costs is counted before it is computed, and what nobody waits for any more is not computed on."""

from __future__ import annotations

import json
import socket
import threading
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.cancellation import Cancelled, cancellable, check_cancelled
from regard.data.tokenizer import END, PAD
from regard.decoding.options import Hypothesis
from regard.serve.batcher import Batcher, Job
from regard.serve.limits import Limits
from regard.tasks.classification.classifier import Classifier
from regard.tasks.language_model.generator import TextGenerator
from regard.tasks.translation.native import Native, coverages
from regard.tasks.translation.reading import ReadPart
from regard.tasks.translation.splitting import split_text
from regard.tasks.translation.translator import Translator
from tests.serve.conftest import PATIENCE, SENTENCES, running, until
from tests.serve.test_refusals import head, refused

TIGHT = Limits(cost=100)


class Counting:
    """A model that counts the rows it is asked to read and to step, never ends, and waits for `free` at step `held`."""

    def __init__(self, model: Any, held: int = -1) -> None:
        self.model, self.max_positions, self.held = model, model.max_positions, held
        self.read = self.rows = self.steps = 0
        self.begun, self.free = threading.Event(), threading.Event()

    @property
    def device(self) -> torch.device:
        return torch.device("cpu")

    def start(self, source: Tensor) -> Any:
        self.read += int((source != PAD).sum())
        return self.model.start(source)

    def step(self, last: Tensor, state: Any) -> Any:
        if self.steps == self.held:
            self.begun.set()
            assert self.free.wait(PATIENCE)
        self.steps += 1
        self.rows += last.numel()
        logits, state = self.model.step(last, state)
        logits[:, END] = -1e9
        return logits, state


def counting(like: Translator, held: int = -1) -> tuple[Translator, Counting]:
    model = Counting(like.model, held)
    return Translator(like.model, like.tokenizer, like.recipe, engine=Native(model)), model


@pytest.mark.parametrize(
    "options", [{"beam": 1}, {"beam": 4}, {"beam": 2, "prefix": SENTENCES[1]}, {"sample": True, "nbest": 3}]
)
def test_a_cost_is_the_tokens_that_are_computed_at_most(tiny_translator: Translator, options: dict[str, Any]) -> None:
    translator, model = counting(tiny_translator)
    for text in (SENTENCES[0], " ".join(SENTENCES[:5])):
        model.read = model.rows = 0
        [cost] = translator.cost([text], **options)
        translator.translate(text, **options)
        assert model.read + model.rows <= cost
        width = options.get("nbest", options.get("beam"))
        parts = len(split_text(text, translator.longest, lambda each: len(translator.tokenizer.encode(each))))
        assert model.read + model.rows >= cost - parts * width  # the first step has one row for all hypotheses


def test_what_speaks_against_a_translation_costs_one_more_pass(
    tiny_translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed: list[int] = []

    def counted(model: Any, sources: list[list[int]], targets: list[list[int]]) -> Any:
        passed.extend(len(source) + 1 + 1 + len(target) for source, target in zip(sources, targets, strict=True))
        return coverages(model, sources, targets)

    monkeypatch.setattr("regard.tasks.translation.native.coverages", counted)
    translator, _ = counting(tiny_translator)  # it never ends, so that all that may be written is
    text = " ".join(SENTENCES[:5])
    [plain], [dearer] = (translator.cost([text], beam=2, warnings=asked) for asked in (False, True))
    assert len(passed) == 0
    translator.translate(text, beam=2, warnings=True)
    assert len(passed) > 1
    assert dearer - plain == sum(passed)


def test_reading_costs_its_tokens(tiny_classifier: Classifier, tiny_writer: TextGenerator) -> None:
    text = " ".join(SENTENCES)
    tokens = len(tiny_classifier.tokenizer.encode(text))
    [short, long] = tiny_classifier.cost([SENTENCES[0], text])
    assert short == len(tiny_classifier.tokenizer.encode(SENTENCES[0])) + 1
    assert tokens < long < 3 * tokens  # windows overlap by half
    [few, many] = (tiny_writer.cost([""], max_new_tokens=new)[0] for new in (5, 500))
    assert few == 6
    assert 2 * 500 - tiny_writer.context <= many <= 2 * 500 + 1  # each half of the context is read again


@pytest.mark.parametrize(
    ("path", "body", "lower"),
    [
        ("/translate", {"text": SENTENCES, "beam": 10}, "Lower beam or nbest, shorten the prefix, or send fewer"),
        ("/translate", {"text": "a", "beam": 10, "prefix": "b " * 20}, "Lower beam"),
        ("/translate", {"text": "a", "sample": True, "nbest": 10, "prefix": "b " * 20}, "Lower beam or nbest"),
        ("/attention", {"text": SENTENCES[0], "beam": 10}, "Lower beam"),
        ("/score", {"source": SENTENCES, "target": SENTENCES}, "Send fewer or shorter pairs"),
        ("/classify", {"text": SENTENCES * 2}, "Send fewer or shorter texts"),
        ("/embed", {"text": SENTENCES * 2}, "Send fewer or shorter texts"),
        ("/generate", {"prompt": "a", "max_new_tokens": 101}, "Lower max_new_tokens"),
        ("/generate", {"prompt": "a", "max_new_tokens": 101, "stream": True}, "Lower max_new_tokens"),
        ("/generate", {"prompt": ["a", "b"], "max_new_tokens": 49}, "Lower max_new_tokens"),
    ],
)
def test_what_costs_too_much_is_refused_before_it_is_computed(
    tiny_translator: Translator, tiny_classifier: Classifier, tiny_writer: TextGenerator,
    path: str, body: dict[str, Any], lower: str,
) -> None:  # fmt: skip
    translator, model = counting(tiny_translator)
    with running({"tiny": translator, "moods": tiny_classifier, "prose": tiny_writer}, TIGHT) as server:
        said = refused(server.post(path, **body), 422)
    assert "this request may cost " in said
    assert "and at most 100 are accepted" in said
    assert lower in said
    assert model.read == model.rows == 0


def test_numbers_to_look_at_are_counted_before_they_are_computed(tiny_translator: Translator) -> None:
    translator, model = counting(tiny_translator)
    seen = next(tiny_translator.attentions(SENTENCES[0], beam=1))
    shown = sum(weights.size for weights in seen.weights.values())
    assert shown <= tiny_translator.look_size(SENTENCES[0], beam=1) < 1_000_000
    with running({"tiny": translator}, Limits(attention_numbers=100)) as server:
        for path, more in (("/attention", {}), ("/translate", {"attention": True})):
            said = refused(server.post(path, text=SENTENCES[0], **more), 422)
            assert "numbers to look at: " in said
            assert "at most 100 are accepted. Lower beam" in said
    assert model.read == model.rows == 0


def test_who_leaves_stops_the_computation(tiny_translator: Translator) -> None:
    translator, model = counting(tiny_translator, held=2)
    body = json.dumps({"text": SENTENCES[0]}).encode()
    lines = ("Content-Type: application/json", f"Content-Length: {len(body)}")
    with running({"tiny": translator}) as server:
        with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as leaving:
            leaving.sendall(head("/translate", *lines) + body)
            assert model.begun.wait(PATIENCE)
            [job] = server.service.batcher.busy
        until(lambda: job.dropped)
        model.free.set()
        with pytest.raises(Cancelled):
            job.future.result(PATIENCE)
    assert model.steps == 3  # the one that it was in, and no other


def test_who_has_waited_too_long_stops_the_computation(tiny_translator: Translator) -> None:
    translator, model = counting(tiny_translator, held=2)
    with running({"tiny": translator}, Limits(answer_seconds=0.5)) as server:
        assert server.post("/translate", text=SENTENCES[0]).status_code == 429
        model.free.set()
        until(lambda: not server.service.batcher.busy)
    assert model.steps <= 3


def test_a_batch_goes_on_while_anybody_waits_for_it(tiny_translator: Translator) -> None:
    translator, _ = counting(tiny_translator)
    batcher = Batcher(Limits())
    stays, leaves = (Job("a", text, 1, lambda texts: translator.translate(texts, beam=1)) for text in SENTENCES[:2])
    batcher.put([stays, leaves])
    leaves.dropped = True
    batcher.start()
    assert stays.future.result(PATIENCE) == translator.translate(SENTENCES[0], beam=1)
    batcher.close()


def test_every_loop_of_every_task_asks_whether_to_go_on(
    tiny_translator: Translator, tiny_classifier: Classifier, tiny_writer: TextGenerator
) -> None:
    for work in (
        lambda: tiny_translator.translate(SENTENCES[0]),
        lambda: tiny_translator.score(SENTENCES[0], SENTENCES[0]),
        lambda: list(tiny_translator.attentions(SENTENCES[0])),
        lambda: tiny_classifier.classify(SENTENCES[0]),
        lambda: tiny_writer.generate("", max_new_tokens=1),
        lambda: tiny_writer.score(SENTENCES[0]),
        lambda: tiny_translator.embed(SENTENCES[0]),
        lambda: tiny_classifier.embed(SENTENCES[0]),
        lambda: tiny_writer.embed(SENTENCES[0]),
        lambda: tiny_translator._doubts(
            [ReadPart(SENTENCES[0])], [[Hypothesis((7, 8), 0.0, 0.0, (0.0, 0.0), "length")]]
        ),
    ):
        with cancellable(lambda: True), pytest.raises(Cancelled, match="called off"):
            work()
    check_cancelled()  # nothing is left of it


def test_what_costs_little_does_not_wait_for_what_costs_much() -> None:
    done: list[str] = []
    batcher = Batcher(Limits(batch_cost=1))
    heavy = [Job(object(), f"heavy {number}", 50_000, lambda items: done.extend(items) or items) for number in range(3)]
    for job in heavy:
        batcher.put([job])
    batcher.put([Job(object(), "light", 10, lambda items: done.extend(items) or items)])
    batcher.start()
    batcher.close()
    assert done == ["light", "heavy 0", "heavy 1", "heavy 2"]


def test_memory_is_given_back_when_it_is_quiet_and_now_and_then_when_it_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Semaphore(0)
    monkeypatch.setattr("regard.serve.batcher.release_memory", released.release)
    batcher = Batcher(Limits())
    batcher.start()
    for _ in range(2):  # each time that it has nothing more to do
        batcher.put([Job("a", 1, 1, lambda items: items)])
        assert released.acquire(timeout=PATIENCE)
    batcher.close()
    monkeypatch.setattr("regard.serve.batcher.BUSY", -1.0)
    batcher = Batcher(Limits(batch_cost=1))
    batcher.put([Job("a", each, 1, lambda items: items) for each in range(3)])
    batcher.start()
    batcher.close()
    assert sum(released.acquire(blocking=False) for _ in range(10)) >= 3


def test_long_runs_of_spaces_do_not_cost_their_square() -> None:
    asked = 0

    def measure(text: str) -> int:
        nonlocal asked
        asked += len(text)
        return len(text.split())

    text = "word " * 50 + " " * 300_000 + "word"
    assert (
        " ".join(part.text for part in split_text(text, 40, measure)).split() == text.split()
    )  # by the square, it would take an hour
    assert asked < 10 * len(text)
