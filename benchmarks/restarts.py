"""Does a training in two processes end with the same bits when its processes are killed and torchrun starts them again?

Trains a small model once in peace, then again and again while a process chosen by chance is killed (SIGKILL): by turns
while it trains and while it starts. Every try must end by itself, and its weights and optimizer must equal those of the
first to the bit. Everything stays on this machine; `--nodes 2` starts a torchrun for each process, as two machines would.

    python benchmarks/restarts.py
    python benchmarks/restarts.py --nodes 2 --rendezvous static --tries 3
    python benchmarks/restarts.py --nodes 2 --rendezvous c10d --tries 3
"""

from __future__ import annotations

import argparse
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from safetensors import safe_open

ROOT = Path(__file__).resolve().parent.parent
LIMIT = 300  # seconds that a try may take
RECIPE = """
[data]
train = ["train.tsv"]
valid = ["valid.tsv"]
prepared = "prepared"
[tokenizer]
vocabulary = 320
[model]
size = "tiny"
width = 16
feed_forward = 32
heads = 2
encoder_layers = 1
decoder_layers = 1
[training]
batch_tokens = 128
updates = 240
validate_every = 120
checkpoint_every = 20
validate_sentences = 4
average = 2
threads = 1
timeout = 1
[decoding]
max_ratio = 0.5
max_extra = 2
"""


def write_corpus(folder: Path) -> Path:
    """Sentences and the same backwards → the recipe's path."""
    chance = random.Random(1)
    words = [first + second for first in "bdkmnt" for second in "aeiou"]
    sentences = [chance.choices(words, k=chance.randint(2, 6)) for _ in range(240)]
    rows = [" ".join(words) + "\t" + " ".join(reversed(words)) + "\n" for words in sentences]
    (folder / "train.tsv").write_text("".join(rows[:220]), encoding="utf-8")
    (folder / "valid.tsv").write_text("".join(rows[220:]), encoding="utf-8")
    (folder / "toy.toml").write_text(RECIPE, encoding="utf-8")
    return folder / "toy.toml"


def start(recipe: Path, run: Path, nodes: int, rendezvous: str, restarts: int) -> list[subprocess.Popen[bytes]]:
    """The torchrun of each node: two processes on one, or one on each of two."""
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        port = door.getsockname()[1]
    common = [f"--nproc-per-node={2 // nodes}", f"--nnodes={nodes}", f"--max-restarts={restarts}"]
    started = []
    for node in range(nodes):
        where = ["--standalone"]
        if nodes > 1 and rendezvous == "static":
            where = [f"--node-rank={node}", "--master-addr=127.0.0.1", f"--master-port={port}"]
        elif nodes > 1:
            where = ["--rdzv-backend=c10d", f"--rdzv-endpoint=127.0.0.1:{port}", "--rdzv-id=restarts"]
            where += ["--rdzv-conf=last_call_timeout=1", "--local-addr=127.0.0.1"]
        words = ["-m", "--", "regard", "train", str(recipe), "--run", str(run)]
        path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        with run.with_suffix(f".{node}.log").open("wb") as log:
            started.append(
                subprocess.Popen(
                    [sys.executable, "-m", "torch.distributed.run", *common, *where, *words],
                    env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
                    stdout=log,
                    stderr=log,
                    cwd=run.parent,
                )
            )
    return started


def workers(torchruns: list[subprocess.Popen[bytes]]) -> list[int]:
    """The processes that train now."""
    found = [
        subprocess.run(["pgrep", "-P", str(each.pid)], capture_output=True, check=False).stdout.split()
        for each in torchruns
    ]
    return [int(number) for numbers in found for number in numbers]


def kill_one(torchruns: list[subprocess.Popen[bytes]], run: Path, training: bool, before: set[int]) -> set[int]:
    """Once none of those before is left: after the next checkpoint, or within the first seconds → those there were."""
    last = run / "checkpoints" / "last.safetensors"
    saved = last.stat().st_mtime_ns if last.is_file() else 0
    until = time.monotonic() + LIMIT
    while time.monotonic() < until and all(each.poll() is None for each in torchruns):
        now = workers(torchruns)
        progress = last.is_file() and last.stat().st_mtime_ns != saved
        if len(now) == 2 and not before & set(now) and (progress or not training):
            time.sleep(random.uniform(0, 0.2 if training else 6))
            victim = random.choice(now)
            os.kill(victim, 9)
            return set(now)
        time.sleep(0.05)
    raise SystemExit(f"nothing to kill; see {run}.*.log")


def finished(torchruns: list[subprocess.Popen[bytes]]) -> bool:
    """Whether all end by themselves, and well."""
    until = time.monotonic() + LIMIT
    try:
        return all(each.wait(max(1.0, until - time.monotonic())) == 0 for each in torchruns)
    except subprocess.TimeoutExpired:
        return False
    finally:
        for each in torchruns:
            each.kill()


def weights(run: Path) -> dict[str, bytes]:
    found = {}
    for name in ("checkpoints/last.safetensors", "model.safetensors"):
        with safe_open(run / name, "pt") as file:
            found |= {f"{name} {key}": file.get_tensor(key).numpy().tobytes() for key in file.keys()}  # noqa: SIM118
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tries", type=int, default=10)
    parser.add_argument("--kills", type=int, default=2, help="in each try")
    parser.add_argument("--nodes", type=int, choices=(1, 2), default=1)
    parser.add_argument("--rendezvous", choices=("static", "c10d"), default="c10d")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    random.seed(given.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        recipe = write_corpus(folder)
        if not finished(start(recipe, folder / "peace", given.nodes, given.rendezvous, 0)):
            raise SystemExit((folder / "peace.0.log").read_text(encoding="utf-8"))
        expected, good = weights(folder / "peace"), 0
        for number in range(given.tries):
            run, began, before = folder / f"try-{number}", time.monotonic(), set[int]()
            torchruns = start(recipe, run, given.nodes, given.rendezvous, given.kills + 2)
            for kill in range(given.kills):
                before = kill_one(torchruns, run, training=(number + kill) % 2 == 0, before=before)
            ended = finished(torchruns)
            equal = ended and weights(run) == expected
            good += equal
            how = "ended with the same bits" if equal else "ended with other bits" if ended else "did not end well"
            print(f"try {number + 1}: {given.kills} kills, {how}, {time.monotonic() - began:.0f} s", flush=True)
            if not ended:
                print("\n".join(path.read_text(encoding="utf-8")[-3_000:] for path in folder.glob(f"{run.name}.*.log")))
    print(f"{good} of {given.tries} tries, {good * given.kills} of {given.tries * given.kills} restarts: the same bits")
    sys.exit(good < given.tries)


if __name__ == "__main__":
    main()
