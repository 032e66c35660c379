"""Models that classify and models that write, alone and beside translators."""

from __future__ import annotations

import json
import logging
import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from regard.serve.limits import Limits
from regard.serve.schemas import Health
from regard.tasks.classification.classifier import Classifier
from regard.tasks.classification.schemas import ClassifyAnswer, ClassifyRequest
from regard.tasks.language_model.generator import Generation, TextGenerator
from regard.tasks.language_model.schemas import GenerateAnswer, GenerateRequest
from regard.tasks.translation.schemas import TranslateRequest
from regard.tasks.translation.translator import Translator
from tests.serve.conftest import PATIENCE, SENTENCES, Running, running, until
from tests.serve.test_endpoints import ask
from tests.serve.test_refusals import refused

TEXTS = [*SENTENCES[:5], "", "   ", "안녕하세요, 세계!", "a\u0000b\nc", "<script>🙂</script>", " ".join(SENTENCES)]
LIMITS = Limits(characters=1_000, classified_characters=2_000, new_tokens=50)


@pytest.fixture(scope="module")
def server(tiny_translator: Translator, tiny_classifier: Classifier, tiny_writer: TextGenerator) -> Iterator[Running]:
    models = {"moods": tiny_classifier, "prose": tiny_writer, "tiny": tiny_translator, "more": tiny_classifier}
    with running(models, LIMITS) as made:
        yield made


@pytest.fixture(scope="module")
def mixed(server: Running) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.url, timeout=PATIENCE) as made:
        yield made


def events_of(lines: Iterator[str]) -> Iterator[tuple[str, Any]]:
    """As a client reads them: the kind and the data of each."""
    kind = ""
    for line in lines:
        name, _, value = line.partition(": ")
        if name == "event":
            kind = value
        elif name == "data":
            yield kind, json.loads(value)
        else:
            assert line == ""


def stream(client: httpx.Client, **body: Any) -> list[tuple[str, Any]]:
    with client.stream("POST", "/generate", json={"stream": True, **body}) as response:
        assert response.status_code == 200, response.read()
        assert response.headers["content-type"].startswith("text/event-stream")
        return list(events_of(response.iter_lines()))


def test_texts_are_labelled_as_the_classifier_would(mixed: httpx.Client, tiny_classifier: Classifier) -> None:
    answer = ask(mixed, "/classify", text=TEXTS)
    assert answer["model"] == "moods"  # the first that can
    for text, found in zip(TEXTS, answer["classifications"], strict=True):
        wanted = tiny_classifier.classify(text).to_dict()  # alone: no answer depends on its company
        assert found == {**wanted, "probabilities": pytest.approx(wanted["probabilities"], abs=1e-5)}
        assert list(found["probabilities"]) == list(wanted["probabilities"])  # the most probable first
    assert (
        len({round(sum(each["probabilities"].values()), 4) for each in answer["classifications"]}) == 2
    )  # 1, or 0 of nothing
    assert (
        len({round(each["probabilities"].get("dull", 0), 3) for each in answer["classifications"]}) > 5
    )  # they differ
    [alone] = ask(mixed, "/classify", text=TEXTS[0], model="more")["classifications"]
    assert alone["label"] == answer["classifications"][0]["label"]
    [nothing] = ask(mixed, "/classify", text="")["classifications"]
    assert (nothing["label"], nothing["probabilities"]) == ("", {})


@pytest.mark.parametrize(
    "options",
    [
        {"max_new_tokens": 6},
        {"max_new_tokens": 12, "temperature": 0},
        {"max_new_tokens": 12, "seed": 2**63 - 1, "top_k": 10**30, "temperature": 2},
        {"max_new_tokens": 12, "seed": 5, "top_k": 5, "top_p": 0.5, "no_repeat_ngram": 2},
        {"max_new_tokens": 50, "seed": 1, "stop": ["a", "안"]},
        {"max_new_tokens": 50, "seed": 2, "stop": "e"},
    ],
)
def test_prompts_go_on_as_the_writer_would_go_on(
    mixed: httpx.Client, tiny_writer: TextGenerator, options: dict[str, Any]
) -> None:
    prompts = [SENTENCES[0], "", "안녕", SENTENCES[1] + " 🙂"]
    answer = ask(mixed, "/generate", prompt=prompts, **options)
    assert answer["model"] == "prose"
    for prompt, found in zip(prompts, answer["generations"], strict=True):
        wanted = tiny_writer.generate(prompt, **options).to_dict()
        logs = pytest.approx(wanted["token_log_probabilities"], abs=1e-4)
        assert found == {**wanted, "token_log_probabilities": logs}


