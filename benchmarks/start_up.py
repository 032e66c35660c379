"""How long does regard take to start? Its help, its import and one sentence, beside the bare import of torch.

The commands take turns; the medians are printed with what is promised of them. Seconds of the CPU (user and system) stand
beside those of the clock: on a busy machine only they mean anything, and only against those of torch.

    python benchmarks/start_up.py [--model demo] [--text "Ich habe Hunger."] [--rounds 7]
    python benchmarks/start_up.py --size    # of all that is installed beside torch
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
import time
from importlib.metadata import distributions, version
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HELP, IMPORT, TRANSLATE, TORCH = "regard --help", "import regard", "regard translate, one sentence", "import torch"


def seconds(command: list[str]) -> tuple[float, float]:
    """From the start of a process to its end, by the clock and of the CPU."""
    began, used = time.perf_counter(), cpu_of_children()
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    took = time.perf_counter() - began, cpu_of_children() - used
    if done.returncode:
        sys.exit(f"{' '.join(command)} ended with exit code {done.returncode}:\n{done.stderr}")
    return took


def cpu_of_children() -> float:
    """Seconds that processes which have ended spent on the CPU."""
    times = os.times()
    return times.children_user + times.children_system


def installed() -> dict[str, int]:
    """Bytes of each package that is installed here, without torch and what only torch needs, and without pip."""
    apart = {"torch", "pip", "setuptools", "sympy", "mpmath", "networkx", "jinja2", "markupsafe", "fsspec", "filelock"}
    sizes: dict[str, int] = {}
    for each in distributions():
        name = each.metadata["Name"].lower()
        if name not in apart and not name.startswith(("nvidia-", "triton")):
            files = {Path(str(file.locate())).resolve() for file in each.files or ()}
            sizes[name] = sum(file.stat().st_size for file in files if file.is_file())
    return sizes


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--model", default="demo")
    parser.add_argument("--text", default="Ich habe Hunger.")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--size", action="store_true", help="only say how much is installed")
    given = parser.parse_args()
    if given.size:
        sizes = installed()
        for name, size in sorted(sizes.items(), key=lambda each: -each[1]):
            print(f"{size / 1e6:7.1f} MB  {name}")
        print(f"{sum(sizes.values()) / 1e6:7.1f} MB  in all, without torch")
        return
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
    found, cpu = (
        {name: statistics.median(each[name][kind] for each in rounds) for name in commands} for kind in (0, 1)
    )
    bars = {HELP: 0.25, IMPORT: 0.1, TRANSLATE: 0.7}
    print("\n| | seconds | of the CPU | × import torch | promised, at most | |\n|---|---:|---:|---:|---:|---|")
    for name, took in found.items():
        bar = f"{bars[name]:.2f} | {'kept' if took <= bars[name] else 'BROKEN'}" if name in bars else "– |"
        print(f"| {name} | {took:.3f} | {cpu[name]:.3f} | {cpu[name] / cpu[TORCH]:.2f} | {bar} |")
    sys.exit(1 if any(found[name] > bar for name, bar in bars.items()) else 0)


if __name__ == "__main__":
    main()
