"""How long does regard take to start? Its help, its import and one sentence, beside the bare import of torch.

The commands take turns; the medians are printed with what is promised of them.

    python benchmarks/start_up.py [--model demo] [--text "Ich habe Hunger."] [--rounds 7]
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HELP, IMPORT, TRANSLATE, TORCH = "regard --help", "import regard", "regard translate, one sentence", "import torch"


def seconds(command: list[str]) -> float:
    """From the start of a process to its end."""
    began = time.perf_counter()
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    took = time.perf_counter() - began
    if done.returncode:
        sys.exit(f"{' '.join(command)} ended with exit code {done.returncode}:\n{done.stderr}")
    return took


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--model", default="demo")
    parser.add_argument("--text", default="Ich habe Hunger.")
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    model = str(Path(given.model).resolve()) if Path(given.model).exists() else given.model
    regard = [sys.executable, "-m", "regard"]
    commands = {
        HELP: [*regard, "--help"],
        IMPORT: [sys.executable, "-c", "import regard"],
        TRANSLATE: [*regard, "translate", model, given.text],
        TORCH: [sys.executable, "-c", "import torch"],
    }
    print(f"Python {platform.python_version()}, torch {version('torch')}, {os.cpu_count()} cores, "
          f"load {os.getloadavg()[0]:.1f} before; medians of {given.rounds}")  # fmt: skip
    for command in commands.values():
        seconds(command)  # the first reads the disk
    rounds = [{name: seconds(command) for name, command in commands.items()} for _ in range(given.rounds)]
    found = {name: statistics.median(each[name] for each in rounds) for name in commands}
    bars = {HELP: 0.25, IMPORT: 0.1, TRANSLATE: 1.2 * found[TORCH] + 0.3}
    print("\n| | seconds | promised, at most | |\n|---|---:|---:|---|")
    for name, took in found.items():
        bar = f"{bars[name]:.2f} | {'kept' if took <= bars[name] else 'BROKEN'}" if name in bars else "– |"
        print(f"| {name} | {took:.3f} | {bar} |")
    sys.exit(1 if any(found[name] > bar for name, bar in bars.items()) else 0)


if __name__ == "__main__":
    main()
