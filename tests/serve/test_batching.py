"""Requests that wait together are computed together, and nobody can tell from the answers."""

from __future__ import annotations

import logging
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier
from typing import Any

import httpx
import pytest

from regard.errors import UsageError
from regard.serve.access import Access
from regard.serve.batcher import Batcher, Job
from regard.serve.limits import DEFAULTS, Limits, Refusal
from regard.serve.service import Service
from regard.tasks.translation.translator import Translator
from tests.serve.conftest import PATIENCE, SENTENCES, Running, Watched, running, until


def hold(server: Running, watched: Watched, pool: ThreadPoolExecutor) -> Future[httpx.Response]:
    """A request that keeps the batcher busy until `watched` is free again."""
    watched.free.clear()
    begun = pool.submit(server.post, "/translate", text="hold")
    until(lambda: watched.calls)
    return begun


def test_what_waits_together_is_translated_together(watched: Watched, tiny_translator: Translator) -> None:
    alone = [tiny_translator.translate(text).to_dict() for text in SENTENCES]
    with ThreadPoolExecutor(len(SENTENCES) + 1) as pool, running({"tiny": watched}) as server:
        hold(server, watched, pool)
        waiting = [pool.submit(server.post, "/translate", text=text) for text in SENTENCES]
        until(lambda: server.service.batcher.waiting == len(SENTENCES))
        watched.free.set()
        found = [each.result(PATIENCE).json()["translations"][0] for each in waiting]
    assert [len(call) for call in watched.calls] == [1, len(SENTENCES)]
    assert [each["text"] for each in found] == [each["text"] for each in alone]
    assert [each["tokens"] for each in found] == [each["tokens"] for each in alone]
    assert [each["score"] for each in found] == pytest.approx([each["score"] for each in alone], abs=1e-4)


def test_other_options_do_not_share_a_batch(watched: Watched) -> None:
    options: list[dict[str, Any]] = [{}, {"beam": 2}, {"nbest": 2}, {"seed": 1, "sample": True}, {"attention": True}]
    with ThreadPoolExecutor(20) as pool, running({"tiny": watched, "other": watched}) as server:
        hold(server, watched, pool)
        waiting = [
            pool.submit(server.post, "/translate", text=SENTENCES[0], **each) for each in [*options, {"model": "other"}]
        ]
        until(lambda: server.service.batcher.waiting == len(waiting))
        watched.free.set()
        assert all(each.result(PATIENCE).status_code == 200 for each in waiting)
    assert [len(call) for call in watched.calls] == [1] * (1 + len(waiting))


def test_a_failing_text_fails_alone(watched: Watched, caplog: pytest.LogCaptureFixture) -> None:
    texts = [*SENTENCES[:3], "BOOM", *SENTENCES[3:6]]
    with ThreadPoolExecutor(20) as pool, running({"tiny": watched}) as server:
        hold(server, watched, pool)
        waiting = [pool.submit(server.post, "/translate", text=text) for text in texts]
        until(lambda: server.service.batcher.waiting == len(texts))
        watched.free.set()
        responses = [each.result(PATIENCE) for each in waiting]
        assert server.post("/translate", text=SENTENCES[7]).status_code == 200  # the thread has survived
    assert [each.status_code for each in responses] == [500 if text == "BOOM" else 200 for text in texts]
    failed = responses[3]
    assert failed.headers["x-request-id"] in failed.json()["detail"]
    assert "secret" not in failed.text
    [logged] = [each for each in caplog.records if each.levelno == logging.ERROR]
    assert failed.headers["x-request-id"] in logged.getMessage()
    assert logged.exc_info


def test_who_leaves_is_forgotten(watched: Watched, caplog: pytest.LogCaptureFixture) -> None:
    with ThreadPoolExecutor(4) as pool, running({"tiny": watched}) as server:
        begun = hold(server, watched, pool)
        with httpx.Client(base_url=server.url, timeout=httpx.Timeout(PATIENCE, read=1)) as leaving:
            asked = pool.submit(leaving.post, "/translate", json={"text": SENTENCES})
            until(lambda: server.service.batcher.waiting == len(SENTENCES))
            with pytest.raises(httpx.ReadTimeout):
                asked.result(PATIENCE)
        until(lambda: server.service.batcher.waiting == 0)
        watched.free.set()
        assert begun.result(PATIENCE).status_code == 200
        assert server.post("/translate", text="after").status_code == 200
        counted = server.service.metrics.text().decode()
    assert watched.calls == [["hold"], ["after"]]
    assert 'regard_requests_total{path="/translate",status="499"} 1.0' in counted
    assert not [each for each in caplog.records if each.levelno >= logging.WARNING]


def test_a_full_queue_is_said(watched: Watched) -> None:
    with ThreadPoolExecutor(4) as pool, running({"tiny": watched}, Limits(waiting=3, texts=3)) as server:
        hold(server, watched, pool)
        waiting = pool.submit(server.post, "/translate", text=SENTENCES[:2])
        until(lambda: server.service.batcher.waiting == 2)
        refused = server.post("/translate", text=SENTENCES[2:4])
        assert server.service.batcher.waiting == 2  # all or none
        watched.free.set()
        assert waiting.result(PATIENCE).status_code == 200
    assert refused.status_code == 429
    assert int(refused.headers["retry-after"]) >= 1
    assert "at most 3" in refused.json()["detail"]


