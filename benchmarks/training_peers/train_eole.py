"""Trains eole with its own trainer: token batches out of one bucket as large as the corpus, PyTorch's SDPA attention.

eole's decoder knows only pre-norm layers; they cost the same as post-norm ones.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from eole.config.run import TrainConfig
from eole.train_single import main as train
from eole.trainer import Trainer
from measuring import BETAS, DROPOUT, RATE, SMOOTHING, Job, Meter, given_job

FILLED = 0.78
"""Real target tokens in a batch, of those that eole counts: sentences × the longest source or target among them."""


def configuration(job: Job) -> TrainConfig:
    data = Path(job.data)
    training = {
        "model_path": str(Path(job.work) / "model"),
        "num_workers": 0,  # on two cores a process that loads would only take time from those that compute
        "bucket_size": 29_000,
        "batch_type": "tokens",
        "batch_size": round(job.batch_tokens / FILLED),
        "normalization": "tokens",
        "train_steps": job.total,
        "valid_steps": job.total + 1,
        "save_checkpoint_steps": 0,
        "optim": "adam",
        "learning_rate": RATE,
        "adam_beta1": BETAS[0],
        "adam_beta2": BETAS[1],
        "max_grad_norm": 0,
        "dropout": [DROPOUT],
        "attention_dropout": [0.0],
        "label_smoothing": SMOOTHING,
        "log_attention_entropy": False,
        "compute_dtype": "fp32",
        "self_attn_backend": "pytorch",
        "param_init_method": "xavier_uniform",
    }
    model = {
        "architecture": "transformer",
        "layers": job.layers,
        "hidden_size": job.width,
        "heads": job.heads,
        "transformer_ff": job.feed_forward,
        "add_qkvbias": True,
        "add_ffnbias": True,
        "share_embeddings": True,
        "share_decoder_embeddings": True,
        "embeddings": {
            "word_vec_size": job.width,
            "position_encoding": True,
            "position_encoding_type": "SinusoidalInterleaved",
        },
    }
    return TrainConfig(
        src_vocab=str(data / "vocabulary.txt"),
        share_vocab=True,
        data={"train": {"path_src": str(data / "train.source"), "path_tgt": str(data / "train.target")}},
        seed=1,
        report_every=10,
        model=model,
        training=training,
    )


def watch(meter: Meter) -> list[Any]:
    """Note every update of eole's trainer → the models it trains."""
    models: list[Any] = []
    step = Trainer._train_step

    def noted(self: Trainer, batches: Any, normalization: Any, total: Any, report: Any, **options: Any) -> None:
        before = total.n_tokens, total.loss
        step(self, batches, normalization, total, report, **options)
        tokens = total.n_tokens - before[0]
        meter.update(tokens, (total.loss - before[1]) / tokens)
        models[:] = [self.model]

    Trainer._train_step = noted
    return models


def main() -> None:
    job = given_job()
    torch.set_num_threads(job.threads)
    meter = Meter(job)
    models = watch(meter)
    train(configuration(job), device_id=-1)
    meter.report(sum(each.numel() for each in models[0].parameters()), "eole", "torch")


if __name__ == "__main__":
    main()
