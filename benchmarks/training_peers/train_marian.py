"""Trains Marian with its own command: as many workers as there are threads, each on its share of every batch."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
from measuring import BETAS, DROPOUT, RATE, SMOOTHING, Job, given_job, hand_back, peak_memory

FILLED = 1.04
"""Target tokens for each of the words that Marian counts, which are those of the source."""
UPDATE = re.compile(r"Up\. \d+ .* Cost ([\d.]+) \* ([\d,]+) @ .* Time ([\d.]+)s")


def command(job: Job) -> list[str]:
    data, work = Path(job.data), Path(job.work)
    words = ["</s>", "<unk>", "<pad>", "<s>", *(data / "vocabulary.txt").read_text().split()]
    vocabulary = work / "vocabulary.yml"
    vocabulary.write_text("".join(f'"{word}": {number}\n' for number, word in enumerate(words)))
    options = {
        "model": work / "model.npz",
        "tempdir": work,
        "train-sets": [data / "train.source", data / "train.target"],
        "vocabs": [vocabulary, vocabulary],
        "type": "transformer",
        "dim-emb": job.width,
        "enc-depth": job.layers,
        "dec-depth": job.layers,
        "transformer-heads": job.heads,
        "transformer-dim-ffn": job.feed_forward,
        "transformer-ffn-activation": "relu",
        "transformer-dropout": DROPOUT,
        "tied-embeddings-all": [],
        "label-smoothing": SMOOTHING,
        "cost-type": "ce-sum",
        "optimizer-params": [*BETAS, 1e-9],
        "learn-rate": RATE,
        "clip-norm": 0,
        "max-length": 1_000,
        "mini-batch-words": round(job.batch_tokens / FILLED),
        "mini-batch-round-up": "false",
        "maxi-batch": 1_000,
        "shuffle-in-ram": [],
        "cpu-threads": job.threads,
        "sync-sgd": [],
        "after": f"{job.total}u",
        "disp-freq": 1,
        "disp-label-counts": [],
        "seed": 1,
    }
    written = [(f"--{name}", value if isinstance(value, list) else [value]) for name, value in options.items()]
    return [
        sys.executable,
        "-m",
        "pymarian",
        "train",
        *(str(word) for name, given in written for word in (name, *given)),
    ]


def main() -> None:
    job = given_job()
    one = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}  # for each worker
    losses, tokens, seconds, memory = [], 0, 0.0, 0.0
    with subprocess.Popen(
        command(job), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, **one}
    ) as process:
        for line in process.stdout or ():
            print(line, end="")
            if found := UPDATE.search(line):
                memory = peak_memory(process.pid)
                losses.append(float(found[1]))
                if len(losses) > job.warmup:
                    tokens += int(found[2].replace(",", ""))
                    seconds += float(found[3])
    if process.returncode:
        sys.exit(process.returncode)
    stored = np.load(Path(job.work) / "model.npz")
    parameters = sum(stored[name].size for name in stored if not name.startswith("special:"))
    hand_back(job, tokens, seconds, losses, parameters, memory, ("pymarian",))


if __name__ == "__main__":
    main()