def test_an_answer_that_takes_too_long_is_given_up(watched: Watched) -> None:
    with ThreadPoolExecutor(4) as pool, running({"tiny": watched}, Limits(answer_seconds=0.2)) as server:
        begun = hold(server, watched, pool)
        refused = server.post("/translate", text=SENTENCES[:2])
        assert refused.status_code == begun.result(PATIENCE).status_code == 429
        assert refused.headers["retry-after"] == "1"
        assert "within 0.2 s" in refused.json()["detail"]
        assert server.service.batcher.waiting == 0
        watched.free.set()
    assert watched.calls == [["hold"]]


def test_a_stop_does_not_wait_for_ever(watched: Watched) -> None:
    with ThreadPoolExecutor(4) as pool:
        with running({"tiny": watched}, Limits(shutdown_seconds=0.1)) as server:
            begun = hold(server, watched, pool)
            server.server.config.timeout_graceful_shutdown = 0
        stopped = begun.result(PATIENCE)
        watched.free.set()
    assert stopped.status_code == 503
    assert "the server stops" in stopped.json()["detail"]


def numbers(key: str, *sizes: int) -> list[Job]:
    return [Job(key, (key, size), size, lambda items: items) for size in sizes]


def test_batches_cost_no_more_than_they_may_and_leave_nobody_behind() -> None:
    sizes: list[int] = []
    batcher = Batcher(Limits(batch_cost=10), threads=None, on_batch=sizes.append)
    jobs = [*numbers("a", 4, 4, 30), *numbers("b", 1), *numbers("a", 2, 5)]
    batcher.put(jobs)
    batcher.start()
    batcher.close()
    assert [job.future.result(0) for job in jobs] == [job.item for job in jobs]
    assert sizes == [3, 1, 1, 1]  # a: 4 + 4 + 2, then 30 alone, b, a: 5


def test_cancelled_jobs_are_not_done() -> None:
    batcher = Batcher(Limits())
    jobs = numbers("a", 1, 1, 1)
    batcher.put(jobs)
    batcher.drop(jobs[:2])
    assert batcher.waiting == 1
    batcher.start()
    batcher.close()
    assert [job.future.cancelled() for job in jobs] == [True, True, False]


def test_answers_of_the_wrong_number_are_an_error() -> None:
    batcher = Batcher(Limits())
    job = Job("a", 1, 1, lambda items: [])
    batcher.put([job])
    batcher.start()
    batcher.close()
    assert isinstance(job.future.exception(0), ValueError)


def test_limits_must_make_sense() -> None:
    with pytest.raises(UsageError, match="never fit into a queue of 10"):
        Limits(texts=11, waiting=10)
    with pytest.raises(UsageError, match="body_seconds must be above 0 and finite, not 0"):
        Limits(body_seconds=0)
    with pytest.raises(Refusal):
        Batcher(Limits(texts=1, waiting=1)).put(numbers("a", 1, 1))


def test_a_long_request_does_not_keep_others_waiting(watched: Watched) -> None:
    """Texts of another kind, so that they cannot share a batch, come between those of the long request."""
    with ThreadPoolExecutor(4) as pool, running({"tiny": watched}, replace(DEFAULTS, batch_cost=1)) as server:
        begun = hold(server, watched, pool)
        long = pool.submit(server.post, "/translate", text=SENTENCES)
        until(lambda: server.service.batcher.waiting == len(SENTENCES))
        short = pool.submit(server.post, "/translate", text="short", beam=1)
        until(lambda: server.service.batcher.waiting == len(SENTENCES) + 1)
        watched.free.set()
        assert {each.result(PATIENCE).status_code for each in (begun, long, short)} == {200}
    place = watched.calls.index(["short"])
    assert place <= 2  # after what was begun, and at most one text that was there first
    assert len(watched.calls) == len(SENTENCES) + 2


def test_batches_side_by_side_wait_for_no_other() -> None:
    both = Barrier(2)

    def meet(items: list[Any]) -> list[Any]:
        both.wait(PATIENCE)  # alone, neither of the two would come past this
        return items

    batcher = Batcher(Limits(), side_by_side=2)
    jobs = [Job(key, key, 1, meet) for key in ("a", "b")]
    batcher.start()
    batcher.put(jobs)
    assert [job.future.result(PATIENCE) for job in jobs] == ["a", "b"]
    batcher.close()
    assert not batcher.busy
    assert not batcher.alive


def test_one_thread_computes_unless_every_model_can_do_with_more(tiny_translator: Translator) -> None:
    class Shared(Watched):
        side_by_side = 3

    alone, shared = Watched(tiny_translator), Shared(tiny_translator)
    for models, threads in (({"a": shared}, 3), ({"a": shared, "b": alone}, 1), ({"a": alone}, 1)):
        assert len(Service(models, Limits(), None, Access()).batcher._threads) == threads