def test_as_many_tokens_as_the_server_allows_unless_it_is_said(mixed: httpx.Client) -> None:
    [found] = ask(mixed, "/generate", prompt="a")["generations"]
    assert (found["finish_reason"], len(found["tokens"])) == ("length", LIMITS.new_tokens)  # it would be 200


@pytest.mark.parametrize(
    "options",
    [
        {"max_new_tokens": 40},
        {"prompt": "", "max_new_tokens": 1},
        {"prompt": "안녕", "max_new_tokens": 40, "seed": 3, "stop": ["e", "in"]},
    ],
)
def test_what_is_streamed_is_what_is_answered(mixed: httpx.Client, options: dict[str, Any]) -> None:
    options = {"prompt": SENTENCES[0], **options}
    *texts, (last, done) = stream(mixed, **options)
    assert {kind for kind, _ in texts} <= {"text"}
    assert last == "done"
    plain = ask(mixed, "/generate", **options)
    assert done["generations"][0]["text"] == plain["generations"][0]["text"]
    assert done["generations"][0]["tokens"] == plain["generations"][0]["tokens"]
    assert "".join(data["text"] for _, data in texts) == plain["generations"][0]["text"]
    assert len(texts) > 1 or options["max_new_tokens"] == 1


def test_answers_are_as_documented(mixed: httpx.Client) -> None:
    ClassifyAnswer.model_validate(ask(mixed, "/classify", text=["a", ""]))
    GenerateAnswer.model_validate(ask(mixed, "/generate", prompt=["a", ""], max_new_tokens=2))
    Health.model_validate(mixed.get("/health").json())
    api = mixed.get("/openapi.json").json()
    assert {"/translate", "/classify", "/generate"} <= set(api["paths"])
    for kind in (ClassifyRequest, GenerateRequest, TranslateRequest):
        [example] = api["components"]["schemas"][kind.__name__]["examples"]
        ask(mixed, f"/{kind.__name__.removesuffix('Request').lower()}", **example)
    assert set(api["paths"]["/generate"]["post"]["responses"]["200"]["content"]) == {
        "application/json", "text/event-stream",
    }  # fmt: skip


def test_health_says_what_each_model_is_for(mixed: httpx.Client) -> None:
    found = mixed.get("/health").json()
    assert found["models"] == ["moods", "prose", "tiny", "more"]
    assert found["tasks"] == {
        "moods": "text-classification",
        "prose": "text-generation",
        "tiny": "translation",
        "more": "text-classification",
    }


BODIES: dict[str, dict[str, Any]] = {
    "/translate": {"text": "a"}, "/attention": {"text": "a"}, "/score": {"source": "a", "target": "a"},
    "/classify": {"text": "a"}, "/generate": {"prompt": "a", "max_new_tokens": 1},
}  # fmt: skip
ANSWERED = {"moods": "/classify", "prose": "/generate", "tiny": "/translate"}


def test_a_model_of_another_task_names_its_path(server: Running) -> None:
    for path, body in BODIES.items():
        for name, own in ANSWERED.items():
            fits = path in (own, "/attention") or (own == "/translate" and path == "/score")
            response = server.post(path, model=name, **body)
            if fits:
                assert response.status_code == 200
                continue
            said = refused(response, 422)
            assert f"the model {name!r} answers {own}; those for this path are: " in said
            able = next(each for each, its in ANSWERED.items() if its == path or its not in ("/classify", "/generate"))
            assert able in said or path in ("/classify", "/generate")
        assert "there is no model 'nobody'" in refused(server.post(path, model="nobody", **body), 404)


