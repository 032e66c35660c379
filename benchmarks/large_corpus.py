"""How much more memory does a corpus of 2,000,000 pairs need than one of 20,000? Less than 200 MB is the promise.

Writes both corpora (seeded, words by Zipf's law), then prepares each and trains a small model on it, every stage in a
process of its own, while the memory of that process and all its children is sampled from /proc (Linux only).

    python benchmarks/large_corpus.py
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
PROMISE = 200  # MB
MEGA = 2**20
BLOCK = 20_000  # pairs written at a time
RECIPE = """
[data]
train = ["train.tsv"]
valid = ["valid.tsv"]
[tokenizer]
vocabulary = 8_000
[model]
size = "tiny"
width = 64
feed_forward = 128
encoder_layers = 2
decoder_layers = 2
[training]
batch_tokens = 2_048
updates = {updates}
validate_every = {updates}
validate_sentences = 20
average = 1
threads = 1
"""
PREPARE = """
import sys
from pathlib import Path
from regard.config import recipes
from regard.tasks.registry import prepare
if __name__ == "__main__":
    prepared = prepare(recipes.load(sys.argv[1]), workers=int(sys.argv[2]), show=False)
    print("\\n".join(prepared.report.lines()))
"""


@dataclass
class Memory:
    """Peaks in MB. Anonymous memory is what a process cannot give back; pages of mapped files come and go."""

    resident: float = 0.0
    anonymous: float = 0.0
    parent: float = 0.0
    seconds: float = 0.0

    def see(self, tree: list[tuple[float, float]]) -> None:
        """Note the (resident, anonymous) memory of a parent and its descendants at one moment."""
        self.resident = max(self.resident, sum(resident for resident, _ in tree))
        self.anonymous = max(self.anonymous, sum(anonymous for _, anonymous in tree))
        self.parent = max(self.parent, tree[0][0] if tree else 0.0)


def tree_of(parent: int) -> list[int]:
    """A process and all its descendants."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                stat = Path(f"/proc/{entry}/stat").read_text()
            except OSError:  # it ended meanwhile
                continue
            children.setdefault(int(stat.rpartition(")")[2].split()[1]), []).append(int(entry))
    found = [parent]
    for process in found:  # grows while it is read
        found += children.get(process, [])
    return found


def memory_of(process: int) -> tuple[float, float]:
    """Resident and anonymous memory in MB."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0.0, 0.0
    lines = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    resident, anonymous = (int(lines.get(name, "0 kB").split()[0]) / 1024 for name in ("VmRSS", "RssAnon"))
    return resident, anonymous


def watch(command: list[str], folder: Path) -> Memory:
    """Run a command to its end, sampling its memory twenty times a second."""
    peak, began = Memory(), time.perf_counter()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    with (folder / "log.txt").open("a") as log:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=subprocess.STDOUT)
        while process.poll() is None:
            peak.see([memory_of(each) for each in tree_of(process.pid)])
            time.sleep(0.05)
    if process.returncode:
        sys.exit(f"{' '.join(command[:4])} … failed:\n{(folder / 'log.txt').read_text()}")
    peak.seconds = time.perf_counter() - began
    return peak


def write_corpus(folder: Path, pairs: int) -> None:
    """A made-up language pair: 50,000 words by Zipf's law, each with its translation, and now and then two swapped."""
    folder.mkdir()
    random = np.random.default_rng(2017)
    syllables = [a + b + c for a in "bdfgklmnprstvz" for b in "aeiou" for c in ("", "l", "n", "r", "s")]
    words = np.array(
        [["".join(random.choice(syllables, size=random.integers(1, 5))) for _ in range(50_000)] for _ in "st"]
    )
    frequency = np.cumsum(1 / np.arange(1, 50_001))
    for name, count in (("train.tsv", pairs), ("valid.tsv", 200)):
        with (folder / name).open("w", encoding="utf-8") as file:
            for begin in range(0, count, BLOCK):
                rows = min(BLOCK, count - begin)
                ends = np.cumsum(np.maximum(1, random.poisson(12, rows)))
                source = np.searchsorted(frequency, random.random(ends[-1]) * frequency[-1])
                target = source.copy()
                swapped = random.choice(ends[-1] - 1, ends[-1] // 10)
                target[swapped], target[swapped + 1] = target[swapped + 1], target[swapped]
                left, right = words[0][source], words[1][target]
                for first, last in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True):
                    file.write(f"{' '.join(left[first:last])}.\t{' '.join(right[first:last])}.\n")


def measure(folder: Path, pairs: int, updates: int, workers: int) -> dict[str, Memory]:
    """Peaks of preparing and of training."""
    write_corpus(folder, pairs)
    (folder / "large.toml").write_text(RECIPE.format(updates=updates))
    print(f"{pairs:,} pairs, {(folder / 'train.tsv').stat().st_size / MEGA:,.0f} MB of text", flush=True)
    return {
        "prepare": watch([sys.executable, "-c", PREPARE, "large.toml", str(workers)], folder),
        "train": watch([sys.executable, "-m", "regard", "train", "large.toml"], folder),
    }


def report(small: int, large: int, found: dict[int, dict[str, Memory]]) -> bool:
    """Print the table, and say whether the promise is kept."""
    kept = True
    print(f"\n| peak memory in MB | {small:,} pairs | {large:,} pairs | more |\n|---|---:|---:|---:|")
    for stage in ("prepare", "train"):
        before, after = found[small][stage], found[large][stage]
        for name, meaning in (
            ("resident", "all processes, resident"),
            ("anonymous", "all processes, anonymous"),
            ("parent", "parent process, resident"),
        ):
            low, high = getattr(before, name), getattr(after, name)
            print(f"| {stage}: {meaning} | {low:,.0f} | {high:,.0f} | {high - low:+,.0f} |")
            kept &= high - low < PROMISE
    speeds = [f"{pairs / found[pairs]['prepare'].seconds:,.0f}" for pairs in (small, large)]
    print(f"| prepare: pairs per second, start included | {speeds[0]} | {speeds[1]} | |")
    seconds = [f"{found[pairs]['train'].seconds:,.1f}" for pairs in (small, large)]
    print(f"| train: seconds, start included | {seconds[0]} | {seconds[1]} | |")
    versions = ", ".join(f"{name} {version(name)}" for name in ("regard", "torch", "numpy", "sentencepiece"))
    print(f"\nPython {platform.python_version()}, {versions}; {os.cpu_count()} cores, {platform.machine()}")
    print(f"{'kept' if kept else 'BROKEN'}: less than {PROMISE} MB more")
    return kept


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--small", type=int, default=20_000, help="pairs of the small corpus")
    parser.add_argument("--large", type=int, default=2_000_000, help="pairs of the large corpus")
    parser.add_argument("--updates", type=int, default=30)
    parser.add_argument("--workers", type=int, default=2, help="processes that encode")
    asked = parser.parse_args()
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for pairs in (asked.small, asked.large):
            found[pairs] = measure(Path(folder) / str(pairs), pairs, asked.updates, asked.workers)
    sys.exit(0 if report(asked.small, asked.large, found) else 1)


if __name__ == "__main__":
    main()
