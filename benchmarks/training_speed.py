"""How fast does regard train beside its peers? Target tokens per second on the CPU, the same ids and the same shapes.

Installs each peer from PyPI into an environment of its own, prepares Multi30k English to German with regard's joint
tokenizer of 8,000 tokens, then lets one peer after the other train the same Transformer, each in a process of its own,
round after round. Beside each part it measures the machine's own peak, a matrix product of 2048 × 2048 × 2048 in
float32, so that the share of it that a peer reaches can be told (Linux only).

    python benchmarks/training_speed.py --data DIR --size S --size B --json measured.json

DIR is where `multi30k/train.en.gz` and the others are, or will be downloaded to. What was measured is kept in the file
of --json: a run that was stopped goes on, and a peer that failed is tried again.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from peers import PeerError, environment, run
from rich.console import Console
from rich.table import Table
from training_peers.measuring import Job

from regard.config import Recipe, recipes
from regard.data.batching import TokenBatches
from regard.data.tokenizer import UNKNOWN
from regard.tasks.registry import prepare

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
PEERS = ("regard", "huggingface", "eole", "marian", "joeynmt")
TOKENS = 8_000
BATCH_TOKENS = 4_096
LONGEST_RUN = 3_600  # seconds after which a peer counts as stuck
Measured = dict[str, Any]


@dataclass(frozen=True)
class Size:
    """A shape of the Transformer, and how many updates of it are measured."""

    width: int
    feed_forward: int
    heads: int
    layers: int
    updates: int


SIZES = {"S": Size(256, 1_024, 4, 3, updates=20), "B": Size(512, 2_048, 8, 6, updates=8)}


@dataclass(frozen=True)
class Corpus:
    """The training text as every peer reads it."""

    folder: Path
    vocabulary: int
    source_per_target: float
    """Source tokens for each target token, ends counted on both sides."""


def corpus_recipe(data: Path, kept: Path) -> Recipe:
    """Multi30k as the recipe of that name reads it, with the benchmark's tokenizer."""
    known = recipes.to_dict(recipes.load(ROOT / "recipes" / "translate" / "multi30k-en-de.toml", folder=data))
    settings = {
        "name": "training-speed",
        "data": {**known["data"], "prepared": str(kept / "prepared")},
        "tokenizer": {"vocabulary": TOKENS},
    }
    (kept / "recipe.json").write_text(json.dumps(settings), encoding="utf-8")
    return recipes.parse(settings)


def write_corpus(data: Path, kept: Path) -> Corpus:
    """The ids for peers that take arrays, and as words for those that take text: token 17 is the word `t17`."""
    kept.mkdir(parents=True, exist_ok=True)
    recipe = corpus_recipe(data, kept)
    prepared = prepare(recipe, show=False)
    train, vocabulary = prepared.train, prepared.assets.tokenizer.size("target")
    sides = {
        "source": [np.asarray(train.source(row)) for row in range(len(train))],
        "target": [np.asarray(train.target(row)) for row in range(len(train))],
    }
    rows = TokenBatches(train.lengths, BATCH_TOKENS, recipe.training.seed).plan(0)
    ragged = {**sides, "rows": rows}
    lengths = {f"{name}_lengths": np.array([len(row) for row in each]) for name, each in ragged.items()}
    np.savez(kept / "ids.npz", **{name: np.concatenate(each) for name, each in ragged.items()}, **lengths)  # type: ignore[arg-type]
    for name, side in sides.items():
        write_lines(kept / f"train.{name}", (" ".join(f"t{token}" for token in row) for row in side))
    write_lines(kept / "vocabulary.txt", (f"t{token}" for token in range(UNKNOWN + 1, vocabulary)))
    source, target = (train.lengths.sum(axis=0) + len(train)).tolist()
    return Corpus(kept, vocabulary, source / target)


def write_lines(path: Path, lines: Iterable[str]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)


def peak(threads: int) -> float:
    """What the machine can do: floating-point operations per second of a large matrix product."""
    torch.set_num_threads(threads)
    left, right = torch.randn(2, 2_048, 2_048)
    seconds = []
    for _ in range(8):
        began = time.perf_counter()
        left @ right
        seconds.append(time.perf_counter() - began)
    return float(2 * 2_048**3 / statistics.median(seconds[1:]))


