"""How fast do regard's language models and classifiers write, judge and train beside those of `transformers`? The same shapes, on the CPU.

    python benchmarks/text_models_speed.py [--part generate …] [--threads 2] [--rounds 5] [--json measured.json]

Untrained models of one shape, in one process, since they share torch: regard does some of the work, then its peer, round after round, so
that whatever else the machine does falls on both alike. Told are medians over the rounds, and of the ratios within a round.

generate          tokens/s, greedy, 64 tokens after each prompt, one prompt alone and 16 together; GPT2LMHeadModel.generate with its cache
classify          texts/s, tokenising included on both sides, one text alone and 64 in a list; a text-classification pipeline with BERT,
                  whose batch size is the better of 1 and 16
train-classifier  tokens/s of updates on the same ids; BertForSequenceClassification in the usual loop
train-language    tokens/s of updates on the same ids; GPT2LMHeadModel in the usual loop

transformers is installed into an environment of its own (--venvs), which lends what this one lacks. What was measured is kept in the
file of --json: a run that was stopped goes on. `--clock processor` is for a busy machine, with one thread.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import torch
from peers import environment, packages_folder
from torch import Tensor, nn

import regard
from regard import config
from regard.checkpoint import find_model
from regard.config.recipes import load as load_recipe
from regard.data.corpus import read_pairs
from regard.tasks.classification.assets import ClassificationAssets
from regard.tasks.classification.classifier import Classifier
from regard.tasks.classification.training import labelled_loss
from regard.tasks.language_model.generator import TextGenerator
from regard.tasks.language_model.training import language_loss
from regard.tasks.registry import build
from regard.training.distributed import ALONE
from regard.training.trainable import MicroBatch
from regard.training.update import Objective, build_optimizer, take_update

HERE = Path(__file__).resolve().parent
WIDTH, FEED_FORWARD, HEADS, LAYERS, POSITIONS = 256, 1_024, 4, 4, 512
SHAPE: dict[str, Any] = dict(
    width=WIDTH, feed_forward=FEED_FORWARD, heads=HEADS, layers=LAYERS, max_positions=POSITIONS,
    norm="pre", positions="learned", activation="gelu", dropout=0.1,
)  # fmt: skip
NEW_TOKENS, LENGTH, ROWS, LABELS = 64, 128, 16, 2
CLOCKS = {"wall": time.perf_counter, "processor": time.process_time}
Work = Callable[[], int]
"""Does some work, and says how much: tokens or texts."""


def sentences(split: str = "test") -> list[str]:
    """The source side of the bundled corpus."""
    recipe: Any = load_recipe(find_model("demo").parent / "quickstart.toml")
    files = recipe.data.train if split == "train" else next(iter(recipe.data.test.values()))
    return [source for source, _ in read_pairs(files, recipe.data, split)]


def gpt2(size: int) -> Any:
    from transformers import GPT2Config, GPT2LMHeadModel  # type: ignore[import-not-found]

    return GPT2LMHeadModel(
        GPT2Config(
            vocab_size=size, n_positions=POSITIONS, n_embd=WIDTH, n_layer=LAYERS, n_head=HEADS, n_inner=FEED_FORWARD,
            bos_token_id=None, eos_token_id=None, pad_token_id=0,
        )
    )  # fmt: skip


def bert(size: int) -> Any:
    from transformers import BertConfig, BertForSequenceClassification

    return BertForSequenceClassification(
        BertConfig(
            vocab_size=size, hidden_size=WIDTH, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
            intermediate_size=FEED_FORWARD, max_position_embeddings=POSITIONS, num_labels=LABELS, pad_token_id=0,
        )
    )  # fmt: skip


def generate() -> Iterator[tuple[str, Work, dict[str, Work]]]:
    tokenizer = regard.load("demo", engine="native").tokenizer
    recipe = config.LanguageRecipe(data=config.PlainText(documents="stream"), model=config.TextDecoder(**SHAPE))
    ours = TextGenerator(build(recipe.model, tokenizer.size("source")), tokenizer, recipe)
    theirs = gpt2(tokenizer.size("source")).eval()
    for count in (1, ROWS):
        prompt = " ".join(sentences()[:4])
        ids = torch.tensor([tokenizer.encode(prompt)] * count)

        def own(prompts: list[str]) -> int:
            return sum(len(each.tokens) for each in ours.generate(prompts, max_new_tokens=NEW_TOKENS, temperature=0))

        def peer(ids: Tensor) -> int:
            with torch.inference_mode():
                found = theirs.generate(
                    ids,
                    attention_mask=torch.ones_like(ids),
                    max_new_tokens=NEW_TOKENS,
                    min_new_tokens=NEW_TOKENS,
                    do_sample=False,
                    use_cache=True,
                )
            return int(found[:, ids.size(1) :].numel())

        yield f"{count} at a time", partial(own, [prompt] * count), {"GPT-2": partial(peer, ids)}


def classify() -> Iterator[tuple[str, Work, dict[str, Work]]]:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers  # type: ignore[import-not-found]
    from transformers import PreTrainedTokenizerFast, TextClassificationPipeline

    lines = sentences()
    texts = [" ".join(lines[begin : begin + 6]) for begin in range(0, 6 * 64, 6)]
    tokenizer = regard.load("demo", engine="native").tokenizer
    size = tokenizer.size("source")
    recipe = config.ClassificationRecipe(model=config.TextEncoder(**SHAPE))
    ours = Classifier(build(recipe.model, size, LABELS), recipe, ClassificationAssets(tokenizer, ("dull", "lovely")))
    learned = Tokenizer(models.BPE(unk_token="[UNK]"))  # of as many tokens as ours
    learned.normalizer, learned.pre_tokenizer = normalizers.NFKC(), pre_tokenizers.Metaspace()
    learned.train_from_iterator(
        sentences("train"), trainers.BpeTrainer(vocab_size=size, special_tokens=["[PAD]", "[UNK]"], show_progress=False)
    )
    theirs = TextClassificationPipeline(
        model=bert(size).eval(),
        tokenizer=PreTrainedTokenizerFast(tokenizer_object=learned, pad_token="[PAD]", unk_token="[UNK]"),
    )
    read = [len(tokenizer.encode(text)) for text in texts], [len(learned.encode(text).ids) for text in texts]
    print(
        f"tokens of a text on average: regard {statistics.mean(read[0]):.1f}, pipeline {statistics.mean(read[1]):.1f}"
    )
    for count in (1, len(texts)):

        def own(given: list[str]) -> int:
            return len(ours.classify(given))

        def peer(given: list[str], batch: int) -> int:
            with torch.inference_mode():
                return len(theirs(given, batch_size=batch))

        batches = (1,) if count == 1 else (1, 16)
        peers = {f"pipeline, batches of {batch}": partial(peer, texts[:count], batch) for batch in batches}
        yield f"{count} at a time", partial(own, texts[:count]), peers


def usual_update(model: nn.Module, tokens: int, **given: Tensor) -> Work:
    """What everybody writes."""
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def update() -> int:
        model(**given).loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return tokens

    return update


def own_update(recipe: Any, sizes: tuple[int, ...], loss: Any, batch: MicroBatch, tokens: int) -> Work:
    model, number = build(recipe.model, *sizes).train(), 0
    objective, optimizer = Objective(model, loss), build_optimizer(model, recipe.training)

    def update() -> int:
        nonlocal number
        number += 1
        take_update(objective, optimizer, [batch], recipe.training, number, ALONE)
        return tokens

    return update


def made_up(size: int) -> tuple[Tensor, int]:
    """Rows of ids of different lengths, filled up with 0 [S, T]; and how many are real."""
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(4, size, (ROWS, LENGTH), generator=generator)
    lengths = torch.randint(LENGTH // 2, LENGTH + 1, (ROWS, 1), generator=generator)
    real = torch.arange(LENGTH) < lengths
    return ids * real, int(real.sum())


def train_classifier() -> Iterator[tuple[str, Work, dict[str, Work]]]:
    size = 8_000
    ids, tokens = made_up(size)
    labels = torch.arange(ROWS) % LABELS
    recipe = config.ClassificationRecipe(model=config.TextEncoder(**SHAPE))

    def loss(model: Any, given: Any) -> Any:
        return labelled_loss(model, *given, smoothing=0.0, r_drop=0.0)

    own = own_update(recipe, (size, LABELS), loss, MicroBatch((ids, labels), ROWS), tokens)
    usual = usual_update(bert(size), tokens, input_ids=ids, attention_mask=(ids != 0).long(), labels=labels)
    yield f"{ROWS} texts of {LENGTH // 2} to {LENGTH} tokens", own, {"BERT": usual}


def train_language() -> Iterator[tuple[str, Work, dict[str, Work]]]:
    size, generator = 8_000, torch.Generator().manual_seed(1)
    ids = torch.randint(4, size, (ROWS, LENGTH + 1), generator=generator)
    recipe, tokens = config.LanguageRecipe(model=config.TextDecoder(**SHAPE)), ROWS * LENGTH

    def loss(model: Any, given: Any) -> Any:
        return language_loss(model, *given, smoothing=0.0)

    batch = MicroBatch((ids[:, :-1], ids[:, 1:]), tokens)
    usual = usual_update(gpt2(size), tokens, input_ids=ids, labels=ids)
    yield f"{ROWS} windows of {LENGTH} tokens", own_update(recipe, (size,), loss, batch, tokens), {"GPT-2": usual}


PARTS = {
    "generate": generate,
    "classify": classify,
    "train-classifier": train_classifier,
    "train-language": train_language,
}
BARS = {"generate": 2.0, "classify": 2.0, "train-classifier": 1.5, "train-language": 1.5}


def speed(work: Work, seconds: float, clock: Callable[[], float]) -> float:
    """How much is done in a second, of at least so many."""
    began, done = clock(), 0
    while not done or clock() - began < seconds:
        done += work()
    return done / (clock() - began)


def measure(part: str, kept: dict[str, Any], asked: argparse.Namespace, keep: Callable[[], None]) -> None:
    torch.manual_seed(1)
    for case, own, peers in PARTS[part]():
        rounds: list[dict[str, float]] = kept.setdefault(f"{part}, {case}", [])
        workers = {"regard": own, **peers}
        if len(rounds) < asked.rounds:
            for work in workers.values():
                work()  # the first ones ask for memory
        while len(rounds) < asked.rounds:
            rounds.append({name: speed(work, asked.seconds, CLOCKS[asked.clock]) for name, work in workers.items()})
            keep()
        others = [max(value for name, value in each.items() if name != "regard") for each in rounds]
        ratio = statistics.median(each["regard"] / best for each, best in zip(rounds, others, strict=True))
        told = ", ".join(f"{name} {statistics.median(each[name] for each in rounds):,.1f}" for name in workers)
        print(f"{part}, {case}: {told} /s; regard is {ratio:.2f} × (bar {BARS[part]})", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--part", action="append", choices=PARTS, help="only these; repeatable")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each in a round, at least")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    parser.add_argument("--venvs", type=Path, default=HERE / ".venvs", help="folder of the peers' environments")
    parser.add_argument("--json", type=Path, help="file that keeps what was measured")
    asked = parser.parse_args()
    sys.path.append(str(packages_folder(environment("huggingface", asked.venvs))))
    import transformers

    transformers.logging.set_verbosity_error()
    torch.set_num_threads(asked.threads)
    settings = {
        "threads": asked.threads, "clock": asked.clock, "torch": torch.__version__, "transformers": transformers.__version__,
        "machine": platform.machine(), "shape": SHAPE,
    }  # fmt: skip
    kept: dict[str, Any] = {"settings": settings, "rounds": {}}
    if asked.json and asked.json.is_file():
        kept = json.loads(asked.json.read_text(encoding="utf-8"))
        if kept["settings"] != settings:
            sys.exit(f"{asked.json} was measured with {kept['settings']}, not {settings}; name another file")

    def keep() -> None:
        if asked.json:
            fresh = asked.json.with_name(f"{asked.json.name}.part")
            fresh.write_text(json.dumps(kept, indent=1), encoding="utf-8")
            fresh.replace(asked.json)

    print(f"{settings}, load {os.getloadavg()[0]:.1f} before", flush=True)
    for part in asked.part or PARTS:
        measure(part, kept["rounds"], asked, keep)


if __name__ == "__main__":
    main()