def test_a_path_that_no_model_answers_says_who_answers_what(
    tiny_classifier: Classifier, tiny_writer: TextGenerator
) -> None:
    with running({"moods": tiny_classifier, "prose": tiny_writer}) as server:
        said = refused(server.post("/translate", text="a"), 404)
        assert said == (
            "no model here answers this path: the model 'moods' answers /classify; the model 'prose' answers /generate."
        )
        said = refused(server.post("/score", source="a", target="a", model="moods"), 422)
        assert said == "the model 'moods' answers /classify; no model here answers this path."
        documented = httpx.get(f"{server.url}/openapi.json").json()["paths"]
    assert set(documented) == {"/classify", "/generate", "/embed", "/attention", "/health", "/metrics"}


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        ("/classify", {"text": "a" * 2_001}, "characters in one text: 2,001 were given, and at most 2,000 are accepted."),
        ("/classify", {"text": ["a"] * 65}, "texts in one request: 65"),
        ("/classify", {}, "text is missing."),
        ("/classify", {"text": []}, "text should be at least one text, not []."),
        ("/classify", {"text": ["a", None]}, "text.1 should be a valid string, not None."),
        ("/classify", {"text": "a", "labels": 3}, "There is no field 'labels'. There are text, model."),
        ("/classify", {"text": "안 \ud83d"}, "text holds \\ud83d as character 3"),
        ("/generate", {"prompt": "a" * 1_001}, "characters in one text: 1,001"),
        ("/generate", {"prompt": ["a"] * 65}, "texts in one request: 65"),
        ("/generate", {"prompt": "a", "max_new_tokens": 51}, "max_new_tokens: 51 were given, and at most 50 are accepted."),
        ("/generate", {"prompt": "a", "stop": ["a"] * 65}, "stop strings: 65"),
        ("/generate", {"prompt": "a", "stop": "a" * 1_001}, "characters in the stop strings: 1,001"),
        ("/generate", {}, "prompt is missing."),
        ("/generate", {"prompt": 3}, "prompt should be a text or a list of texts, not 3."),
        ("/generate", {"prompt": "a", "max_new_tokens": 0}, "max_new_tokens should be greater than or equal to 1, not 0."),
        ("/generate", {"prompt": "a", "temperature": -1}, "temperature should be greater than or equal to 0, not -1."),
        ("/generate", {"prompt": "a", "top_p": 0}, "top_p should be greater than 0, not 0."),
        ("/generate", {"prompt": "a", "seed": -1}, "seed should be greater than or equal to 0, not -1."),
        ("/generate", {"prompt": "a", "stop": ""}, "stop.0 should be at least one character, not ''."),
        ("/generate", {"prompt": "a", "stop": 3}, "stop should be a valid list, not 3."),
        ("/generate", {"prompt": "a", "most": 3}, "most is now called max_new_tokens."),
        ("/generate", {"prompt": "a", "sead": 3}, "There is no field 'sead'. Did you mean 'seed'?"),
        ("/generate", {"prompt": ["a", "b"], "stream": True}, "only one prompt can be streamed, and 2 were given."),
        ("/generate", {"prompt": "a", "stream": True, "max_new_tokens": 51}, "max_new_tokens: 51"),
    ],
)  # fmt: skip
def test_mistakes_are_sentences(server: Running, path: str, body: dict[str, Any], said: str) -> None:
    headers = {"Content-Type": "application/json"}
    assert said in refused(httpx.post(server.url + path, content=json.dumps(body), headers=headers), 422)


def test_metrics_count_each_task(mixed: httpx.Client) -> None:
    def counted() -> dict[str, float]:
        families = text_string_to_metric_families(mixed.get("/metrics").text)
        return {each.name: each.value for family in families for each in family.samples if not each.labels}

    before = counted()
    ask(mixed, "/classify", text=["a", "b"])
    ask(mixed, "/generate", prompt=["a", "b", "c"], max_new_tokens=2)
    stream(mixed, prompt="a", max_new_tokens=2)
    after = counted()
    for name, grown in (("translated", 0), ("classified", 2), ("generated", 4)):
        assert after[f"regard_texts_{name}_total"] - before[f"regard_texts_{name}_total"] == grown