def work_per_token(size: Size, corpus: Corpus) -> float:
    """Floating-point operations for each target token: three times the forward pass's matrix products, real tokens
    only. The products inside attention are left out; at the lengths of sentences they are a few per cent."""
    attention, feed_forward = 8 * size.width**2, 4 * size.width * size.feed_forward
    keys_and_values = attention // 2  # of the source, for the decoder
    source = size.layers * (attention + feed_forward + keys_and_values)
    target = size.layers * (attention + attention // 2 + feed_forward) + 2 * size.width * corpus.vocabulary
    return 3.0 * (source * corpus.source_per_target + target)


def measure(peer: str, python: Path, size: Size, corpus: Corpus, threads: int, warmup: int) -> Measured:
    """One part: the peak, the peer, the peak."""
    with tempfile.TemporaryDirectory() as work:
        job = Job(
            **asdict(size),
            vocabulary=corpus.vocabulary,
            batch_tokens=BATCH_TOKENS,
            threads=threads,
            warmup=warmup,
            data=str(corpus.folder.resolve()),
            work=work,
        )
        described = Path(work) / "job.json"
        described.write_text(json.dumps(asdict(job)))
        own = {name: str(threads) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")}
        own["PYTHONPATH"] = str(ROOT) if peer == "regard" else ""
        script = HERE / "training_peers" / f"train_{peer}.py"
        before = peak(threads)
        try:
            run([str(python), str(script), str(described)], cwd=work, env={**os.environ, **own}, timeout=LONGEST_RUN)
        except subprocess.TimeoutExpired:
            raise PeerError(f"stopped after {LONGEST_RUN:,} s") from None
        result: Measured = json.loads((Path(work) / "result.json").read_text())
        result["peak"] = (before + peak(threads)) / 2
        result["share"] = result["tokens_per_second"] * work_per_token(size, corpus) / result["peak"]
    return result


class Notebook:
    """What was measured, in memory and, if asked, in a file that a later run goes on from."""

    def __init__(self, path: Path | None, settings: Measured) -> None:
        self.path, self.settings = path, settings
        self.parts: list[Measured] = []
        if path and path.is_file():
            stored = json.loads(path.read_text(encoding="utf-8"))
            if stored["settings"] != settings:
                sys.exit(
                    f"{path} was measured with {stored['settings']}, not {settings}; name another file or delete it"
                )
            self.parts = stored["parts"]

    def has(self, **key: Any) -> bool:
        return any(all(part[name] == value for name, value in key.items()) for part in self.parts)

    def add(self, part: Measured) -> None:
        self.parts.append(part)
        if self.path:
            fresh = self.path.with_suffix(".part")
            fresh.write_text(json.dumps({"settings": self.settings, "parts": self.parts}, indent=1), encoding="utf-8")
            fresh.replace(self.path)

    def medians(self, size: str) -> Iterator[tuple[str, Measured]]:
        """Each peer measured at a size: its last part, with medians over the rounds for what varies."""
        for peer in PEERS:
            parts = [part for part in self.parts if (part["peer"], part["size"]) == (peer, size)]
            if parts:
                varied = ("tokens_per_second", "tokens_per_update", "share", "memory", "peak")
                middle = {name: statistics.median(part[name] for part in parts) for name in varied}
                yield peer, {**parts[-1], **middle, "rounds": len(parts)}


def doubt(part: Measured, reference: Measured | None) -> str:
    """Why a figure should not be believed, if there is a reason."""
    if part["last_loss"] >= part["first_loss"]:
        return " (its loss does not fall!)"
    if reference and abs(part["parameters"] / reference["parameters"] - 1) > 0.02:
        return " (its model is of another size!)"
    if abs(part["tokens_per_update"] / BATCH_TOKENS - 1) > 0.15:
        return " (its updates are of another size!)"
    return ""


def table(size: str, notebook: Notebook) -> Table:
    found = dict(notebook.medians(size))
    rivals = [part["tokens_per_second"] for peer, part in found.items() if peer != "regard"]
    shown = Table(title=f"training {size} = {SIZES[size]}", title_justify="left")
    shown.add_column("")
    for name in (
        "tokens/s",
        "× fastest peer",
        "of GEMM peak",
        "memory MB",
        "tokens/update",
        "loss",
        "parameters",
        "rounds",
    ):
        shown.add_column(name, justify="right")
    shown.add_column("versions")
    for peer, part in sorted(found.items(), key=lambda item: -item[1]["tokens_per_second"]):
        versions = ", ".join(f"{name} {number}" for name, number in part["versions"].items())
        shown.add_row(
            peer,
            f"{part['tokens_per_second']:,.0f}",
            f"{part['tokens_per_second'] / max(rivals):.2f}" if rivals else "–",
            f"{part['share']:.1%}",
            f"{part['memory']:,.0f}",
            f"{part['tokens_per_update']:,.0f}",
            f"{part['first_loss']:.2f} → {part['last_loss']:.2f}",
            f"{part['parameters']:,}",
            str(part["rounds"]),
            versions + doubt(part, found.get("regard")),
        )
    return shown


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder that holds multi30k/, or will")
    parser.add_argument("--size", choices=SIZES, action="append", help="S or B; may be given twice (S)")
    parser.add_argument("--peers", type=lambda text: text.split(","), default=list(PEERS), help=f"{','.join(PEERS)}")
    parser.add_argument("--venvs", type=Path, default=HERE / ".venvs", help="folder of their environments and the data")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--warmup", type=int, default=3, help="updates before measuring begins")
    parser.add_argument("--updates", type=int, help="updates measured in each part (S 20, B 8)")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--json", type=Path, help="file that keeps what was measured")
    asked = parser.parse_args()
    asked.size = asked.size or ["S"]
    if unknown := set(asked.peers) - set(PEERS):
        parser.error(f"unknown peer {', '.join(sorted(unknown))}; there are {', '.join(PEERS)}")
    return asked


def installed(peers: list[str], venvs: Path, failed: dict[str, str]) -> dict[str, Path]:
    """The Python of each peer that can be had; regard's is the one that runs this."""
    pythons = {}
    for peer in peers:
        try:
            pythons[peer] = Path(sys.executable) if peer == "regard" else environment(peer, venvs)
        except PeerError as error:
            failed[f"installing {peer}"] = str(error)
    return pythons


def main() -> None:
    asked = arguments()
    notebook = Notebook(asked.json, {"threads": asked.threads, "warmup": asked.warmup, "updates": asked.updates})
    failed: dict[str, str] = {}
    pythons = installed(asked.peers, asked.venvs, failed)
    corpus = write_corpus(asked.data, asked.venvs / "data")
    for number, name, peer in product(range(1, asked.rounds + 1), asked.size, pythons):
        what = f"training {name} with {peer}"
        if what in failed or notebook.has(round=number, size=name, peer=peer):
            continue
        size = SIZES[name] if asked.updates is None else replace(SIZES[name], updates=asked.updates)
        try:
            part = measure(peer, pythons[peer], size, corpus, asked.threads, asked.warmup)
        except PeerError as error:
            failed[what] = str(error)
            print(f"round {number}: {what} failed", flush=True)
            continue
        notebook.add({"round": number, "size": name, "peer": peer, **part})
        print(f"round {number}: {what}: {part['tokens_per_second']:,.0f} target tokens/s, {part['memory']:,.0f} MB, "
              f"{part['share']:.1%} of {part['peak'] / 1e9:,.1f} GFLOP/s", flush=True)  # fmt: skip
    print(f"\nPython {platform.python_version()}, {asked.threads} threads, {os.cpu_count()} cores, {platform.machine()}; "
          "medians; tokens are real target tokens, ends counted, no padding")  # fmt: skip
    console = Console(width=None if sys.stdout.isatty() else 170)
    for name in asked.size:
        console.print(table(name, notebook))
    for what, why in failed.items():
        print(f"\n{what} failed: {why}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
