"""Does a run that was killed, or whose files were damaged, go on to the same bits, or else say clearly why it cannot?

Each try trains a toy recipe in a process of its own, ends it at a random moment (a signal, or a crash or a full disk between
two calls to the system while it saves), damages files at random (a flipped bit, a cut, a zeroed page, garbage, another
file's content, nothing left) and trains again until it is done or refuses. Then every weight and moment is compared with an
uninterrupted run. Same seed, same tries; a list that was begun goes on where it stopped.

    python benchmarks/kills.py FOLDER [--count 100] [--seed 1]

`bad` is what must not be: other weights, a traceback, a hang, a file overwritten by a run that refused, damage unsaid.
"""

from __future__ import annotations

import argparse
import errno
import hashlib
import json
import os
import random
import shutil
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from rich.console import Console

import regard
import regard.runs
from regard.checkpoint import MODEL, read
from regard.errors import RegardError

RECIPE = """
[data]
train = ["train.tsv"]
valid = ["valid.tsv"]
max_tokens = 60

[tokenizer]
vocabulary = 300

[model]
size = "tiny"
width = 16
feed_forward = 32
heads = 2
encoder_layers = 1
decoder_layers = 1
dropout = 0.2
max_positions = 64

[training]
batch_tokens = 96
updates = 18
learning_rate = 3e-3
warmup = 4
validate_every = 6
checkpoint_every = 4
validate_sentences = 2
average = 2
probes = 1
threads = 1

[decoding]
max_ratio = 0.5
max_extra = 2
"""
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
PATIENCE = 120  # seconds until a training counts as hanging
REFUSED, FAILED, INTERRUPTED = 2, 3, 130
CRASHES = {"fsync": 24, "replace": 16, "link": 5, "unlink": 16, "save_file": 11}
"""Calls while it saves, and about how many of each a whole training makes."""
NOTHING = "nothing: it was done"
DAMAGES = ("flip", "cut", "zero", "garbage", "exchange", "delete")


def write_corpus(folder: Path) -> None:
    """Sentences and the same backwards."""
    chance = random.Random(1)
    words = [a + b for a in "bdkmnt" for b in "aeiou"]
    sentences = [chance.choices(words, k=chance.randint(1, 5)) for _ in range(140)]
    rows = [f"{' '.join(each)}\t{' '.join(reversed(each))}\n" for each in sentences]
    (folder / "train.tsv").write_text("".join(rows[:130]), encoding="utf-8")
    (folder / "valid.tsv").write_text("".join(rows[130:]), encoding="utf-8")
    (folder / "toy.toml").write_text(RECIPE, encoding="utf-8")


