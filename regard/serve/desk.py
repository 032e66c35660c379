"""What every endpoint shares: the models by name, the limits, the worker, the metrics, and how long a client waits."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

from fastapi import Request

from regard import Classifier, TextGenerator, Translator
from regard.serve.counters import Metrics
from regard.serve.gate import CLIENT_LEFT
from regard.serve.limits import Limits, Refusal
from regard.serve.worker import Job, Worker
from regard.tasks.registry import find_task

AtWork: TypeAlias = Translator | Classifier | TextGenerator
T = TypeVar("T")

PATHS = (
    "/", "/translate", "/attention", "/score", "/classify", "/generate", "/health", "/metrics", "/docs", "/openapi.json",
)  # fmt: skip


def path_of(model: AtWork) -> str:
    """Where a model is asked for what it was trained for."""
    return f"/{find_task(model.recipe.task).verb}"


class Desk:
    """One for each app."""

    def __init__(self, models: Mapping[str, AtWork], limits: Limits, threads: int | None) -> None:
        self.models, self.limits = models, limits
        self.metrics = Metrics(PATHS, lambda: self.worker.waiting)
        self.worker = Worker(limits, threads, self.metrics.batches.observe)

    def of(self, kind: type[T]) -> dict[str, T]:
        """The models of one kind, by name."""
        return {name: model for name, model in self.models.items() if isinstance(model, kind)}

    def find(self, name: str | None, kind: type[T]) -> tuple[str, T]:
        """The model of that name, or the first of the kind that is asked for."""
        fitting = self.of(kind)
        name = next(iter(fitting), None) if name is None else name
        if name is None:
            raise Refusal(404, f"no model here answers this path: {'; '.join(map(self.told, self.models))}.")
        if name not in self.models:
            raise Refusal(404, f"there is no model {name[:100]!r}; there are: {', '.join(self.models)}.")
        if name not in fitting:
            there_are = (
                f"those for this path are: {', '.join(fitting)}" if fitting else "no model here answers this path"
            )
            raise Refusal(422, f"{self.told(name)}; {there_are}.")
        return name, fitting[name]

    def told(self, name: str) -> str:
        return f"the model {name!r} answers {path_of(self.models[name])}"

    def check(self, what: str, given: int, most: int, remedy: str) -> None:
        if given > most:
            raise Refusal(422, f"{what}: {given:,} were given, and at most {most:,} are accepted. {remedy}")

    def check_texts(self, texts: Sequence[str], most_characters: int | None = None) -> None:
        """Their number, and the length of each."""
        limits = self.limits
        self.check("texts in one request", len(texts), limits.texts, "Send them in several requests.")
        for text in texts:
            self.check("characters in one text", len(text), most_characters or limits.characters, "Send it in parts.")

    def check_looks(self, texts: Sequence[str]) -> None:
        """The length of all together, if every attention weight is asked for."""
        most, remedy = self.limits.attention_characters, "Look at fewer or shorter texts."
        self.check("characters to look at", sum(map(len, texts)), most, remedy)

    async def answers(self, request: Request, jobs: Sequence[Job]) -> list[Any]:
        """What the worker makes of the jobs; they are forgotten when the client leaves or the time is over."""
        request.state.texts = len(jobs)  # for the log
        self.worker.put(jobs)
        try:
            return await self.patiently(request, _all(jobs), self.limits.answer_seconds)
        finally:
            self.worker.drop(jobs)

    async def patiently(self, request: Request, coming: Coroutine[Any, Any, T], seconds: float) -> T:
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
            most = f"no answer within {self.limits.answer_seconds:g} s"
            remedy = "Ask for less (fewer or shorter texts, a smaller beam, fewer pieces), or come again later."
            raise Refusal(429, f"{most}. {remedy}", {"Retry-After": str(self.worker.patience)})
        finally:
            left.cancel()
            came.cancel()


async def _all(jobs: Sequence[Job]) -> list[Any]:
    return await asyncio.gather(*(asyncio.wrap_future(job.future) for job in jobs))
