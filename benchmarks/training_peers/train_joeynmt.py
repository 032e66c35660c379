"""Trains JoeyNMT with its own trainer and its token batches, which it does not sort by length.

An update is made of four small batches: they hold less padding than one large one, which makes JoeyNMT faster.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from joeynmt.training import TrainManager, train
from measuring import BETAS, DROPOUT, RATE, SMOOTHING, Job, Meter, given_job

PARTS = 4
FILLED = 0.49
"""Real target tokens in a batch, of those that JoeyNMT counts: sentences × the longest source or target among them."""


def configuration(job: Job) -> dict[str, Any]:
    data, folder = Path(job.data), Path(job.work) / "model"
    folder.mkdir()
    stack = {
        "type": "transformer",
        "num_layers": job.layers,
        "num_heads": job.heads,
        "hidden_size": job.width,
        "ff_size": job.feed_forward,
        "dropout": DROPOUT,
        "layer_norm": "post",
        "embeddings": {"embedding_dim": job.width, "scale": True, "dropout": DROPOUT},
    }
    side = {"level": "word", "tokenizer_type": "none", "max_length": 1_000, "voc_file": str(data / "vocabulary.txt")}
    return {
        "name": "training-speed",
        "model_dir": str(folder),
        "use_cuda": False,
        "random_seed": 1,
        "data": {
            "train": str(data / "train"),
            "dev": str(data / "train"),  # it wants one and never gets to it
            "dataset_type": "plain",
            "src": {"lang": "source", **side},
            "trg": {"lang": "target", **side},
        },
        "testing": {},
        "training": {
            "optimizer": "adamw",
            "adam_betas": list(BETAS),
            "learning_rate": RATE,
            "learning_rate_min": 0.0,
            "scheduling": "exponential",
            "decrease_factor": 1.0,
            "label_smoothing": SMOOTHING,
            "normalization": "tokens",
            "batch_type": "token",
            "batch_size": round(job.batch_tokens / PARTS / FILLED),
            "batch_multiplier": PARTS,
            "epochs": 1_000,
            "updates": job.total,
            "logging_freq": 10,
            "validation_freq": 1_000_000,
        },
        "model": {
            "initializer": "xavier_uniform",
            "tied_embeddings": True,
            "tied_softmax": True,
            "encoder": stack,
            "decoder": stack,
        },
    }


def watch(meter: Meter) -> list[Any]:
    """Note every update of JoeyNMT's trainer → the models it trains. From one backward pass to that of the same part of
    the next update there is one step of the optimizer, so whole updates are timed."""
    models: list[Any] = []
    parts: list[tuple[int, float]] = []  # of the update being made: tokens, loss
    step = TrainManager._train_step

    def noted(self: TrainManager, batch: Any) -> tuple[float, int]:
        loss, correct = step(self, batch)
        parts.append((int(batch.ntokens), loss))  # the loss is divided by the tokens and by the number of parts
        if len(parts) == PARTS:
            tokens, losses = zip(*parts, strict=True)
            meter.update(sum(tokens), sum(losses))
            parts.clear()
        models[:] = [self.model]
        return loss, correct

    TrainManager._train_step = noted
    return models


def main() -> None:
    job = given_job()
    torch.set_num_threads(job.threads)
    meter = Meter(job)
    models = watch(meter)
    train(rank=0, world_size=1, cfg=configuration(job), skip_test=True)
    meter.report(sum(each.numel() for each in models[0].parameters()), "joeynmt", "torch")


if __name__ == "__main__":
    main()
