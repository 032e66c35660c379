"""What each endpoint answers."""

from __future__ import annotations

import base64
import hashlib
import json
import logging
import re
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from regard import __version__
from regard.serve.attention_route import AttentionAnswer, AttentionRequest
from regard.serve.schemas import Health
from regard.tasks.translation import schemas
from regard.tasks.translation.native import Native
from regard.tasks.translation.translator import Translator
from tests.serve.conftest import PATIENCE, SENTENCES, running, until
from tests.tasks.second import Second

TEXT = SENTENCES[0]


def ask(client: httpx.Client, path: str, **body: Any) -> dict[str, Any]:
    response = client.post(path, json=body)
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


def test_one_text_gives_a_list_of_one_as_the_translator_would(
    client: httpx.Client, tiny_translator: Translator
) -> None:
    answer = ask(client, "/translate", text=TEXT)
    assert answer["model"] == "tiny"
    [found] = answer["translations"]
    wanted = tiny_translator.translate(TEXT).to_dict()
    assert found == {**wanted, "score": pytest.approx(wanted["score"], abs=1e-4),
                     "token_log_probabilities": pytest.approx(wanted["token_log_probabilities"], abs=1e-4)}  # fmt: skip


def test_many_texts_keep_their_order(client: httpx.Client, tiny_translator: Translator) -> None:
    answer = ask(client, "/translate", text=SENTENCES, model="other")
    assert answer["model"] == "other"
    assert [each["text"] for each in answer["translations"]] == [
        each.text for each in tiny_translator.translate(SENTENCES)
    ]


@pytest.mark.parametrize(
    "options",
    [
        {"beam": 1},
        {"nbest": 3, "length_penalty": "mean"},
        {"sample": True, "seed": 7, "temperature": 2, "top_k": 50, "top_p": 0.9, "nbest": 2},
        {"sample": True, "seed": 2**63 - 1, "temperature": 1e-300, "top_k": 10**30},
        {"prefix": "Ba", "no_repeat_ngram": 2, "alpha": 1.5},
    ],
)
def test_options_reach_the_search(client: httpx.Client, tiny_translator: Translator, options: dict[str, Any]) -> None:
    found = ask(client, "/translate", text=TEXT, **options)["translations"][0]
    wanted = tiny_translator.translate(TEXT, **options)  # type: ignore[arg-type]
    assert found["text"] == wanted.text
    assert [each["text"] for each in found.get("alternatives", [])] == [each.text for each in wanted.alternatives]


def test_a_long_text_is_told_part_by_part(client: httpx.Client) -> None:
    text = " ".join(SENTENCES[:6])
    [wanted] = ask(client, "/translate", text=text)["translations"]
    with client.stream("POST", "/translate", json={"text": text, "stream": True}) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        lines = [line for line in response.iter_lines() if line]
    events = [json.loads(line.removeprefix("data: ")) for line in lines[1::2]]
    assert set(lines[:-2:2]) == {"event: text"}
    assert lines[-2] == "event: done"
    assert "".join(each["text"] for each in events[:-1]) == wanted["text"] == events[-1]["translations"][0]["text"]
    assert len(events) > 2
    for more in ({"text": [text, text]}, {"text": text, "nbest": 2}, {"text": text, "attention": True}):
        refused = client.post("/translate", json={**more, "stream": True})
        assert (refused.status_code, "streamed" in refused.text) == (422, True)


def test_attention_comes_with_a_translation_if_asked_for(client: httpx.Client) -> None:
    assert "attention" not in ask(client, "/translate", text=TEXT)["translations"][0]
    found = ask(client, "/translate", text=[TEXT, "", " ".join(SENTENCES[:6])], attention=True)["translations"]
    assert [len(each["attention"]) for each in found] == [each["parts"] for each in found]
    assert [each["parts"] for each in found][:2] == [1, 0]
    assert found[2]["parts"] > 1
    [scene] = found[0]["attention"]
    assert scene["target"]["text"] == found[0]["text"]
    assert scene["walk"] is None


def test_heads_switched_off_change_one_answer_and_no_other(client: httpx.Client, tiny_translator: Translator) -> None:
    off = {name: [0, 1, 2, 3] for names in tiny_translator.model.attention_names().values() for name in names}
    plain = ask(client, "/attention", text=TEXT)
    for change in ({"off": off}, {"temperature": 30.0}, {"hard": True}):
        changed = ask(client, "/attention", text=TEXT, **change)
        assert changed["scenes"][0]["alternatives"] != plain["scenes"][0]["alternatives"]
        assert ask(client, "/attention", text=TEXT) == plain


