"""What the server counts, in Prometheus' text format. No label takes a value that a client could choose freely."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

CONTENT_TYPE = CONTENT_TYPE_LATEST
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
TEXTS = (1, 2, 4, 8, 16, 32, 64, 128)


class Metrics:
    """The counters of one app, in a registry of its own."""

    def __init__(self, waiting: Callable[[], float]) -> None:
        self.paths: frozenset[str] = frozenset()
        """Those of the app, which has them only when all tasks have added theirs."""
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "regard_requests",
            "Requests answered; 499: the client left first.",
            ["path", "status"],
            registry=self.registry,
        )
        self._seconds = Histogram(
            "regard_request_seconds", "From the request's head to the answer's end.", ["path"],
            registry=self.registry, buckets=SECONDS,
        )  # fmt: skip
        self.batches = Histogram(
            "regard_batch_texts", "Texts computed together.", registry=self.registry, buckets=TEXTS
        )
        Gauge("regard_waiting_texts", "Texts in the queue.", registry=self.registry).set_function(waiting)
        ProcessCollector(registry=self.registry)  # memory, processor time, open files; on Linux

    def texts(self, done: str) -> Counter:
        """A new counter of texts, by what was done with them: `regard_texts_DONE_total`."""
        return Counter(f"regard_texts_{done}", f"Texts {done}.", registry=self.registry)

    def pictures(self, done: str) -> Counter:
        """The same of pictures: `regard_pictures_DONE_total`."""
        return Counter(f"regard_pictures_{done}", f"Pictures {done}.", registry=self.registry)

    def request(self, path: str, status: int, seconds: float) -> None:
        path = path if path in self.paths else "other"
        self._requests.labels(path, str(status)).inc()
        self._seconds.labels(path).observe(seconds)

    def text(self) -> bytes:
        return generate_latest(self.registry)
