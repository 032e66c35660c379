"""JoeyNMT: the same weights in its own Transformer, written by its own search."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import torch
from converted import Converted
from joeynmt.batch import Batch as JoeyBatch
from joeynmt.model import Model, build_model
from joeynmt.search import search
from joeynmt.vocabulary import Vocabulary
from worker import Batch, Job, Run, until, work


def attention(ours: str, theirs: str) -> dict[str, tuple[str, ...]]:
    query, key, value = (f"{theirs}.{each}_layer" for each in "qkv")
    return {
        f"{ours}.query_key_value": (query, key, value),
        f"{ours}.query": (query,),
        f"{ours}.key_value": (key, value),
        f"{ours}.output": (f"{theirs}.output_layer",),
    }


FEED_FORWARD = {
    "feed_forward.widen": ("feed_forward.pwff_layer.0",),
    "feed_forward.narrow": ("feed_forward.pwff_layer.3",),
    "after_feed_forward.norm": ("feed_forward.layer_norm",),
}
MODULES = {
    "encoder": {
        **attention("self_attention", "src_src_att"),
        **FEED_FORWARD,
        "after_self.norm": ("layer_norm",),
    },
    "decoder": {
        **attention("self_attention", "trg_trg_att"),
        **attention("cross_attention", "src_trg_att"),
        **FEED_FORWARD,
        "after_self.norm": ("x_layer_norm",),
        "after_cross.norm": ("dec_layer_norm",),
    },
}


def vocabulary_of(ours: Converted) -> Vocabulary:
    """Words that stand for our ids; JoeyNMT numbers the special ones in an order of its own, which is set right after."""
    names = dict(unk_token="<unk>", pad_token="<pad>", bos_token="<s>", eos_token="</s>", sep_token=None, sep_id=None)
    numbers = dict(unk_id=0, pad_id=1, bos_id=2, eos_id=3)
    words = [f"t{number}" for number in range(4, len(ours.embedding))]
    vocabulary = Vocabulary(words, SimpleNamespace(**names, **numbers, lang_tags=[]))
    special = ours.special
    vocabulary.pad_index, vocabulary.unk_index = special["pad"], special["unknown"]
    vocabulary.bos_index, vocabulary.eos_index = special["start"], special["end"]
    return vocabulary


def model_of(ours: Converted) -> Model:
    settings, vocabulary = ours.settings, vocabulary_of(ours)
    if settings["norm"] != "post":
        raise SystemExit(
            f"only a model that normalises after adding is converted; this one's norm is {settings['norm']!r}"
        )
    stack = dict(
        type="transformer",
        num_heads=settings["heads"],
        hidden_size=settings["width"],
        ff_size=settings["feed_forward"],
        embeddings={"embedding_dim": settings["width"], "scale": True},
        layer_norm=settings["norm"],
        activation="relu",
    )
    stacks = {each: {**stack, "num_layers": settings[f"{each}_layers"]} for each in ("encoder", "decoder")}
    model = build_model({**stacks, "tied_embeddings": True, "tied_softmax": True}, vocabulary, vocabulary)
    state = {name: torch.from_numpy(array) for name, array in ours.layers(MODULES)}
    embedding, positions = torch.from_numpy(ours.embedding), torch.from_numpy(ours.positions)
    state |= dict.fromkeys(("src_embed.lut.weight", "trg_embed.lut.weight", "decoder.output_layer.weight"), embedding)
    for each in ("encoder", "decoder"):
        getattr(model, each).pe.pe = torch.empty(1, *positions.shape)
        state[f"{each}.pe.pe"] = positions[None]
    model.load_state_dict(state)
    for module in model.modules():
        if isinstance(module, torch.nn.LayerNorm):
            module.eps = torch.nn.LayerNorm(1).eps  # as in training
    return model.eval()


def build(job: Job) -> Run:
    torch.set_num_threads(job.threads)
    ours = Converted.load(Path(job.converted))
    model, pad, end = model_of(ours), ours.special["pad"], ours.special["end"]

    def run(batches: list[Batch]) -> Iterator[Batch]:
        for batch in batches:
            rows = [torch.tensor([*ids, end]) for ids in batch]
            given = JoeyBatch(
                src=torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=pad),
                src_length=torch.tensor([len(row) for row in rows]),
                src_prompt_mask=None,
                trg=None,
                trg_prompt_mask=None,
                indices=torch.arange(len(rows)),
                device=torch.device("cpu"),
                pad_index=pad,
                eos_index=end,
                is_train=False,
            )
            found, _, _ = search(
                model,
                given,
                max_output_length=job.limit(batch),
                beam_size=job.beam,
                beam_alpha=job.alpha,
                generate_unk=False,
            )
            yield [until(end, ids) for ids in found.tolist()]

    return run


if __name__ == "__main__":
    work(build, "joeynmt", "torch")
