"""Pairs of sentences → chunks of ids, in this process or in many, always in the order of the corpus."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import signal
from collections import deque
from collections.abc import Generator, Iterable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.data.ids import smallest_type
from regard.data.tokenizer import Tokenizer
from regard.errors import DataError

CHUNK = 2_000
"""Pairs that travel together; the result does not depend on it."""

Pairs = list[tuple[str, str]]


@dataclass(frozen=True)
class Chunk:
    """The ids of some pairs, one pair after another, each source first."""

    ids: NDArray[Any]
    lengths: NDArray[np.int32]  # [n, 2]
    prints: NDArray[np.uint64]  # [n], equal for equal pairs

    def select(self, keep: NDArray[np.bool_]) -> Chunk:
        """Only the pairs where `keep` is true."""
        return Chunk(self.ids[np.repeat(keep, self.lengths.sum(axis=1))], self.lengths[keep], self.prints[keep])


def load_tokenizer(stored: Path) -> Tokenizer:
    """Read a tokenizer's JSON file."""
    return Tokenizer.from_dict(json.loads(stored.read_text(encoding="utf-8")))


def encode_pairs(pairs: Pairs, tokenizer: Tokenizer) -> Chunk:
    """The ids of a handful of pairs. Equal ids mean equal normalised text, so they also tell duplicates."""
    sources = tokenizer.encode_all([source for source, _ in pairs], "source")
    targets = tokenizer.encode_all([target for _, target in pairs], "target")
    lengths = np.array([(len(s), len(t)) for s, t in zip(sources, targets, strict=True)], dtype=np.int32)
    kind = smallest_type(max(tokenizer.size("source"), tokenizer.size("target")))
    both = chain.from_iterable(chain(s, t) for s, t in zip(sources, targets, strict=True))
    ids = np.fromiter(both, dtype=kind, count=int(lengths.sum()))
    prints = np.empty(len(pairs), dtype=np.uint64)
    content, begin = memoryview(ids.tobytes()), 0
    for row, (source, target) in enumerate(lengths.tolist()):
        end = begin + (source + target) * ids.itemsize
        digest = hashlib.blake2b(content[begin:end], digest_size=8, salt=source.to_bytes(16, "little"))
        prints[row] = int.from_bytes(digest.digest(), "little")
        begin = end
    return Chunk(ids, lengths, prints)


def text_prints(texts: Iterable[str]) -> NDArray[np.uint64]:
    """A fingerprint of each text, equal for equal ones but for the spaces around them."""
    digests = (hashlib.blake2b(text.strip().encode("utf-8", "replace"), digest_size=8).digest() for text in texts)
    return np.frombuffer(b"".join(digests), dtype="<u8")


def encode_corpus(pairs: Iterable[tuple[str, str]], stored: Path, workers: int) -> Generator[Chunk, None, None]:
    """Encode a corpus chunk by chunk with a stored tokenizer; a few chunks per process are under way, never all."""
    stream = iter(pairs)
    chunks = iter(lambda: list(islice(stream, CHUNK)), [])
    if workers <= 1:
        tokenizer = load_tokenizer(stored)
        yield from (encode_pairs(chunk, tokenizer) for chunk in chunks)
        return
    spawn = multiprocessing.get_context("spawn")  # forking a process that has used torch's threads can hang
    executor = ProcessPoolExecutor(workers, spawn, _begin_worker, (stored,))
    try:
        waiting: deque[Future[Chunk]] = deque(executor.submit(_encode, each) for each in islice(chunks, 4 * workers))
        while waiting:
            yield waiting.popleft().result()
            waiting.extend(executor.submit(_encode, each) for each in islice(chunks, 1))
    except BrokenProcessPool:
        raise DataError(
            "a process that encodes text died: out of memory, or started from a script without"
            ' `if __name__ == "__main__":`. Preparing with one worker needs neither'
        ) from None
    finally:
        executor.shutdown(cancel_futures=True)


# A worker process loads its tokenizer itself, once: Python hangs when a process that cannot start is sent this much.
_own: list[Tokenizer] = []


def _begin_worker(stored: Path) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent answers Ctrl-C, once
    _own.append(load_tokenizer(stored))


def _encode(pairs: Pairs) -> Chunk:
    return encode_pairs(pairs, _own[0])
