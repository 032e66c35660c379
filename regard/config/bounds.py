"""What settings may be: the sizes that stand for many of them, the words that some must be, the numbers that others may."""

from __future__ import annotations

from typing import Any

from regard.config import (
    Convolutional,
    Model,
    Recurrent,
    RecurrentAttention,
    RecurrentDecoder,
    TextDecoder,
    TextEncoder,
    Transformer,
)

SIZES: dict[type[Model], dict[str, dict[str, Any]]] = {
    Transformer: {
        "tiny": dict(width=128, feed_forward=256, heads=4, encoder_layers=4, decoder_layers=4, dropout=0.3),
        "small": dict(width=256, feed_forward=1_024, heads=4, encoder_layers=3, decoder_layers=3, dropout=0.1),
        "base": dict(width=512, feed_forward=2_048, heads=8, encoder_layers=6, decoder_layers=6, dropout=0.1),
        "big": dict(width=1_024, feed_forward=4_096, heads=16, encoder_layers=6, decoder_layers=6, dropout=0.3),
    },
    **{
        architecture: {
            "tiny": dict(width=128, encoder_layers=layers, decoder_layers=layers, dropout=0.3),
            "small": dict(width=256, encoder_layers=layers, decoder_layers=layers, dropout=0.2),
            "base": dict(width=512, encoder_layers=2 * layers, decoder_layers=2 * layers, dropout=0.2),
        }
        for architecture, layers in ((Recurrent, 1), (RecurrentAttention, 1), (Convolutional, 4))
    },
    **{
        architecture: {
            "tiny": dict(width=128, feed_forward=256, heads=4, layers=2, dropout=0.2),
            "small": dict(width=256, feed_forward=1_024, heads=4, layers=4, dropout=0.1),
            "base": dict(width=512, feed_forward=2_048, heads=8, layers=6, dropout=0.1),
        }
        for architecture in (TextEncoder, TextDecoder)
    },
    RecurrentDecoder: {
        "tiny": dict(width=128, layers=1, dropout=0.2),
        "small": dict(width=256, layers=2, dropout=0.2),
        "base": dict(width=512, layers=2, dropout=0.2),
    },
}

METRICS: dict[str, tuple[str, ...]] = {
    "translate": ("bleu", "loss"),
    "classify": ("accuracy", "loss"),
    "language-model": ("loss",),
}

CHOICES: dict[str, tuple[str, ...]] = {
    "data.long": ("first", "ends", "windows"),
    "data.documents": ("stream", "lines"),
    "tokenizer.kind": ("bpe", "unigram", "words"),
    "tokenizer.normalization": ("nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity"),
    "model.norm": ("post", "pre"),
    "model.positions": ("sinusoidal", "learned"),
    "model.cell": ("lstm", "gru"),
    "model.score": ("additive", "dot"),
    "model.pooling": ("max", "mean", "first"),
    "training.schedule": ("inverse-sqrt", "cosine", "linear", "constant"),
    "training.average_of": ("last", "best"),
    "training.device": ("auto", "cpu", "cuda"),
    "training.precision": ("auto", "float32"),
    "training.sharding": ("none", "full"),
    "decoding.length_penalty": ("paper", "mean", "none"),
}

# Numbers are at least 0, or what is said here.
AT_LEAST: dict[str, float] = {
    "data.source_column": 1, "data.target_column": 1, "data.max_pieces": 1, "data.max_ratio": 1,
    "tokenizer.sample": 1, "tokenizer.coverage": 0.5,
    "model.width": 2, "model.feed_forward": 1, "model.heads": 1, "model.encoder_layers": 1, "model.decoder_layers": 1,
    "model.max_positions": 2, "model.kernel": 1, "model.ngrams": 1, "model.buckets": 2, "model.layers": 1, "model.cutoffs": 1,
    "training.batch_tokens": 1, "training.accumulate": 1, "training.updates": 1,
    "training.validate_every": 1, "training.validate_sentences": 1, "training.average": 1,
    "decoding.beam": 1, "decoding.batch_tokens": 1,
}  # fmt: skip
AT_MOST: dict[str, float] = {"tokenizer.coverage": 1, "training.seed": 2**63 - 1}
BELOW_ONE = (
    "data.hold_out", "model.dropout", "model.attention_dropout", "model.activation_dropout", "training.label_smoothing",
    "training.betas", "training.word_dropout",
)  # fmt: skip
