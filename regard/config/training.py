"""`[training]`: how a model learns, whatever its task."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from regard.config.field import setting


@dataclass(frozen=True)
class Training:
    """`[training]`: the one loop that trains every model."""

    start: str = setting("", path="file")
    """A trained model to start from: a run folder, a model file or `demo`. Weights and tokenizer come from there, and what
    the recipe does not say of `[model]`; another task's model gives what it has in common: embedding and encoder."""
    freeze: tuple[str, ...] = ()
    """Parts of the model that keep the weights they start with, such as `["embedding", "encoder"]`."""
    batch_tokens: int = setting(4_096, least=1, most=100_000_000)
    """Tokens per update (of the target, where there are two texts), summed over accumulation and all processes."""
    accumulate: int = setting(1, least=1, most=1_000_000, free=True)
    """Micro-batches that each process computes one after another before an update; divides the memory needed.
    When a run is resumed, an update must keep its number of them: two processes can take over from one that accumulates two."""
    updates: int = setting(10_000, least=1, free=True)
    """Updates in all; schedules end here."""
    minutes: float = setting(0.0, free=True)
    """Minutes spent on updates after which training stops all the same; 0: never."""
    learning_rate: float = setting(7e-4, most=1_000)
    """Peak of the schedule, reached at the end of the warm-up."""
    schedule: str = setting("inverse-sqrt", choices=("inverse-sqrt", "cosine", "linear", "constant"))
    """`inverse-sqrt` as in the paper, `cosine` or `linear` (both down to zero), or `constant`."""
    warmup: int = 4_000
    """Updates over which the learning rate rises from zero."""
    betas: tuple[float, float] = setting((0.9, 0.98), below=1)
    """Adam's decay of the mean and of the squared mean of gradients."""
    epsilon: float = setting(1e-9, least=1e-20, most=1)
    """Adam's guard against division by zero."""
    weight_decay: float = setting(0.0, most=100)
    """AdamW's decay of matrices; vectors (biases, norms) are left alone."""
    clip: float = 0.0
    """Longest gradient; a longer one is scaled down. 0: never."""
    label_smoothing: float = setting(0.1, below=1)
    """Share of the target probability spread over all answers."""
    validate_every: int = setting(500, least=1)
    """Updates between validations; each one writes a checkpoint."""
    checkpoint_every: int = setting(0, free=True)
    """Updates between further checkpoints, so that a killed run loses little; 0: only with validations."""
    metric: str = "loss"
    """What decides which weights are best on the validation data: `loss` (lower), or what the task counts (higher)."""
    patience: int = setting(0, free=True)
    """Validations without a better metric after which training stops; 0: never. With `ema`, the moving average may be the better one."""
    average: int = setting(5, least=1, most=1_000)
    """Checkpoints whose mean may become the model; 1: none is made."""
    average_of: str = setting("last", choices=("last", "best"))
    """`last` or `best`: which checkpoints are averaged, and kept on disk."""
    ema: float = setting(0.0, below=1)
    """Decay of an exponential moving average of the weights, such as 0.999, which may become the model; 0: none is kept."""
    keep: str = setting("auto", choices=("auto", "mean", "ema", "best", "last"), free=True)
    """What becomes the model when training ends: the `mean`, the moving average (`ema`), the `best` or the `last` weights;
    `auto`: whichever is best on the validation data."""
    seed: int = setting(1, most=2**63 - 1)
    """Everything random follows from it."""
    threads: int = setting(0, most=4_096, free=True)
    """CPU cores to use, on Linux each by a worker; 0: as many as OMP_NUM_THREADS says, or all (shared among processes)."""
    device: str = setting("auto", choices=("auto", "cpu", "cuda"), free=True)
    """`auto`, `cpu` or `cuda`."""
    precision: str = setting("auto", choices=("auto", "float32", "bfloat16"))
    """Of matrix products: `auto` (bfloat16 on CUDA, float32 on a CPU), `float32` or `bfloat16`, which is rougher,
    and faster on CPUs with instructions for it (AVX512-BF16, AMX). Weights are float32 always."""
    compile: bool = setting(False, free=True)
    """Let torch.compile fuse the model (CUDA)."""
    sharding: str = setting("none", choices=("none", "full"), free=True)
    """Under torchrun: `none` (DDP, each process holds the model) or `full` (FSDP2, it is split)."""
    timeout: float = setting(10.0, least=0.01, most=100_000, free=True)
    """Under torchrun: minutes that a process waits for the others in an update before it gives up; 6 hours while one
    prepares or validates."""
    tensorboard: bool = setting(False, free=True)
    """Also write TensorBoard events into the run folder."""

    @property
    def filmed(self) -> bool:
        """Whether a run keeps how its attention forms, for a movie."""
        return False

    def impossible(self) -> Iterator[str]:
        """What is wrong though each setting alone is right."""
        if self.batch_tokens < self.accumulate:
            yield "training.accumulate cannot exceed training.batch_tokens"
        if self.freeze and not self.start:
            yield "training.freeze without training.start would keep weights that nobody trained"
        if self.keep == "ema" and not self.ema:
            yield "training.keep = 'ema' needs a moving average: set training.ema, to 0.999 for instance"


@dataclass(frozen=True)
class FilmedTraining(Training):
    """`[training]` of models whose attention can be watched while it forms."""

    probes: int = setting(0, most=1_000, free=True)
    """Validation texts whose attention is kept while it forms, for the movie of `regard view`; 0: none."""
    probe_every: int = setting(0, free=True)
    """Updates between two frames of the movie, besides one at every validation; 0: only those."""

    @property
    def filmed(self) -> bool:
        return self.probes > 0


@dataclass(frozen=True)
class TextTraining(FilmedTraining):
    """`[training]` of what reads text."""

    word_dropout: float = setting(0.0, below=1)
    """Share of the tokens that are hidden from the model in training: it reads that something unknown stands there. Of a
    translation, of both sides; what is to be written stays."""


@dataclass(frozen=True)
class ConsistentTraining(TextTraining):
    """`[training]` of what can be held to say the same twice, and of a text however it is cut."""

    r_drop: float = setting(0.0, most=1_000)
    """Weight of the distance between what two passes with other dropouts say (R-Drop), such as 1 to 5; each pass's own loss counts
    half. 0: one pass."""
    subword_sampling: float = setting(0.0, most=1)
    """How freely training text is cut into tokens, anew in every epoch: of `bpe` the probability that a merge is left out
    (BPE-dropout), of `unigram` the exponent of the probabilities of all ways to cut, from which one is drawn; 0: always as `prepare`
    cut it."""