def test_attention_is_of_what_the_engine_translates(tiny_translator: Translator) -> None:
    given = tiny_translator
    other = Translator(given.model, given.tokenizer, given.recipe, {}, Second(Native(given.model)))
    with running({"other": other}) as server, httpx.Client(base_url=server.url, timeout=PATIENCE) as client:
        found = ask(client, "/translate", text=TEXT, attention=True)["translations"][0]
        [scene] = ask(client, "/attention", text=TEXT)["scenes"]
        refused = client.post("/attention", json={"text": TEXT, "hard": True})
    assert found["text"] != given.translate(TEXT).text
    assert found["attention"][0]["target"]["text"] == scene["target"]["text"] == found["text"]
    assert scene["beside"] == given.translate(TEXT).text
    assert refused.status_code == 422
    assert "only the native engine" in refused.json()["detail"]


def test_the_walk_is_there_if_asked_for(client: httpx.Client) -> None:
    assert ask(client, "/attention", text=TEXT)["scenes"][0]["walk"] is None
    assert ask(client, "/attention", text=TEXT, walk=True, beam=2)["scenes"][0]["walk"]


def test_scores_are_those_of_the_translator(client: httpx.Client, tiny_translator: Translator) -> None:
    one = ask(client, "/score", source=TEXT, target=SENTENCES[1])["scores"]
    many = ask(client, "/score", source=[TEXT, SENTENCES[2]], target=[SENTENCES[1], SENTENCES[3]])["scores"]
    assert many[0]["tokens"] == one[0]["tokens"]
    assert many[0]["token_log_probabilities"] == pytest.approx(one[0]["token_log_probabilities"], abs=1e-4)
    wanted = tiny_translator.score(SENTENCES[2], SENTENCES[3])
    assert many[1]["log_probability"] == pytest.approx(wanted.log_probability, abs=1e-4)
    assert many[1]["perplexity"] == pytest.approx(wanted.perplexity, rel=1e-4)
    assert many[1]["tokens"] == wanted.tokens


def test_scores_are_computed_together(client: httpx.Client, tiny_translator: Translator) -> None:
    rows: list[int] = []
    with tiny_translator.model.register_forward_hook(lambda module, given, output: rows.append(len(given[0]))):
        ask(client, "/score", source=SENTENCES, target=SENTENCES)
    assert rows == [len(SENTENCES)]


def test_answers_are_as_documented(client: httpx.Client) -> None:
    kinds = {
        "/translate": schemas.TranslateAnswer,
        "/attention": AttentionAnswer,
        "/score": schemas.ScoreAnswer,
    }
    bodies: dict[str, dict[str, Any]] = {
        "/translate": {"text": [TEXT, ""], "nbest": 2, "attention": True},
        "/attention": {"text": TEXT}, "/score": {"source": TEXT, "target": TEXT},
    }  # fmt: skip
    for path, kind in kinds.items():
        kind.model_validate(ask(client, path, **bodies[path]))
    Health.model_validate(client.get("/health").json())


def test_documented_examples_work(client: httpx.Client) -> None:
    api = client.get("/openapi.json").json()
    assert set(api["paths"]) == {
        "/translate",
        "/attention",
        "/score",
        "/embed",
        "/health",
        "/metrics",
    }  # what these models answer
    for kind in (schemas.TranslateRequest, AttentionRequest, schemas.ScoreRequest):
        path = f"/{kind.__name__.removesuffix('Request').lower()}"
        [example] = api["components"]["schemas"][kind.__name__]["examples"]
        ask(client, path, **example)


def test_health(client: httpx.Client) -> None:
    assert client.get("/health").json() == {
        "status": "ok", "models": ["tiny", "other"], "tasks": {"tiny": "translation", "other": "translation"},
        "engines": {"tiny": "native", "other": "native"}, "languages": {"tiny": ["target"], "other": ["target"]},
        "version": __version__,
    }  # fmt: skip


@pytest.mark.parametrize("path", ["/", "/docs", "/health"])
def test_head_is_get_without_the_body(client: httpx.Client, path: str) -> None:
    head, get = client.head(path), client.get(path)
    assert head.status_code == 200
    assert head.content == b""
    for name in ("content-type", "content-length"):
        assert head.headers[name] == get.headers[name]


