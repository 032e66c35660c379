"""regard itself: in float32, with 8-bit matrices, and with a shortlist of output words besides."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace

import torch
from worker import Batch, Job, Run, work

import regard
from regard.decoding.options import Search


def build(job: Job) -> Run:
    torch.set_num_threads(job.threads)
    translator = regard.load(job.model, engine="native", int8="int8" in job.engine, shortlist="shortlist" in job.engine)
    search = Search(beam=job.beam, alpha=job.alpha)
    settings = replace(translator.recipe.decoding, batch_tokens=sys.maxsize)  # a batch is what the job says

    def run(batches: list[Batch]) -> Iterator[Batch]:
        for batch in batches:
            found = translator.engine.decode(batch, search, settings)
            yield [list(hypotheses[0].tokens) for hypotheses in found]

    return run


if __name__ == "__main__":
    work(build, "regard", "torch")
