"""A server to test: tiny models behind the real app and the real uvicorn, on a free port of this machine."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import torch
import uvicorn
from fastapi import FastAPI

from regard import config
from regard.checkpoint import unique_weights
from regard.data.tokenizer import Tokenizer
from regard.serve.access import Access
from regard.serve.app import create_app
from regard.serve.connection import patient_for
from regard.serve.limits import DEFAULTS, Limits
from regard.serve.service import Served
from regard.serve.start import _listen
from regard.tasks.classification.assets import ClassificationAssets
from regard.tasks.classification.classifier import Classifier
from regard.tasks.language_model.generator import TextGenerator
from regard.tasks.registry import build
from regard.tasks.trained import save_trained
from regard.tasks.translation.assets import TranslationAssets
from regard.tasks.translation.translator import Translator
from tests.conftest import made_up_sentences

SENTENCES = made_up_sentences(1, 16)
PATIENCE = 20  # seconds until a test gives up


class Watched(Translator):
    """Notes what it is asked to translate, fails at BOOM, and begins nothing while `free` is not set."""

    def __init__(self, like: Translator) -> None:
        super().__init__(like.model, like.tokenizer, like.recipe)
        self.calls: list[list[str]] = []
        self.free = threading.Event()
        self.free.set()

    def translate(self, text: Any, **options: Any) -> Any:
        self.calls.append(list(text))
        assert self.free.wait(PATIENCE)
        if "BOOM" in text:
            raise RuntimeError("a secret of the inside")
        return super().translate(text, **options)


@pytest.fixture(scope="session")
def tiny_translator(exact_translator: Translator) -> Translator:
    """In double precision: what a server translates together must be what is translated alone."""
    return exact_translator


@pytest.fixture
def watched(tiny_translator: Translator) -> Iterator[Watched]:
    made = Watched(tiny_translator)
    yield made
    made.free.set()


@pytest.fixture(scope="module")
def client(tiny_translator: Translator) -> Iterator[httpx.Client]:
    """Of a server with two models, `tiny` and `other`, which are the same."""
    with (
        running({"tiny": tiny_translator, "other": tiny_translator}) as server,
        httpx.Client(base_url=server.url, timeout=PATIENCE) as made,
    ):
        yield made


SHAPE: dict[str, Any] = {"width": 32, "feed_forward": 64, "heads": 4, "layers": 1, "dropout": 0.0, "max_positions": 64}


def make_classifier(tokenizer: Tokenizer) -> Classifier:
    """Untrained, which is as good for telling answers apart."""
    recipe = config.ClassificationRecipe(
        name="moods", data=config.LabelledText(max_tokens=20, long="windows"), model=config.TextEncoder(**SHAPE)
    )
    torch.manual_seed(1)
    labels = ["dull", "7", "기쁨"]  # JavaScript puts numbers first
    model = build(recipe.model, tokenizer.size("source"), len(labels))
    return Classifier(model.double(), recipe, ClassificationAssets(tokenizer, tuple(labels)))  # no rounding decides


def make_writer(tokenizer: Tokenizer) -> TextGenerator:
    recipe = config.LanguageRecipe(
        name="prose", data=config.PlainText(max_tokens=20), model=config.TextDecoder(**SHAPE)
    )
    torch.manual_seed(2)
    return TextGenerator(build(recipe.model, tokenizer.size("source")).double(), tokenizer, recipe)


@pytest.fixture(scope="session")
def tiny_classifier(tiny_tokenizer: Tokenizer) -> Classifier:
    return make_classifier(tiny_tokenizer)


@pytest.fixture(scope="session")
def tiny_writer(tiny_tokenizer: Tokenizer) -> TextGenerator:
    return make_writer(tiny_tokenizer)


@pytest.fixture(scope="session")
def tiny_file(tiny_translator: Translator, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("serve") / "tiny.safetensors"
    weights = {name: weight.float() for name, weight in unique_weights(tiny_translator.model).items()}
    save_trained(
        path, weights, tiny_translator.recipe, TranslationAssets(tiny_translator.tokenizer), tiny_translator.provenance
    )
    return path


class Running:
    """A server on a port of this machine, in a thread."""

    def __init__(self, app: FastAPI, limits: Limits) -> None:
        settings = uvicorn.Config(
            app, http=patient_for(limits.body_seconds), ws="none", log_config=None,
            timeout_graceful_shutdown=PATIENCE,
        )  # fmt: skip
        self.service = app.state.service
        self.server = uvicorn.Server(settings)
        listening = _listen("127.0.0.1", 0)  # as the command does: a socket of its own, and its properties
        self.port = int(listening.getsockname()[1])
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [listening]})

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def post(self, path: str, **body: Any) -> httpx.Response:
        return httpx.post(self.url + path, json=body, timeout=PATIENCE)


@contextmanager
def running(
    models: Mapping[str, Served],
    limits: Limits = DEFAULTS,
    hosts: Collection[str] | None = None,
    folders: Sequence[Path] = (),
    access: Access | None = None,
) -> Iterator[Running]:
    made = Running(create_app(models, limits, hosts, folders=folders, access=access), limits)
    made.thread.start()
    until(lambda: made.server.started)
    try:
        yield made
    finally:
        made.server.should_exit = True
        made.thread.join(PATIENCE)


def until(true: Callable[[], object]) -> None:
    """Wait for something that must happen."""
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.005)
