"""How much of its speed does training keep on a busy machine? Target tokens per second alone, and beside endless loops.

    python benchmarks/busy_machine.py [--loops 1] [--seconds 6] [--rounds 3] [--all] [--recipe FILE] [--json measured.json]

Made-up batches of the quickstart's size train its model, each time in a process of its own: with workers, as regard trains on
Linux (regard/training/workers.py), and with OpenMP's threads sharing each operation, which wait in different
ways: as they do by themselves, with other counts of questions before they sleep, and passively. All of them take turns,
alone and beside the loops; what counts is how each compares with `threads`, alone, of the same round. Only a machine that
is otherwise idle tells the truth. `threads` and `workers` are what is promised about, and take some two minutes; `--all` tries the
others, too, in some seven. Promised: `workers` alone at least 97 % of `threads`, beside one loop at least 45 %.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from contextlib import ExitStack
from itertools import product
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

WAYS: dict[str, dict[str, str]] = {
    "threads": {},
    "workers": {},
    **{f"spin {count:,}": {"GOMP_SPINCOUNT": str(count)} for count in (0, 100, 1_000, 2_000, 5_000, 10_000, 30_000)},
    "passive": {"OMP_WAIT_POLICY": "passive"},
    "active": {"OMP_WAIT_POLICY": "active"},
    "dynamic": {"OMP_DYNAMIC": "true"},
    "bound": {"OMP_PROC_BIND": "true"},
    "blocktime 1": {"KMP_BLOCKTIME": "1"},
}
CHOSEN = {name for way in WAYS.values() for name in way}


def train(seconds: float, path: Path, with_workers: bool) -> None:
    """In a process of its own: tokens per second, printed."""
    import torch

    from regard.allocator import keep_memory
    from regard.config import recipes
    from regard.tasks.registry import find_task
    from regard.training.distributed import ALONE
    from regard.training.trainable import MicroBatch
    from regard.training.update import Objective, build_optimizer, take_update
    from regard.training.workers import Workers, count_workers

    keep_memory()
    recipe: Any = recipes.load(path)
    row = find_task(recipe.task)
    torch.manual_seed(1)
    model = row.build(recipe.model, row.dry_run.sizes(recipe))
    settings = recipe.training

    def loss(model: Any, rows: Any) -> Any:  # made-up sentences [S, 2, L]
        return row.dry_run.loss(recipe, model, torch.from_numpy(rows).transpose(0, 1))

    objective = Objective(model, loss)
    optimizer = build_optimizer(model, settings)
    number, tokens, began = 0, 0, 0.0
    with Workers(objective, count_workers(model, settings, ALONE) if with_workers else 1) as workers:
        while number < 4 or time.perf_counter() - began < seconds:
            number += 1
            if number == 4:  # the first ones ask for memory
                tokens, began = 0, time.perf_counter()
            made = row.dry_run.batch(recipe, settings.batch_tokens)
            batch = MicroBatch(made.batch.transpose(0, 1).numpy(), made.tokens)
            done = take_update(objective, optimizer, [batch], settings, number, ALONE, add=workers.add_gradients)
            tokens += done.tokens
        print(tokens / (time.perf_counter() - began))


def measured(way: str, loops: int, seconds: float, recipe: Path) -> float:
    """Tokens per second, beside so many endless loops."""
    kept = {name: value for name, value in os.environ.items() if name not in (*CHOSEN, "OMP_NUM_THREADS")}
    with ExitStack() as stack:
        for _ in range(loops):
            loop = subprocess.Popen([sys.executable, "-c", "while True: pass"])
            stack.callback(loop.wait)
            stack.callback(loop.kill)
        command = [sys.executable, __file__, "--train", way, "--seconds", str(seconds), "--recipe", str(recipe)]
        done = subprocess.run(command, env=kept | WAYS[way], capture_output=True, text=True, check=True)
    return float(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--train", help=argparse.SUPPRESS)
    parser.add_argument("--loops", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=6.0, help="of each measurement, after three updates")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--way", action="append", choices=list(WAYS), help="only these; repeatable")
    parser.add_argument("--all", action="store_true", help="every way to wait")
    parser.add_argument("--recipe", type=Path, default=ROOT / "regard/bundled/quickstart.toml", help="of translation")
    parser.add_argument("--json", type=Path, help="what was measured; a run that was stopped goes on from there")
    given = parser.parse_args()
    if given.train:
        train(given.seconds, given.recipe, given.train == "workers")
        return
    ways = given.way or (list(WAYS) if given.all else ["threads", "workers"])
    rounds: list[dict[str, float]] = []
    if given.json and given.json.exists():
        rounds = json.loads(given.json.read_text(encoding="utf-8"))
    for number, way, loops in product(range(given.rounds), ways, (0, given.loops)):
        rounds += [{}] * (number == len(rounds))
        name = f"{way}, {loops} loops"
        if name in rounds[number]:
            continue
        rounds[number] = {**rounds[number], name: measured(way, loops, given.seconds, given.recipe)}
        print(f"round {number + 1}, {name}: {rounds[number][name]:,.0f} tokens/s", flush=True)
        if given.json:
            given.json.write_text(json.dumps(rounds, indent=1) + "\n", encoding="utf-8")
    print(f"load {os.getloadavg()[0]:.1f} after, {os.cpu_count()} cores; medians of {len(rounds)}\n")
    print(
        f"| | alone, tokens/s | of `{ways[0]}` | beside {given.loops} | of `{ways[0]}` alone |\n|---|---:|---:|---:|---:|"
    )
    for way in ways:
        cells = []
        for loops in (0, given.loops):
            name = f"{way}, {loops} loops"
            share = statistics.median(each[name] / each[f"{ways[0]}, 0 loops"] for each in rounds)
            cells.append(f"{statistics.median(each[name] for each in rounds):,.0f} | {share:.0%}")
        print(f"| {way} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
