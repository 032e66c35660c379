"""Models that read pictures and models that paint them, over HTTP."""

from __future__ import annotations

import base64
import io
import struct
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

import regard
from regard.data.tokenizer import Tokenizer
from regard.serve.limits import Limits
from regard.tasks.image_classification.recognizer import Recognizer
from regard.tasks.image_classification.schemas import RecognizeAnswer, RecognizeRequest
from regard.tasks.text_to_image.painter import Painter
from regard.tasks.text_to_image.schemas import PaintAnswer, PaintRequest
from tests.serve.conftest import PATIENCE, Running, running, until
from tests.serve.test_endpoints import ask
from tests.serve.test_refusals import refused
from tests.serve.test_tasks import events_of, page_of
from tests.tasks.painters import GRID, make_painter
from tests.tasks.shapes import LABELS, shapes, untrained

PIL = pytest.importorskip("PIL.Image")

LIMITS = Limits(cost=3_000, characters=200, pictures=4, picture_pixels=250_000)


@pytest.fixture(scope="module")
def recognizer(tmp_path_factory: pytest.TempPathFactory) -> Recognizer:
    made: Recognizer = regard.load(untrained(tmp_path_factory.mktemp("pictures") / "model.safetensors"))
    return made


@pytest.fixture(scope="module")
def painter(tiny_tokenizer: Tokenizer) -> Painter:
    return make_painter(tiny_tokenizer)


@pytest.fixture(scope="module")
def server(recognizer: Recognizer, painter: Painter) -> Iterator[Running]:
    with running({"eye": recognizer, "brush": painter}, LIMITS) as made:
        yield made


@pytest.fixture(scope="module")
def client(server: Running) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.url, timeout=PATIENCE) as made:
        yield made


def file_of(picture: Any, kind: str = "PNG", **options: Any) -> bytes:
    file = io.BytesIO()
    (PIL.fromarray(picture) if isinstance(picture, np.ndarray) else picture).save(file, kind, **options)
    return file.getvalue()


def sent(file: bytes) -> str:
    return base64.b64encode(file).decode()


PICTURES = [picture for picture, _ in shapes(4, 1)]


def test_pictures_are_labelled_as_the_model_would(client: httpx.Client, recognizer: Recognizer) -> None:
    files = [file_of(each) for each in PICTURES]
    answer = ask(client, "/recognize", picture=[sent(each) for each in files])
    RecognizeAnswer.model_validate(answer)
    assert (answer["model"], answer["look"]) == ("eye", None)
    for picture, found in zip(PICTURES, answer["recognitions"], strict=True):
        wanted = recognizer.recognize(picture)
        assert found["label"] == wanted.label
        assert found["probabilities"] == pytest.approx(dict(wanted.probabilities), abs=1e-5)
        assert found["animated"] is False
    assert len({each["label"] for each in answer["recognitions"]} | set(LABELS)) == 3
    address = f"data:image/png;base64,{sent(files[0])}"  # as a page reads a file
    [alone] = ask(client, "/recognize", picture=address)["recognitions"]
    assert alone["probabilities"] == pytest.approx(answer["recognitions"][0]["probabilities"], abs=1e-5)


def test_a_look_is_what_the_page_draws(client: httpx.Client, recognizer: Recognizer) -> None:
    answer = ask(client, "/recognize", picture=sent(file_of(PICTURES[0])), look=True)
    wanted = recognizer.look(PICTURES[0]).data()
    assert answer["look"].keys() == wanted.keys()
    assert answer["look"]["pixels"] == wanted["pixels"]
    assert answer["look"]["weights"]["shape"] == wanted["weights"]["shape"]
    said = refused(client.post("/recognize", json={"picture": [sent(file_of(PICTURES[0]))] * 2, "look": True}), 422)
    assert said == "only one picture can be looked at, and 2 were given."