class Slow(TextGenerator):
    """Says one word whenever it is let; raises at BOOM. `wrote` counts the words that went out."""

    def __init__(self, like: TextGenerator) -> None:
        super().__init__(like.model, like.tokenizer, like.recipe)
        self.steps = threading.Semaphore(0)
        self.wrote = 0
        self.begun = self.ended = 0

    def generate(self, prompt: Any = "", *, on_text: Any = None, **options: Any) -> Any:
        self.begun += 1
        try:
            prompts = [prompt] if isinstance(prompt, str) else prompt
            for _ in range(options["max_new_tokens"]):
                assert self.steps.acquire(timeout=PATIENCE)
                if on_text is not None:
                    on_text("말 ")
                self.wrote += 1
                if "BOOM" in prompts and self.wrote == 2:
                    raise RuntimeError("a secret of the inside")
            made = [Generation(each, "말 " * options["max_new_tokens"], [], [], "length") for each in prompts]
            return made[0] if isinstance(prompt, str) else made
        finally:
            self.ended += 1

    def let(self, words: int) -> None:
        for _ in range(words):
            self.steps.release()


@pytest.fixture
def slow(tiny_writer: TextGenerator) -> Iterator[Slow]:
    made = Slow(tiny_writer)
    yield made
    made.let(10_000)


def opened(server: Running, **body: Any) -> Any:
    return httpx.stream("POST", f"{server.url}/generate", json={"stream": True, **body}, timeout=PATIENCE)


def test_text_comes_while_it_is_written(slow: Slow) -> None:
    with running({"prose": slow}) as server:
        slow.let(1)
        with opened(server, prompt="a", max_new_tokens=2) as response:
            events = events_of(response.iter_lines())
            assert next(events) == ("text", {"text": "말 "})
            assert slow.ended == 0  # it still writes
            slow.let(1)
            assert [kind for kind, _ in events] == ["text", "done"]


def test_who_leaves_stops_the_writing(slow: Slow, caplog: pytest.LogCaptureFixture) -> None:
    with ThreadPoolExecutor(1) as pool, running({"prose": slow}) as server:
        slow.let(1)
        with opened(server, prompt="a", max_new_tokens=1_000) as response:
            next(events_of(response.iter_lines()))
        until(lambda: 'path="/generate",status="499"} 1.0' in server.service.metrics.text().decode())
        slow.let(1)
        until(lambda: slow.ended == 1)
        assert slow.wrote == 1
        slow.let(2)
        assert pool.submit(server.post, "/generate", prompt="b", max_new_tokens=2).result(PATIENCE).status_code == 200
    assert not [each for each in caplog.records if each.levelno >= logging.WARNING]


def test_who_leaves_before_the_turn_is_forgotten(slow: Slow) -> None:
    with ThreadPoolExecutor(2) as pool, running({"prose": slow}) as server:
        first = pool.submit(server.post, "/generate", prompt="a", max_new_tokens=1)
        until(lambda: slow.begun == 1)
        with httpx.Client(base_url=server.url, timeout=httpx.Timeout(PATIENCE, read=0.5)) as leaving:
            asked = pool.submit(leaving.post, "/generate", json={"prompt": "b", "max_new_tokens": 1, "stream": True})
            until(lambda: server.service.batcher.waiting == 1)
            with pytest.raises(httpx.ReadTimeout):
                asked.result(PATIENCE)
        until(lambda: server.service.batcher.waiting == 0)
        slow.let(1)
        assert first.result(PATIENCE).status_code == 200
    assert slow.begun == 1


def test_a_stream_that_takes_too_long_ends_with_an_error(slow: Slow) -> None:
    with running({"prose": slow}, Limits(answer_seconds=0.5)) as server:
        slow.let(1)
        with opened(server, prompt="a", max_new_tokens=10) as response:
            assert response.status_code == 200
            events = list(events_of(response.iter_lines()))
        assert [kind for kind, _ in events] == ["text", "error"]
        assert "within 0.5 s" in events[1][1]["detail"]
        slow.let(1)
        until(lambda: slow.ended == 1)
        assert slow.wrote == 1
        refusal = server.post("/generate", prompt="b", max_new_tokens=10, stream=True)  # none of it came in time
        assert "within 0.5 s" in refused(refusal, 429)
        assert refusal.headers["retry-after"]
        slow.let(1)
        until(lambda: slow.ended == 2)


