"""CTranslate2, in float32 and with 8-bit matrices: the model as `regard export --to ctranslate2` writes it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ctranslate2
from worker import Batch, Job, Run, work


def build(job: Job) -> Run:
    folder = Path(job.converted) / "ctranslate2"
    tokens = json.loads((folder / "shared_vocabulary.json").read_text(encoding="utf-8"))
    number = {token: place for place, token in enumerate(tokens)}
    translator = ctranslate2.Translator(
        str(folder),
        compute_type="int8" if "int8" in job.engine else "float32",
        inter_threads=job.workers,
        intra_threads=job.threads,
    )

    def translate(batch: Batch) -> list[Any]:
        return translator.translate_batch(  # type: ignore[no-any-return]
            [[tokens[each] for each in ids] for ids in batch],
            beam_size=job.beam,
            length_penalty=job.alpha,
            max_decoding_length=job.limit(batch),
            asynchronous=True,  # batches wait in line for the workers
        )

    def read(results: list[Any]) -> Batch:
        return [[number[token] for token in each.result().hypotheses[0]] for each in results]

    def run(batches: list[Batch]) -> Iterator[Batch]:
        if job.workers == 1:
            return map(read, map(translate, batches))
        return map(read, [translate(batch) for batch in batches])

    return run


if __name__ == "__main__":
    work(build, "ctranslate2")
