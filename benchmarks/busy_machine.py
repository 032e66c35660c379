"""How much of its speed does training keep on a busy machine? Target tokens per second alone, and beside endless loops.

    python benchmarks/busy_machine.py [--loops 1] [--seconds 6] [--rounds 3] [--all] [--json measured.json]

Made-up batches of the quickstart's size train its model, each time in a process of its own, with OpenMP waiting in different
ways: as it does by itself, as regard makes it wait (regard/waiting.py), with other counts, and passively. All of them take turns,
alone and beside the loops; what counts is how each compares with `by itself`, alone, of the same round. Only a machine that
is otherwise idle tells the truth. `by itself` and `regard` are what is promised about, and take some two minutes; `--all` tries the
others, too, in some five. Promised: `regard` alone at least 97 % of `by itself`, beside one loop at least 45 %.
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
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from regard.waiting import CHOSEN, POLITE  # noqa: E402

WAYS: dict[str, dict[str, str]] = {
    "by itself": {},
    "regard": POLITE,
    "spin 2,000": {"GOMP_SPINCOUNT": "2000"},
    "spin 30,000": {"GOMP_SPINCOUNT": "30000"},
    "passive": {"OMP_WAIT_POLICY": "passive"},
}


def train(seconds: float) -> None:
    """In a process of its own: tokens per second, printed."""
    import torch

    from regard.allocator import keep_memory
    from regard.config import recipes
    from regard.tasks.registry import find_task
    from regard.training.distributed import ALONE
    from regard.training.update import Objective, build_optimizer, take_update

    keep_memory()
    recipe: Any = recipes.load(ROOT / "regard/bundled/quickstart.toml")
    row = find_task(recipe.task)
    torch.manual_seed(1)
    model = row.build(recipe.model, row.dry_run.sizes(recipe))
    objective = Objective(model, partial(row.dry_run.loss, recipe))
    optimizer = build_optimizer(model, recipe.training)
    number, tokens, began = 0, 0, 0.0
    while number < 4 or time.perf_counter() - began < seconds:
        number += 1
        if number == 4:  # the first ones ask for memory
            tokens, began = 0, time.perf_counter()
        batch = row.dry_run.batch(recipe, recipe.training.batch_tokens)
        tokens += take_update(objective, optimizer, [batch], recipe.training, number, ALONE).tokens
    print(tokens / (time.perf_counter() - began))


def measured(way: dict[str, str], loops: int, seconds: float) -> float:
    """Tokens per second, beside so many endless loops."""
    environment = {name: value for name, value in os.environ.items() if name not in (*CHOSEN, "OMP_NUM_THREADS")} | way
    with ExitStack() as stack:
        for _ in range(loops):
            loop = subprocess.Popen([sys.executable, "-c", "while True: pass"])
            stack.callback(loop.wait)
            stack.callback(loop.kill)
        command = [sys.executable, __file__, "--train", "--seconds", str(seconds)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--train", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--loops", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=6.0, help="of each measurement, after three updates")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--way", action="append", choices=list(WAYS), help="only these; repeatable")
    parser.add_argument("--all", action="store_true", help="every way to wait")
    parser.add_argument("--json", type=Path, help="what was measured; a run that was stopped goes on from there")
    given = parser.parse_args()
    if given.train:
        train(given.seconds)
        return
    ways = given.way or (list(WAYS) if given.all else ["by itself", "regard"])
    rounds: list[dict[str, float]] = []
    if given.json and given.json.exists():
        rounds = json.loads(given.json.read_text(encoding="utf-8"))
    for number, way, loops in product(range(given.rounds), ways, (0, given.loops)):
        rounds += [{}] * (number == len(rounds))
        name = f"{way}, {loops} loops"
        if name in rounds[number]:
            continue
        rounds[number] = {**rounds[number], name: measured(WAYS[way], loops, given.seconds)}
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
