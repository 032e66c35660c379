"""`[training]` and `[decoding]`: how a model learns, and how it writes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Training:
    """`[training]`: the one loop that trains every model."""

    batch_tokens: int = 4_096
    """Tokens per update (of the target, where there are two texts), summed over accumulation and all processes."""
    accumulate: int = 1
    """Parts that each process computes one after another before an update; divides the memory needed."""
    updates: int = 10_000
    """Updates in all; schedules end here."""
    minutes: float = 0.0
    """Minutes spent on updates after which training stops all the same; 0: never."""
    learning_rate: float = 7e-4
    """Peak of the schedule, reached at the end of the warm-up."""
    schedule: str = "inverse-sqrt"
    """`inverse-sqrt` as in the paper, `cosine` or `linear` (both down to zero), or `constant`."""
    warmup: int = 4_000
    """Updates over which the learning rate rises from zero."""
    betas: tuple[float, float] = (0.9, 0.98)
    """Adam's decay of the mean and of the squared mean of gradients."""
    epsilon: float = 1e-9
    """Adam's guard against division by zero."""
    weight_decay: float = 0.0
    """AdamW's decay of matrices; vectors (biases, norms) are left alone."""
    clip: float = 0.0
    """Longest gradient; a longer one is scaled down. 0: never."""
    label_smoothing: float = 0.1
    """Share of the target probability spread over all pieces."""
    validate_every: int = 500
    """Updates between validations; each one writes a checkpoint."""
    checkpoint_every: int = 0
    """Updates between further checkpoints, so that a killed run loses little; 0: only with validations."""
    metric: str = "bleu"
    """What decides which weights are best on the validation text: `loss` (lower), or what the task counts (higher): `bleu` of
    translations, `accuracy` of labels."""
    validate_sentences: int = 1_000
    """Validation sentences that are translated (greedily) for BLEU; the loss uses all of them."""
    probes: int = 0
    """Validation sentences whose attention is filmed while it forms, for the movie of `regard view`; 0: none."""
    probe_every: int = 0
    """Updates between two frames of the movie, besides one at every validation; 0: only those."""
    patience: int = 0
    """Validations without a better metric after which training stops; 0: never."""
    average: int = 5
    """Checkpoints whose mean becomes the model; 1: the single best or last."""
    average_of: str = "last"
    """`last` or `best`: which checkpoints are averaged, and kept on disk."""
    seed: int = 1
    """Everything random follows from it."""
    threads: int = 0
    """CPU threads; 0: one per core (shared among processes)."""
    device: str = "auto"
    """`auto`, `cpu` or `cuda`."""
    precision: str = "auto"
    """`auto` (bfloat16 autocast on CUDA, float32 on CPU) or `float32`."""
    compile: bool = False
    """Let torch.compile fuse the model (CUDA)."""
    sharding: str = "none"
    """Under torchrun: `none` (DDP, each process holds the model) or `full` (FSDP2, it is split)."""
    tensorboard: bool = False
    """Also write TensorBoard events into the run folder."""


@dataclass(frozen=True)
class TextTraining(Training):
    """`[training]` of what reads one text."""

    label_smoothing: float = 0.0
    word_dropout: float = 0.0
    """Share of the pieces that are hidden from the model in training: it reads that something unknown stands there."""


@dataclass(frozen=True)
class ClassifierTraining(TextTraining):
    """`[training]` of a classifier."""

    metric: str = "accuracy"
    batch_texts: int = 0
    """Texts per update at most, where many short ones would fit: a crowd teaches less than its members one by one; 0: as many
    as `batch_tokens` holds."""
    r_drop: float = 0.0
    """Weight of the distance between what two passes with other dropouts say of a text (R-Drop); 0: one pass."""
    masked_epochs: int = 0
    """Passes over the training text, before labels matter, in which the encoder learns to guess hidden pieces."""


@dataclass(frozen=True)
class LanguageTraining(TextTraining):
    """`[training]` of a language model."""

    metric: str = "loss"


@dataclass(frozen=True)
class Decoding:
    """`[decoding]`: how sentences are written once the model is trained; every verb can override it."""

    beam: int = 5
    """Hypotheses kept side by side; 1 is greedy."""
    length_penalty: str = "paper"
    """`paper` divides a score by ((5 + length) / 6) ** alpha, `mean` by the length, `none` by nothing."""
    alpha: float = 0.6
    """Strength of the paper's length penalty."""
    max_ratio: float = 2.0
    """Longest output as a multiple of the source's pieces …"""
    max_extra: int = 20
    """… plus this many."""
    no_repeat_ngram: int = 0
    """Never write the same run of this many pieces twice; 0: allowed."""
    batch_tokens: int = 4_096
    """Source tokens decoded together, counting each hypothesis."""