def test_every_request_is_a_line_of_the_log_and_no_text_is(
    client: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "regard.serve")
    responses = [
        client.post("/translate", json={"text": SENTENCES[:3]}),
        client.head("/health"),
        client.post("/translate", json={"text": SENTENCES[:3], "beam": SENTENCES[0]}),
        client.get("/a%0Ab?text=c"),
    ]
    wanted = [
        (logging.DEBUG, "POST /translate 200", 3), (logging.DEBUG, "HEAD /health 200", 0),
        (logging.INFO, "POST /translate 422", 0), (logging.INFO, r"GET /a\nb 404", 0),
    ]  # fmt: skip

    numbers = [response.headers["x-request-id"] for response in responses]

    def lines() -> list[logging.LogRecord]:  # not those of an earlier request, which may come late
        return [each for each in caplog.records if each.getMessage().endswith(tuple(numbers))]

    until(lambda: len(lines()) == len(wanted))
    for line, number, (level, began, texts) in zip(lines(), numbers, wanted, strict=True):
        assert line.levelno == level
        said = rf"{re.escape(began)} in \d+ ms, texts {texts}, request {number}"
        assert re.fullmatch(said, line.getMessage())


@pytest.mark.parametrize(
    "text", ["", "   ", "안녕하세요, 세계!", "<script>alert(1)</script>", "a\u0000b\nc", "🙂" * 50]
)
def test_any_text_is_answered(client: httpx.Client, tiny_translator: Translator, text: str) -> None:
    [found] = ask(client, "/translate", text=text)["translations"]
    assert found["text"] == tiny_translator.translate(text).text


def test_nothing_to_look_at_is_said(client: httpx.Client) -> None:
    response = client.post("/attention", json={"text": ""})
    assert response.status_code == 422
    assert response.json() == {"detail": "there is nothing to look at: the text is empty"}


@pytest.mark.parametrize("path", ["/", "/docs"])
def test_pages_need_nothing_from_elsewhere(client: httpx.Client, path: str) -> None:
    response = client.get(path)
    assert response.headers["content-type"].startswith("text/html")
    addresses = set(re.findall(r"""["'(=](?:https?:)?//[^\s"')]+""", response.text))
    assert {address.lstrip("\"'(=") for address in addresses} <= {"http://www.w3.org/2000/svg"}  # a name, not a place
    policy = response.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "connect-src 'self'" in policy
    scripts = re.findall(r"<script>(.*?)</script>", response.text, re.DOTALL)
    assert scripts
    for script in scripts:
        assert base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() in policy


def test_the_page_knows_the_models(client: httpx.Client, tiny_translator: Translator) -> None:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', client.get("/").text, re.DOTALL)
    assert found
    live = json.loads(found[1])["live"]
    assert [each["name"] for each in live["models"]] == ["tiny", "other"]
    assert live["models"][0]["attentions"] == tiny_translator.model.attention_names()
    assert live["models"][0]["beam"] == tiny_translator.recipe.decoding.beam
    assert live["most_characters"] > 0


def metrics(client: httpx.Client) -> dict[tuple[str, tuple[str, ...]], float]:
    text = client.get("/metrics").text
    return {
        (sample.name, tuple(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_metrics_count(client: httpx.Client) -> None:
    before = metrics(client)
    ask(client, "/translate", text=SENTENCES[:3])
    for number in range(5):
        assert client.get(f"/made-up-{number}").status_code == 404
    after = metrics(client)

    def grown(name: str, *labels: str) -> float:
        return after[name, labels] - before.get((name, labels), 0)

    assert grown("regard_requests_total", "/translate", "200") == 1
    assert grown("regard_request_seconds_count", "/translate") == 1
    assert grown("regard_requests_total", "other", "404") == 5
    assert grown("regard_texts_translated_total") == 3
    assert grown("regard_batch_texts_sum") == 3
    assert after["regard_waiting_texts", ()] == 0
    assert not any("made-up" in label for _, labels in after for label in labels)


def test_a_long_text_cannot_ask_for_endless_numbers(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """What can be walked through is bounded for all parts of a text together."""
    monkeypatch.setattr("regard.view.scenes.MOST_WALKED", 20_000)
    found = ask(client, "/attention", text=" ".join(SENTENCES), walk=True)["scenes"]
    assert len(found) > 3
    assert found[-1]["walk"] is None


def test_health_tells_of_a_dead_thread(tiny_translator: Translator) -> None:
    with running({"tiny": tiny_translator}) as server:
        batcher = server.service.batcher
        assert httpx.get(f"{server.url}/health").status_code == 200
        batcher.close()
        answer = httpx.get(f"{server.url}/health")
    assert answer.status_code == 503
    assert "start the server again" in answer.json()["detail"]
