"""How fast does regard prepare a corpus beside SentencePiece alone on one core? At least twice as fast is the promise.

Makes a million distinct pairs from Multi30k (the captions of two pictures joined) and learns tokens from them, once. Then
in turns: regard reads, encodes, cleans and writes the corpus with every core, and SentencePiece encodes the same lines
with the same tokens on one. Memory is that of regard and its processes together (Linux only).

    python benchmarks/preparing_speed.py --data DIR
"""

from __future__ import annotations

import argparse
import gzip
import os
import platform
import random
import statistics
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from large_corpus import PREPARE, watch

RECIPE = """
[data]
train = ["train.tsv"]
valid = ["valid.tsv"]
[tokenizer]
vocabulary = 8_000
"""
BEGIN = """
import sys, time
from pathlib import Path
from regard.config import recipes
from regard.data.encoding import encode_corpus, load_tokenizer
if __name__ == "__main__":
    stored = next(Path().glob("prepared/*/tokenizer.json"))
    began = time.perf_counter()
"""
OURS = """
    from regard.data.cleaning import Cleaner
    from regard.data.corpus import read_pairs
    from regard.data.ids import PairWriter
    data = recipes.load("recipe.toml").data
    cleaner = Cleaner(data.max_tokens, data.max_ratio, training=True)
    with PairWriter(Path("written"), "train", "uint16") as writer:
        for kept in map(cleaner.clean, encode_corpus(read_pairs(data.train, data, "train"), stored, int(sys.argv[1]))):
            writer.add(kept.ids, kept.lengths)
        writer.finish()
"""
ALONE = """
    tokens = load_tokenizer(stored)._processors["source"]
    with open("train.tsv", encoding="utf-8") as file:
        while block := [text for line in file.readlines(1 << 20) for text in line.rstrip("\\n").split("\\t")]:
            tokens.encode(block, num_threads=1)
"""
END = """
    Path("seconds").write_text(str(time.perf_counter() - began))
"""


def write_corpus(folder: Path, data: Path, pairs: int) -> None:
    sides = []
    for language in ("en", "de"):
        with gzip.open(data / "multi30k" / f"train.{language}.gz", "rt", encoding="utf-8") as file:
            sides.append(file.read().replace("\t", " ").splitlines())
    captions, chance = list(zip(*sides, strict=True)), random.Random(1)
    with (folder / "train.tsv").open("w", encoding="utf-8") as file:
        for _ in range(pairs):
            one, other = chance.choices(captions, k=2)
            file.write(f"{one[0]} {other[0]}\t{one[1]} {other[1]}\n")
    (folder / "valid.tsv").write_text("".join(f"{s}\t{t}\n" for s, t in captions[:100]), encoding="utf-8")
    (folder / "recipe.toml").write_text(RECIPE, encoding="utf-8")
    (folder / "written").mkdir()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="holds multi30k/train.*.gz")
    parser.add_argument("--pairs", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes that encode")
    asked = parser.parse_args()
    seconds: dict[str, list[float]] = {"regard": [], "SentencePiece": []}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_corpus(folder, asked.data, asked.pairs)
        whole = watch([sys.executable, "-c", PREPARE, "recipe.toml", str(asked.workers)], folder)
        print(f"`regard prepare`, learning the tokens included: {whole.seconds:.1f} s, {whole.resident:,.0f} MB")
        scripts = {"regard": folder / "ours.py", "SentencePiece": folder / "alone.py"}  # spawned processes need a file
        for who, body in (("regard", OURS), ("SentencePiece", ALONE)):
            scripts[who].write_text(BEGIN + body + END, encoding="utf-8")
        for number in range(asked.rounds):
            for who, script in scripts.items():
                peak = watch([sys.executable, str(script), str(asked.workers)], folder)
                seconds[who].append(float((folder / "seconds").read_text()))
                print(f"round {number + 1}, {who}: {seconds[who][-1]:.1f} s, {peak.resident:,.0f} MB", flush=True)
    medians = {who: statistics.median(each) for who, each in seconds.items()}
    print(", ".join(f"{who} {asked.pairs / median:,.0f} pairs/s" for who, median in medians.items()))
    print(f"regard ÷ SentencePiece on one core: {medians['SentencePiece'] / medians['regard']:.2f} "
          f"({asked.workers} workers, sentencepiece {version('sentencepiece')}, Python {platform.python_version()})")  # fmt: skip


if __name__ == "__main__":
    main()
