"""The service knows no task: it asks the rows, also those that come from outside of the package."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from fastapi import FastAPI, Request
from starlette.responses import Response

import regard
from regard.errors import UsageError
from regard.serve.app import create_app
from regard.serve.batcher import Job
from regard.serve.endpoint import encode, endpoint, json_answer, json_list
from regard.serve.limits import Limits
from regard.serve.schemas import Answered, Asked, Model, Texts
from regard.serve.service import Service
from regard.tasks.classification.classifier import Classifier
from regard.tasks.registry import all_tasks, find_task, forget_task, register_task
from regard.tasks.task import Task
from regard.tasks.translation.translator import Translator
from tests.serve.conftest import PATIENCE, running
from tests.serve.test_refusals import refused
from tests.serve.test_tasks import page_of

SERVE = Path(regard.__file__).parent / "serve"

NOT_SERVED = ("image-codes",)


def names_of_tasks() -> set[str]:
    rows = [find_task(name) for name in ("translation", "text-classification", "text-generation")]
    names = {
        name for row in rows for name in (row.name, row.verb, row.settings.room, *row.settings.aliases)
    }  # `translate`, `text-classification`, `language_model` …
    classes = {name for name in regard.__all__ if name[0].isupper()} - {"RegardError"}
    answers = {"Translated", "Scored", "Classified", "Generated"}
    return names | classes | answers | {"/score"}


@pytest.mark.parametrize("path", sorted(SERVE.iterdir()), ids=lambda path: path.name)
def test_no_module_of_the_service_names_a_task(path: Path) -> None:
    if not path.is_file():
        return
    pattern = "|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in sorted(names_of_tasks()))
    assert not re.findall(pattern, path.read_text(encoding="utf-8"))


class EchoRequest(Asked):
    """What to say again."""

    text: Texts
    model: Model = None


class EchoAnswer(Answered):
    model: str
    echoes: list[str]


def add_echo(app: FastAPI, service: Service) -> None:
    counted = service.metrics.texts("echoed")

    @app.post("/echo", **endpoint(service, "echo", EchoAnswer))
    async def echo(asked: EchoRequest, request: Request) -> Response:
        """Say it again."""
        name, model = service.find(asked.model, "echo")
        service.check_texts(asked.text)

        def run(texts: list[str]) -> list[bytes]:
            return [encode(model.again(text)) for text in texts]

        found = await service.answers(request, [Job(name, text, len(text), run) for text in asked.text])
        counted.inc(len(found))
        return json_answer(model=encode(name), echoes=json_list(found))


class Echo:
    """A model of the task."""

    recipe = SimpleNamespace(task="echo", name="hall")

    def again(self, text: str) -> str:
        return text + text


def row(**fields: Any) -> Task:
    """Like that of a task which is there, where the service does not look."""
    like = find_task("text-classification")
    settings = replace(like.settings, name="echo", aliases=(), verb="echo")
    return replace(
        like, settings=settings, **{"serve": None, "ask": None, "front_page": None, "glass_box": None, **fields}
    )


@pytest.fixture
def registered() -> Iterator[Any]:
    """What registers a row until the test is over."""

    def register(**fields: Any) -> None:
        register_task(row(**fields))

    yield register
    if "echo" in [task.name for task in all_tasks()]:
        forget_task("echo")


def test_the_paths_of_a_registered_task_are_served(registered: Any, tiny_classifier: Classifier) -> None:
    registered(serve=add_echo)
    with running({"moods": tiny_classifier, "hall": Echo()}, Limits(characters=5)) as server:
        assert server.post("/echo", text=["a", "안"]).json() == {"model": "hall", "echoes": ["aa", "안안"]}
        assert "characters in one text: 6" in refused(server.post("/echo", text="a" * 6), 422)
        assert refused(server.post("/echo", texts="a"), 422) == (
            "text is missing. There is no field 'texts'. Did you mean 'text'? There are text, model."
        )
        said = refused(server.post("/echo", text="a", model="moods"), 422)
        assert said == "the model 'moods' answers /classify; those for this path are: hall."
        said = refused(server.post("/classify", text="a", model="hall"), 422)
        assert said == "the model 'hall' answers /echo; those for this path are: moods."
        with httpx.Client(base_url=server.url, timeout=PATIENCE) as client:
            assert client.get("/health").json()["tasks"]["hall"] == "echo"
            assert {"/echo", "/classify"} <= set(client.get("/openapi.json").json()["paths"])
            metrics = client.get("/metrics").text
    assert "regard_texts_echoed_total 2.0" in metrics
    assert 'regard_requests_total{path="/echo",status="200"} 1.0' in metrics


def test_a_registered_task_without_a_model_says_so(registered: Any, tiny_classifier: Classifier) -> None:
    registered(serve=add_echo, front_page=lambda service, folders: "nobody sees this")
    with running({"moods": tiny_classifier}) as server:
        said = refused(server.post("/echo", text="a"), 404)
        assert said == "no model here answers this path: the model 'moods' answers /classify."
        assert "/echo" not in httpx.get(f"{server.url}/openapi.json").json()["paths"]
        assert [each["name"] for each in page_of(server.url)[1]["models"]] == ["moods"]


def test_the_front_page_is_that_of_a_task_with_a_model(
    registered: Any, tiny_classifier: Classifier, tiny_translator: Translator, tmp_path: Path
) -> None:
    def page(service: Service, folders: Sequence[Path]) -> str:
        return f"<p>{', '.join(service.of('echo'))} of {folders[0].name}</p>"

    registered(serve=add_echo, front_page=page)
    models: dict[str, Any] = {"moods": tiny_classifier, "hall": Echo()}
    with running(models, folders=[tmp_path / "here"]) as server:
        assert httpx.get(server.url).text == "<p>hall of here</p>"
    with running({**models, "tiny": tiny_translator}) as server:  # whose task comes first in the table
        assert page_of(server.url)[1]["live"]["models"][0]["name"] == "tiny"


def test_models_that_no_page_asks_are_left_to_the_docs(registered: Any, tiny_classifier: Classifier) -> None:
    registered(serve=add_echo)
    with running({"hall": Echo()}) as server:
        assert httpx.get(server.url).text == httpx.get(f"{server.url}/docs").text
    with running({"hall": Echo(), "moods": tiny_classifier}) as server:
        assert [each["name"] for each in page_of(server.url)[1]["models"]] == ["moods"]


def test_a_task_without_paths_is_refused_before_anything_is_served(registered: Any) -> None:
    registered()
    with pytest.raises(UsageError, match="the model 'hall' cannot be served: its task, 'echo', has no path of its own"):
        create_app({"hall": Echo()})


def test_every_task_of_the_package_has_a_page_and_says_what_it_is_asked(tiny_classifier: Classifier) -> None:
    for task in all_tasks():
        if task.name in NOT_SERVED:
            continue
        assert task.serve is not None
        assert task.ask is not None or task.front_page is not None
    ask = find_task("text-classification").ask
    assert ask is not None
    json.dumps(ask(tiny_classifier, Limits()))
