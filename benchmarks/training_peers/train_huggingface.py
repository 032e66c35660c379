"""Trains Hugging Face's MarianMTModel, the library's translation Transformer, in the plain loop of its users.

With what makes it fast on a CPU: SDPA attention, batches of similar length (those that regard makes), fused AdamW.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from measuring import BETAS, DROPOUT, RATE, SMOOTHING, Job, Meter, given_job
from torch import Tensor
from torch.nn import functional
from transformers import MarianConfig, MarianMTModel

PAD, START, END = 0, 1, 2
Batch = tuple[Tensor, Tensor, Tensor]


def build(job: Job) -> MarianMTModel:
    sides = {
        f"{side}_{name}": value
        for side in ("encoder", "decoder")
        for name, value in (("layers", job.layers), ("ffn_dim", job.feed_forward), ("attention_heads", job.heads))
    }
    config = MarianConfig(
        vocab_size=job.vocabulary,
        d_model=job.width,
        dropout=DROPOUT,
        activation_function="relu",
        scale_embedding=True,
        pad_token_id=PAD,
        eos_token_id=END,
        forced_eos_token_id=END,
        decoder_start_token_id=START,
        use_cache=False,
        attn_implementation="sdpa",
        **sides,
    )
    return MarianMTModel(config).train()


def padded(rows: list[np.ndarray]) -> Tensor:
    return torch.nn.utils.rnn.pad_sequence(
        [torch.from_numpy(row.astype(np.int64)) for row in rows], batch_first=True, padding_value=PAD
    )


def batches(job: Job) -> Iterator[Batch]:
    """Source, target as it is read and target as it is wanted, without end."""
    stored = np.load(Path(job.data) / "ids.npz")
    sides = {name: np.split(stored[name], np.cumsum(stored[f"{name}_lengths"])[:-1]) for name in ("source", "target")}
    planned = np.split(stored["rows"], np.cumsum(stored["rows_lengths"])[:-1])
    while True:
        for rows in planned:
            sources, targets = ([sides[name][row] for row in rows] for name in ("source", "target"))
            yield (
                padded([np.append(each, END) for each in sources]),
                padded([np.insert(each, 0, START) for each in targets]),
                padded([np.append(each, END) for each in targets]),
            )


def main() -> None:
    job = given_job()
    torch.set_num_threads(job.threads)
    torch.manual_seed(1)
    model = build(job)
    optimizer = torch.optim.AdamW(model.parameters(), RATE, BETAS, eps=1e-9, weight_decay=0.0, fused=True)
    meter = Meter(job)
    for source, read, wanted in batches(job):
        logits = model(input_ids=source, attention_mask=(source != PAD).long(), decoder_input_ids=read).logits
        loss = functional.cross_entropy(
            logits.flatten(0, 1), wanted.flatten(), ignore_index=PAD, label_smoothing=SMOOTHING
        )
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if meter.update(int((wanted != PAD).sum()), loss.item()):
            break
    parameters = sum(each.numel() for each in model.parameters() if each.requires_grad)
    meter.report(parameters, "transformers", "torch")


if __name__ == "__main__":
    main()