def start(recipe: Path, run: Path, prepared: Path, before: Callable[[], None] = lambda: None) -> int:
    """Train in a fork of this process, which has torch at hand → its number. What it says is added to a log."""
    if number := os.fork():
        return number
    code = FAILED
    with (run.parent / "log.txt").open("a", encoding="utf-8") as log:
        try:
            for each in (signal.SIGTERM, signal.SIGHUP):
                signal.signal(each, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            before()
            said = Console(file=log, width=10_000)
            regard.train(recipe, run=run, overrides={"data.prepared": str(prepared)}, show=said)
            code = 0
        except RegardError as error:
            log.write(f"refused: {error}\n")
            code = REFUSED
        except KeyboardInterrupt:
            code = INTERRUPTED
        except BaseException:
            traceback.print_exc(file=log)
        finally:
            log.flush()
            os._exit(code)


def finish(number: int) -> int | None:
    """The exit code, negative for a signal; None if it hangs."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        ended, status = os.waitpid(number, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(number, signal.SIGKILL)
    os.waitpid(number, 0)
    return None


def crash_at(call: str, count: int, full: bool) -> None:
    """In the process that trains: the n-th such call does not return; or, on a full disk, fails."""
    import regard.checkpoint

    place: Any = regard.checkpoint if call == "save_file" else os
    original, seen = getattr(place, call), 0

    def instead(*given: Any, **named: Any) -> Any:
        nonlocal seen
        seen += 1
        if seen == count and full:
            raise OSError(errno.ENOSPC, "No space left on device")
        if seen == count and call == "save_file":  # half of it reaches the disk
            original(*given, **named)
            os.truncate(given[1], Path(given[1]).stat().st_size // 2)
        if seen == count:
            os.kill(os.getpid(), signal.SIGKILL)
        return original(*given, **named)

    setattr(place, call, instead)


def damage(path: Path, how: str, chance: random.Random, others: list[Path]) -> None:
    """Change one file."""
    content = bytearray(path.read_bytes())
    if how == "delete" or not content:
        path.unlink()
        return
    place = chance.randrange(len(content))
    if how == "flip":
        content[place] ^= 1 << chance.randrange(8)
    elif how == "cut":
        del content[place:]
    elif how == "zero":
        begin = place // 4096 * 4096
        content[begin : begin + 4096] = bytes(len(content[begin : begin + 4096]))
    elif how == "garbage":
        content[place : place + 40] = chance.randbytes(40)
    else:
        content = bytearray(chance.choice([each for each in others if each.suffix == path.suffix]).read_bytes())
    path.write_bytes(content)  # the same file, so that a second name of it is damaged, too


def weights(run: Path) -> str:
    """Every weight and moment, and how far it came."""
    tensors, metadata = read(run / "checkpoints" / "last.safetensors")
    digest = hashlib.sha256(json.dumps({**json.loads(metadata["progress"]), "seconds": 0, "snapshots": 0}).encode())
    for name in sorted(tensors):
        digest.update(name.encode() + tensors[name].contiguous().numpy().tobytes())
    return digest.hexdigest()


def model(run: Path) -> str:
    """The averaged weights."""
    tensors, _ = read(run / MODEL)
    digest = hashlib.sha256()
    for name in sorted(tensors):
        digest.update(name.encode() + tensors[name].contiguous().numpy().tobytes())
    return digest.hexdigest()


def files_of(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "lock")


def one_try(number: int, seed: int, folder: Path, straight: tuple[str, str], took: float) -> dict[str, Any]:
    """End, damage, go on → what was done, and what became of it."""
    chance = random.Random(seed * 1_000_003 + number)
    place = folder / f"try-{number:04d} 한 글"  # spaces and Korean, as a person's folder may have
    shutil.rmtree(place, ignore_errors=True)
    run, prepared, recipe = place / "run", place / "prepared", folder / "toy.toml"
    shutil.copytree(folder / "prepared", prepared)
    did = [end_one(chance, recipe, run, prepared, took) for _ in range(chance.randint(1, 2))]
    if chance.random() < 0.6:
        for _ in range(chance.choice([1, 1, 1, 2])):
            found = files_of(run) + (files_of(prepared) if chance.random() < 0.3 else [])
            kept = [
                each for each in found if each.name in ("last.safetensors", "previous.safetensors", "metrics.jsonl")
            ]
            if not found:
                continue
            path, how = chance.choice(kept if kept and chance.random() < 0.5 else found), chance.choice(DAMAGES)
            damage(path, how, chance, found)
            did.append(f"{how} {path.relative_to(place)}")
    before = {path: path.read_bytes() for path in files_of(run) if path.suffix in (".safetensors", ".json", ".jsonl")}
    log = place / "log.txt"
    begin = log.stat().st_size if log.exists() else 0
    code = finish(start(recipe, run, prepared))
    said = log.read_bytes()[begin:].decode("utf-8", "replace")
    verdict = judge(code, said, run, straight, before)
    if verdict != "bad":
        shutil.rmtree(place)
    return {"try": number, "did": did, "verdict": verdict, "code": code, "said": said[-1500:]}


def end_one(chance: random.Random, recipe: Path, run: Path, prepared: Path, took: float) -> str:
    """Train for a while → how it ended."""
    if chance.random() < 0.5:
        call, full = chance.choice(list(CRASHES)), chance.random() < 0.3
        count = chance.randint(1, CRASHES[call])
        code = finish(start(recipe, run, prepared, lambda: crash_at(call, count, full)))
        return f"{'full disk' if full else 'crash'} at {call} {count}" if code != 0 else NOTHING
    sent, wait = chance.choice(SIGNALS), chance.uniform(0, took)
    number = start(recipe, run, prepared)
    time.sleep(wait)
    ended, _ = os.waitpid(number, os.WNOHANG)
    if ended:
        return NOTHING
    pause = chance.random() < 0.2
    if pause:  # suspended and continued
        os.kill(number, signal.SIGSTOP)
        time.sleep(0.05)
        os.kill(number, signal.SIGCONT)
    os.kill(number, sent)
    finish(number)
    return f"{'paused, ' if pause else ''}{sent.name} after {wait:.2f} s"


def judge(code: int | None, said: str, run: Path, straight: tuple[str, str], before: dict[Path, bytes]) -> str:
    """Whether what happened is what may."""
    if code == REFUSED:
        untouched = all(path.is_file() and path.read_bytes() == content for path, content in before.items())
        return "clear error" if untouched and "refused: " in said else "bad"
    if code != 0 or "Traceback" in said or weights(run) != straight[0]:
        return "bad"
    if model(run) == straight[1]:
        return "bit-equal"
    return "bit-equal, an average without what was lost" if "The average goes on without" in said else "bad"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    torch.set_num_threads(1)
    folder: Path = given.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    write_corpus(folder)
    shutil.rmtree(folder / "straight", ignore_errors=True)
    (folder / "straight").mkdir()
    # Here, once, with one thread: forks find all that is imported late in place.
    regard.train(
        folder / "toy.toml",
        run=folder / "straight" / "here",
        overrides={"data.prepared": str(folder / "prepared")},
        show=False,
    )
    began = time.monotonic()
    if finish(start(folder / "toy.toml", folder / "straight" / "run", folder / "prepared")) != 0:
        sys.exit((folder / "straight" / "log.txt").read_text(encoding="utf-8"))
    took = time.monotonic() - began
    straight = weights(folder / "straight" / "run"), model(folder / "straight" / "run")
    results = folder / f"seed-{given.seed}.jsonl"
    lines = results.read_text(encoding="utf-8").splitlines() if results.exists() else []
    done = {each["try"]: each for each in map(json.loads, lines)}
    for number in range(given.count):
        if number not in done:
            done[number] = one_try(number, given.seed, folder, straight, took)
            with results.open("a", encoding="utf-8") as file:
                file.write(json.dumps(done[number], ensure_ascii=False) + "\n")
            print(f"{number:4d}  {done[number]['verdict']:<12}  {'; '.join(done[number]['did'])}", flush=True)
    ends = [each for number, found in done.items() if number < given.count for each in found["did"]]
    damages = sum(each.startswith(DAMAGES) for each in ends)
    print(f"\nended {len(ends) - damages - ends.count(NOTHING)} times · damaged {damages} files")
    counts = Counter(each["verdict"] for number, each in done.items() if number < given.count)
    print(f"tried {sum(counts.values())} · " + " · ".join(f"{name} {count}" for name, count in counts.most_common()))
    print(f"bad {counts['bad']}")
    sys.exit(1 if counts["bad"] else 0)


if __name__ == "__main__":
    main()