def test_a_full_queue_refuses_a_stream_like_any_request(slow: Slow) -> None:
    with ThreadPoolExecutor(2) as pool, running({"prose": slow}, Limits(waiting=1, texts=1)) as server:
        waiting = [pool.submit(server.post, "/generate", prompt="a", max_new_tokens=1, seed=0)]
        until(lambda: slow.begun == 1)
        waiting.append(pool.submit(server.post, "/generate", prompt="a", max_new_tokens=1, seed=1))
        until(lambda: server.service.batcher.waiting == 1)
        assert "at most 1 may" in refused(server.post("/generate", prompt="b", stream=True), 429)
        slow.let(2)
        assert [each.result(PATIENCE).status_code for each in waiting] == [200, 200]


def test_a_stream_that_fails_breaks_off_and_takes_nothing_with_it(slow: Slow, caplog: pytest.LogCaptureFixture) -> None:
    with running({"prose": slow}) as server:
        slow.let(2)
        with opened(server, prompt="BOOM", max_new_tokens=5) as response, pytest.raises(httpx.RemoteProtocolError):
            list(events_of(response.iter_lines()))
        slow.let(1)
        assert server.post("/generate", prompt="b", max_new_tokens=1).status_code == 200
        number = response.headers["x-request-id"]
        until(lambda: any(number in each.getMessage() and each.exc_info for each in caplog.records))


def test_prompts_with_other_options_do_not_share_a_batch(slow: Slow) -> None:
    options: list[dict[str, Any]] = [
        {"seed": 1},
        {"seed": 2},
        {"stop": ["a"]},
        {"stop": ["a", "b"]},
        {"temperature": 0},
    ]
    with ThreadPoolExecutor(20) as pool, running({"prose": slow}) as server:
        first = pool.submit(server.post, "/generate", prompt="a", max_new_tokens=1)
        until(lambda: slow.begun == 1)
        waiting = [pool.submit(server.post, "/generate", prompt="a", max_new_tokens=1, **each) for each in options * 2]
        until(lambda: server.service.batcher.waiting == len(waiting))
        slow.let(100)
        assert {each.result(PATIENCE).status_code for each in (first, *waiting)} == {200}
    assert slow.begun == 1 + len(options)


def page_of(url: str) -> tuple[httpx.Response, Any]:
    response = httpx.get(url)
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', response.text, re.DOTALL)
    assert found
    return response, json.loads(found[1])


def test_without_a_translator_the_page_asks_what_there_is(
    tiny_classifier: Classifier, tiny_writer: TextGenerator
) -> None:
    hostile = "</script><img src=x>"
    with running({"moods": tiny_classifier, hostile: tiny_writer}, LIMITS) as server:
        response, data = page_of(server.url)
    assert [(each["name"], each["path"]) for each in data["models"]] == [
        ("moods", "/classify"), (hostile, "/generate"),
    ]  # fmt: skip
    assert data["models"][0]["labels"] == list(tiny_classifier.labels)
    assert [each["most_characters"] for each in data["models"]] == [2_000, 1_000]
    assert data["models"][1]["most_new_tokens"] == LIMITS.new_tokens
    assert hostile not in response.text
    assert "default-src 'none'" in response.headers["content-security-policy"]
    assert not re.search(r"/\*(STYLE|SCRIPT|DATA)\*/", response.text)
    assert not re.search(r"""["'(=](?:https?:)?//(?!www\.w3\.org/2000/svg)""", response.text)  # nothing from elsewhere


def test_beside_a_translator_the_live_page_is_the_translators(mixed: httpx.Client) -> None:
    _, data = page_of(str(mixed.base_url))
    assert [each["name"] for each in data["live"]["models"]] == ["tiny"]
