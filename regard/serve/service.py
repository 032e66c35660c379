"""What every endpoint shares: the models by name, the limits, the batcher, the metrics, and how long a client waits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from fastapi import Request

from regard.serve.access import Access
from regard.serve.batcher import Batcher, Job
from regard.serve.counters import Metrics
from regard.serve.guard import CLIENT_LEFT
from regard.serve.limits import Limits, Refusal
from regard.tasks.registry import find_task
from regard.tasks.task import Task

T = TypeVar("T")

AT_ONCE = 100  # characters that are cut into tokens in a tenth of a millisecond, and in a few at worst


class Served(Protocol):
    """What `regard.load` returns, of whatever task."""

    @property
    def recipe(self) -> Any: ...


def task_of(model: Served) -> Task:
    """Its row."""
    return find_task(model.recipe.task)


class Service:
    """One for each app."""

    def __init__(self, models: Mapping[str, Served], limits: Limits, threads: int | None, access: Access) -> None:
        self.models, self.limits, self.access = models, limits, access
        self.metrics = Metrics(lambda: self.batcher.waiting)
        # As many as every model can do with: while one batch is computed, the next gathers, and the more texts the less each costs.
        side_by_side = min((getattr(model, "side_by_side", 1) for model in models.values()), default=1)
        self.batcher = Batcher(limits, threads, self.metrics.batches.observe, side_by_side)

    def of(self, task: str) -> dict[str, Any]:
        """The models of one task, by name."""
        return {name: model for name, model in self.models.items() if task_of(model).name == task}

    def find(self, name: str | None, task: str) -> tuple[str, Any]:
        """The model of that name, or the first of the task that is asked for."""
        fitting = self.of(task)
        name = next(iter(fitting), None) if name is None else name
        if name is None:
            raise Refusal(404, f"no model here answers this path: {'; '.join(map(self._path_told, self.models))}.")
        if name not in self.models:
            raise Refusal(404, f"there is no model {name[:100]!r}; there are: {', '.join(self.models)}.")
        if name not in fitting:
            there_are = (
                f"those for this path are: {', '.join(fitting)}" if fitting else "no model here answers this path"
            )
            raise Refusal(422, f"{self._path_told(name)}; {there_are}.")
        return name, fitting[name]

    def _path_told(self, name: str) -> str:
        return f"the model {name!r} answers /{task_of(self.models[name]).verb}"

    def check(self, what: str, given: int, most: int, remedy: str) -> None:
        if given > most:
            raise Refusal(422, f"{what}: {given:,} were given, and at most {most:,} are accepted. {remedy}")

    def check_texts(self, texts: Sequence[str], most_characters: int | None = None) -> None:
        """Their number, and the length of each."""
        limits = self.limits
        self.check("texts in one request", len(texts), limits.texts, "Send them in several requests.")
        for text in texts:
            self.check("characters in one text", len(text), most_characters or limits.characters, "Send it in parts.")

    def check_pictures(self, count: int) -> None:
        """The number of those that are sent or asked for."""
        self.check("pictures in one request", count, self.limits.pictures, "Ask in several requests.")

    async def costs(self, count: Callable[[], list[int]], remedy: str, texts: Sequence[str] | None = None) -> list[int]:
        """Of each text or picture of a request what it costs, in tokens; refused if that is too much together.

        Counted beside the loop, because the texts must be cut into tokens for it; a few words are cut before a thread would have
        heard of them.
        """
        at_once = texts is not None and sum(map(len, texts)) <= AT_ONCE
        found = count() if at_once else await asyncio.to_thread(count)
        if sum(found) > self.limits.cost:
            of_texts = f" for {len(found)} texts" if len(found) > 1 else ""
            raise Refusal(
                422,
                f"this request may cost {sum(found):,} tokens{of_texts}, those read and those that every hypothesis may "
                f"write, and at most {self.limits.cost:,} are accepted. {remedy}",
            )
        return found

    async def answers(self, request: Request, jobs: Sequence[Job]) -> list[Any]:
        """What the models make of the jobs; they are forgotten when the client leaves or the time is over."""
        request.state.texts = len(jobs)  # for the log
        self.batcher.put(jobs)
        try:
            return await self.wait(request, _all(jobs), self.limits.answer_seconds)
        finally:
            self.batcher.drop(jobs)

    async def wait(self, request: Request, coming: Coroutine[Any, Any, T], seconds: float) -> T:
        """What comes, unless the client leaves or the seconds are over before it does."""
        came = asyncio.ensure_future(coming)
        left = asyncio.ensure_future(request.receive())  # after the body, nothing but the client's leaving can come
        try:
            both: set[asyncio.Future[Any]] = {came, left}
            await asyncio.wait(both, timeout=max(0, seconds), return_when=asyncio.FIRST_COMPLETED)
            if came.done():
                return came.result()
            if left.done():
                raise Refusal(CLIENT_LEFT, "the client left")
            late = f"no answer within {self.limits.answer_seconds:g} s"
            remedy = "Ask for less (fewer or shorter texts, fewer pictures, a smaller beam, fewer new tokens), or come again later."
            raise Refusal(429, f"{late}. {remedy}", {"Retry-After": str(self.batcher.retry_after)})
        finally:
            left.cancel()
            came.cancel()


async def _all(jobs: Sequence[Job]) -> list[Any]:
    return await asyncio.gather(*(asyncio.wrap_future(job.future) for job in jobs))
