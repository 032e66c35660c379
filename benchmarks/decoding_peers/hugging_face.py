"""Hugging Face transformers: the same weights in a MarianMTModel, written by `generate`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import torch
from converted import Converted
from transformers import MarianConfig, MarianMTModel
from worker import Batch, Job, Run, until, work

FEED_FORWARD = {
    "feed_forward.widen": ("fc1",),
    "feed_forward.narrow": ("fc2",),
    "after_feed_forward.norm": ("final_layer_norm",),
}
SELF_ATTENTION = {
    "self_attention.query_key_value": ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    "self_attention.output": ("self_attn.out_proj",),
    "after_self.norm": ("self_attn_layer_norm",),
}
CROSS_ATTENTION = {
    "cross_attention.query": ("encoder_attn.q_proj",),
    "cross_attention.key_value": ("encoder_attn.k_proj", "encoder_attn.v_proj"),
    "cross_attention.output": ("encoder_attn.out_proj",),
    "after_cross.norm": ("encoder_attn_layer_norm",),
}
MODULES = {
    "encoder": {**SELF_ATTENTION, **FEED_FORWARD},
    "decoder": {**SELF_ATTENTION, **CROSS_ATTENTION, **FEED_FORWARD},
}


def model_of(ours: Converted) -> MarianMTModel:
    settings, special = ours.settings, ours.special
    if settings["norm"] != "post":
        raise SystemExit(f"a MarianMTModel normalises after adding; this model's norm is {settings['norm']!r}")
    model = MarianMTModel(
        MarianConfig(
            vocab_size=len(ours.embedding),
            max_position_embeddings=settings["max_positions"],
            d_model=settings["width"],
            encoder_layers=settings["encoder_layers"],
            decoder_layers=settings["decoder_layers"],
            encoder_ffn_dim=settings["feed_forward"],
            decoder_ffn_dim=settings["feed_forward"],
            encoder_attention_heads=settings["heads"],
            decoder_attention_heads=settings["heads"],
            activation_function="relu",
            scale_embedding=True,
            pad_token_id=special["pad"],
            eos_token_id=special["end"],
            decoder_start_token_id=special["start"],
            forced_eos_token_id=None,
        )
    )
    weights = {f"model.{name}": array for name, array in ours.layers(MODULES)}
    weights |= {f"model.{each}.embed_positions.weight": ours.positions for each in ("encoder", "decoder")}
    for name in ("model.shared", "model.encoder.embed_tokens", "model.decoder.embed_tokens", "lm_head"):
        weights[f"{name}.weight"] = ours.embedding
    state = {name: torch.from_numpy(array) for name, array in weights.items()}
    model.load_state_dict({**state, "final_logits_bias": torch.zeros(1, len(ours.embedding))})
    return model.eval()


def build(job: Job) -> Run:
    torch.set_num_threads(job.threads)
    ours = Converted.load(Path(job.converted))
    model, pad, end = model_of(ours), ours.special["pad"], ours.special["end"]
    options = {"num_beams": job.beam, "do_sample": False}
    if job.beam > 1:
        # To stop as soon as there are as many hypotheses as the beam is wide is its fastest.
        options |= {"length_penalty": job.alpha, "early_stopping": True}

    def run(batches: list[Batch]) -> Iterator[Batch]:
        for batch in batches:
            rows = [torch.tensor([*ids, end]) for ids in batch]
            source = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=pad)
            with torch.inference_mode():
                found = model.generate(
                    input_ids=source,
                    attention_mask=(source != pad).long(),
                    max_new_tokens=job.limit(batch),
                    **options,
                )
            yield [until(end, ids[1:]) for ids in found.tolist()]  # the first is the start

    return run


if __name__ == "__main__":
    work(build, "transformers", "torch")