def bomb(width: int, height: int) -> bytes:
    """A PNG of a few kilobytes that claims any number of pixels, and keeps its word."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = zlib.compress(bytes(min(1_000_000, (width + 1) * height)), 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


WHOLE = file_of(PICTURES[0])
SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><image href="file:///etc/passwd"/></svg>'
GIF = file_of(PIL.new("P", (9, 9)), "GIF")
NO_PICTURE = "the picture is no PNG, JPEG or WebP picture, or it is damaged"
HOSTILE = {
    "a bomb": (bomb(500, 501), "the picture is 500 × 501 pixels; at most 250,000 are read"),
    "a large bomb": (bomb(60_000, 60_000), "the picture claims to have more than 50,000,000 pixels"),
    "the largest bomb": (bomb(2**31 - 1, 2**31 - 1), "the picture claims to have more than 50,000,000 pixels"),
    "cut short": (WHOLE[: len(WHOLE) // 2], "the picture is damaged or cut short: "),
    "a head alone": (WHOLE[:40], NO_PICTURE),
    "less than a head": (WHOLE[:12], NO_PICTURE),
    "an SVG": (SVG, NO_PICTURE),
    "a GIF": (GIF, NO_PICTURE),
    "nothing": (b"", "the picture is empty"),
    "noise": (bytes(range(256)) * 4, NO_PICTURE),
    "a text": (b"<script>alert(1)</script>", NO_PICTURE),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_no_picture_is_refused(client: httpx.Client, name: str) -> None:
    file, wanted = HOSTILE[name]
    assert refused(client.post("/recognize", json={"picture": sent(file)}), 422).startswith(wanted)
    two = refused(client.post("/recognize", json={"picture": [sent(WHOLE), sent(file)]}), 422)
    assert two.startswith("picture 1 (counting from 0)")
    assert ask(client, "/recognize", picture=sent(WHOLE))["model"] == "eye"  # as if nothing had been


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ({"picture": "not base64!"}, "picture should be base64, of which picture 0 (counting from 0) is none"),
        ({"picture": "abc"}, "picture should be base64, of which picture 0"),
        ({"picture": "안녕"}, "picture should be base64, of which picture 0"),
        ({"picture": "data:image/png,abcd"}, "picture should be base64: picture 0 (counting from 0) is a data:"),
        ({"picture": 3}, "picture should be a text or a list of texts"),
        ({"picture": [3]}, "picture should be a picture in base64 or a list of them"),
        ({"picture": []}, "picture should be at least one text"),
        ({}, "picture is missing."),
        ({"image": "abcd", "picture": "abcd"}, "There is no field 'image'."),
        ({"picture": [sent(WHOLE)] * 5}, "pictures in one request: 5 were given, and at most 4 are accepted."),
        ({"picture": sent(WHOLE), "model": "brush"}, "the model 'brush' answers /paint"),
    ],
)
def test_what_is_wrong_with_a_request_is_said(client: httpx.Client, body: dict[str, Any], wanted: str) -> None:
    assert refused(client.post("/recognize", json=body), 422).startswith(wanted)


def test_a_form_is_refused_because_any_page_could_send_one(client: httpx.Client) -> None:
    said = refused(client.post("/recognize", files={"picture": ("a.png", WHOLE, "image/png")}), 415)
    assert "must be JSON" in said
    assert "must be JSON" in refused(
        client.post("/recognize", content=WHOLE, headers={"Content-Type": "image/png"}), 415
    )


def test_large_pictures_cost_more(client: httpx.Client, recognizer: Recognizer) -> None:
    large = sent(file_of(PIL.new("L", (500, 500))))  # as many pixels as may be
    assert ask(client, "/recognize", picture=large)["model"] == "eye"
    with running({"eye": recognizer}, Limits(cost=20)) as small:
        said = refused(small.post("/recognize", picture=large), 422)
    assert said.startswith(f"this request may cost {recognizer.cost() + 25} tokens")


def test_of_a_moving_picture_the_first_one_counts(client: httpx.Client, recognizer: Recognizer) -> None:
    first, second = (PIL.fromarray(each) for each in PICTURES[:2])
    moving = file_of(first, save_all=True, append_images=[second])
    [found] = ask(client, "/recognize", picture=sent(moving))["recognitions"]
    assert found["animated"]
    assert found["label"] == recognizer.recognize(PICTURES[0]).label


def test_captions_are_painted_as_the_painter_would(client: httpx.Client, painter: Painter) -> None:
    captions = ["a red boot", "파란 가방", ""]
    answer = ask(client, "/paint", caption=captions, seed=5, guidance=1.5, top_p=0.9)
    PaintAnswer.model_validate(answer)
    assert answer["model"] == "brush"
    for caption, found in zip(captions, answer["paintings"], strict=True):
        wanted = painter.paint(caption, seed=5, guidance=1.5, top_p=0.9)  # alone: no answer depends on its company
        [picture] = found["pictures"]
        assert (found["caption"], found["cut"], picture["seed"]) == (caption, False, 5)
        assert picture["codes"] == wanted.codes.tolist()
        pixels = np.asarray(PIL.open(io.BytesIO(base64.b64decode(picture["picture"]))))
        assert np.array_equal(pixels, wanted.pixels)
    [several] = ask(client, "/paint", caption="a red boot", count=3, seed=5)["paintings"]
    assert [each["seed"] for each in several["pictures"]] == [5, 6, 7]


def stream(client: httpx.Client, **body: Any) -> list[tuple[str, Any]]:
    with client.stream("POST", "/paint", json={"stream": True, **body}) as response:
        assert response.status_code == 200, response.read()
        return list(events_of(response.iter_lines()))


def test_a_picture_is_told_as_it_forms(client: httpx.Client) -> None:
    *told, (last, done) = stream(client, caption="a red boot", seed=2)
    assert (last, {kind for kind, _ in told}) == ("done", {"painted"})
    assert [each["painted"]["codes"] for _, each in told] == list(range(1, GRID**2 + 1))
    assert done == ask(client, "/paint", caption="a red boot", seed=2)
    half = np.asarray(PIL.open(io.BytesIO(base64.b64decode(told[GRID**2 // 2 - 1][1]["painted"]["picture"]))))
    assert half[: len(half) // 2, :, 3].min() == 255
    assert half[len(half) // 2 :, :, 3].max() == 0  # still to come
    whole = np.asarray(PIL.open(io.BytesIO(base64.b64decode(told[-1][1]["painted"]["picture"]))))
    [picture] = done["paintings"][0]["pictures"]
    assert np.array_equal(whole[:, :, :3], np.asarray(PIL.open(io.BytesIO(base64.b64decode(picture["picture"])))))


def test_several_pictures_are_told_row_by_row(client: httpx.Client) -> None:
    *told, _ = stream(client, caption="a red boot", count=2)
    facts = [(each["painted"]["number"], each["painted"]["codes"]) for _, each in told]
    assert facts == [(number, GRID * row) for row in range(1, GRID + 1) for number in range(2)]


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ({"count": 5}, "pictures in one request: 5 were given, and at most 4 are accepted."),
        ({"count": 10**18}, "pictures in one request: 1,000,000,000,000,000,000 were given"),
        ({"caption": ["a", "b", "c"], "count": 2}, "pictures in one request: 6 were given"),
        ({"count": 0}, "count should be greater than or equal to 1"),
        ({"guidance": 1e9}, "guidance should be less than or equal to 100"),
        ({"top_p": 0}, "top_p should be greater than 0"),
        ({"temperature": -1}, "temperature should be greater than or equal to 0"),
        ({"seed": 2**63}, "seed should be less than"),
        ({"caption": "a" * 201}, "characters in one text: 201 were given"),
        ({"caption": ["a", "b"], "stream": True}, "only one caption can be streamed, and 2 were given."),
        ({"model": "eye"}, "the model 'eye' answers /recognize"),
        ({"size": 512}, "There is no field 'size'."),
    ],
)
def test_what_cannot_be_painted_is_said(client: httpx.Client, body: dict[str, Any], wanted: str) -> None:
    assert refused(client.post("/paint", json={"caption": "a", **body}), 422).startswith(wanted)


def test_painting_is_counted_before_it_begins(painter: Painter) -> None:
    with running({"brush": painter}, Limits(cost=200)) as small:
        assert small.post("/paint", caption="a", count=2, guidance=1).status_code == 200
        said = refused(small.post("/paint", caption="a", count=3), 422)
    assert said.startswith("this request may cost 240 tokens")
    assert said.endswith("Lower count, or send fewer captions at a time.")


def test_who_leaves_stops_the_painting(painter: Painter, server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[int] = []
    gone, batcher, forming = threading.Event(), server.service.batcher, painter.forming

    def slow(codes: Any) -> Any:
        steps.append(codes.size(1))
        assert len(steps) < 2 or gone.wait(PATIENCE)
        return forming(codes)

    monkeypatch.setattr(painter, "forming", slow)
    with httpx.stream(
        "POST", f"{server.url}/paint", json={"caption": "a", "stream": True}, timeout=PATIENCE
    ) as response:
        assert next(events_of(response.iter_lines()))[0] == "painted"
    until(lambda: all(job.dropped for job in batcher.busy))
    gone.set()
    until(lambda: not batcher.busy)
    assert steps in ([1], [1, 2])  # of 16


def test_the_page_knows_what_to_ask(server: Running) -> None:
    eye, brush = page_of(server.url)[1]["models"]
    assert (eye["path"], eye["most_pixels"], eye["labels"]) == ("/recognize", 250_000, list(LABELS))
    assert 4 * eye["most_bytes"] / 3 < LIMITS.body_bytes
    assert (brush["path"], brush["most_pictures"], brush["most_characters"]) == ("/paint", 4, 200)


def test_the_documentation_has_examples_that_work(client: httpx.Client) -> None:
    api = client.get("/openapi.json").json()
    assert {"/recognize", "/paint"} <= set(api["paths"])
    for kind in (RecognizeRequest, PaintRequest):
        [example] = api["components"]["schemas"][kind.__name__]["examples"]
        ask(client, f"/{kind.__name__.removesuffix('Request').lower()}", **example)
    metrics = client.get("/metrics").text
    assert "regard_pictures_painted_total" in metrics
    assert "regard_pictures_recognized_total" in metrics


def test_a_server_of_files(tmp_path: Path) -> None:
    """From a model's file to an answer, as `regard serve` does it."""
    file = untrained(tmp_path / "model.safetensors", "cct")
    with running({"eye": regard.load(file)}) as made:
        assert made.post("/recognize", picture=sent(WHOLE), look=True).json()["look"]["extra"] == 0
