"""How fast does regard translate beside its peers? Sentences per second on the CPU, the same model and the same ids.

Installs each peer from PyPI into an environment of its own, gives it the weights of a trained model of regard, and lets
one engine after the other translate Multi30k's test set of 2016, round after round, each in processes of its own: greedy
in batches of 64, beam 5 in batches of 32, and one sentence at a time. An engine may use its cores as it likes best: as
many workers of one thread, or one of as many threads; the first round tries both. Loading and tokenising are not timed,
except for the whole command `regard translate`, which is measured besides (Linux only).

    python benchmarks/decoding_speed.py --model runs/S --data DIR --json measured.json

DIR holds `multi30k/test_2016_flickr.*`. What was measured is kept in the file of --json: a run that was stopped goes on,
and an engine that failed is tried again.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from decoding_peers.bench import CORES, ENGINES, MODES, Bench, Measured
from peers import PeerError

from regard.checkpoint import find_model
from regard.errors import RegardError
from regard.export.folder import fingerprint

HERE = Path(__file__).resolve().parent
COMMAND = "command"  # beside the modes: the whole of `regard translate`


class Notebook:
    """What was measured, in memory and, if asked, in a file that a later run goes on from."""

    def __init__(self, path: Path | None, settings: Measured) -> None:
        self.path = path
        self.kept: Measured = {"settings": settings, "native": {}, "parts": []}
        if path and path.is_file():
            self.kept = json.loads(path.read_text(encoding="utf-8"))
            if (before := self.kept["settings"]) != settings:
                sys.exit(f"{path} was measured with {before}, not {settings}; name another file or delete it")

    def find(self, **key: Any) -> list[Measured]:
        return [part for part in self.kept["parts"] if all(part[name] == value for name, value in key.items())]

    def best(self, mode: str, engine: str) -> Measured:
        """The fastest measurement of the first round."""
        return max(self.find(round=1, mode=mode, engine=engine), key=lambda part: part["sentences_per_second"])

    def add(self, part: Measured) -> None:
        self.kept["parts"].append(part)
        if self.path:
            fresh = self.path.with_name(f"{self.path.name}.part")
            fresh.write_text(json.dumps(self.kept), encoding="utf-8")
            fresh.replace(self.path)
        latency = f", mean {part['mean']:,.1f} ms, p95 {part['p95']:,.1f} ms" if "mean" in part else ""
        arranged = f", {part['workers']} × {part['threads']}" if part["workers"] else ""
        print(f"round {part['round']}, {part['mode']}, {part['engine']}{arranged}: "
              f"{part['sentences_per_second']:,.1f} sentences/s{latency}, BLEU {part['bleu']:.2f}", flush=True)  # fmt: skip

    def median(self, mode: str, engine: str) -> Measured | None:
        """What an engine does in a mode, arranged as suits it best: the median of all rounds for each number."""
        if not self.find(round=1, mode=mode, engine=engine):
            return None
        best = self.best(mode, engine)
        same = self.find(mode=mode, engine=engine, workers=best["workers"], threads=best["threads"])
        numbers = [name for name, value in best.items() if isinstance(value, float)]
        return {**same[-1], **{name: statistics.median(part[name] for part in same) for name in numbers}}


def measure_all(bench: Bench, notebook: Notebook, engines: list[str], rounds: int) -> dict[str, str]:
    """All that is not in the notebook yet, the engines taking turns. By engine, why it could not be measured."""
    failures: dict[str, str] = {}

    def attempt(what: str, task: Callable[..., Any], *given: Any) -> Any:
        if what in failures:
            return None
        try:
            return task(*given)
        except PeerError as error:
            failures[what] = str(error)
            print(f"{what}: failed", flush=True)
            return None

    pythons = {name: attempt(name, bench.python, name) for name in engines}
    for number in range(1, rounds + 1):
        for mode in MODES:
            for name in engines:
                attempt(name, measure_mode, bench, notebook, number, mode, name, pythons[name])
        for name in engines:
            if ENGINES[name].options is not None and not notebook.find(round=number, mode=COMMAND, engine=name):
                attempt(f"{name} as a command", measure_command, bench, notebook, number, name)
    return failures


def measure_mode(bench: Bench, notebook: Notebook, number: int, mode: str, name: str, python: Path) -> None:
    """In the first round every arrangement, later the one that was best."""
    arrangements = MODES[mode].arrangements
    if number > 1:
        best = notebook.best(mode, name)
        arrangements = ((best["workers"], best["threads"]),)
    for workers, threads in arrangements:
        key = {"round": number, "mode": mode, "engine": name, "workers": workers, "threads": threads}
        if notebook.find(**key):
            continue
        measured, outputs = bench.measure(name, python, MODES[mode], workers, threads)
        if name == "native":
            notebook.kept["native"].setdefault(mode, outputs)
        ours = notebook.kept["native"].get(mode, [])
        measured["same"] = sum(map(list.__eq__, outputs, ours)) / len(outputs)
        measured["bleu"] = bench.bleu([bench.trained.assets.tokenizer.line(ids) for ids in outputs], MODES[mode].every)
        notebook.add({**key, **measured})


def measure_command(bench: Bench, notebook: Notebook, number: int, name: str) -> None:
    measured, lines = bench.command(name)
    key = {"round": number, "mode": COMMAND, "engine": name, "workers": None, "threads": None}  # as it pleases
    notebook.add({**key, **measured, "bleu": bench.bleu(lines)})


def report(notebook: Notebook, engines: list[str]) -> None:
    """One row for each engine, another for the whole command, and the promises."""
    print("\n| engine | greedy /s | × native | beam 5 /s | × native | BLEU greedy, beam | same as native "
          "| alone: greedy mean, p95 ms | beam 5 mean, p95 ms | peak MB | workers × threads | versions |\n"
          f"|---|{'---:|' * 9}---|---|")  # fmt: skip
    for name in engines:
        found = {mode: notebook.median(mode, name) for mode in MODES}
        speeds = [cell for mode in ("greedy", "beam") for cell in speed_cells(notebook, mode, name)]
        pairs = [
            ", ".join(f"{part[key]:{form}}" if part else "–" for part in (found["greedy"], found["beam"]))
            for key, form in (("bleu", ".2f"), ("same", ".1%"))
        ]
        alone = [
            f"{part['mean']:,.1f}, {part['p95']:,.1f}" if part else "–"
            for part in (found["greedy alone"], found["beam alone"])
        ]
        parts = [part for part in found.values() if part]
        memory = f"{max(part['memory'] for part in parts):,.0f}" if parts else "–"
        arranged = ", ".join(f"{part['workers']} × {part['threads']}" for part in parts)
        versions = ", ".join(f"{each} {number}" for each, number in parts[-1]["versions"].items()) if parts else "–"
        print("|", " | ".join([name, *speeds, *pairs, *alone, memory, arranged, versions]), "|")
    print(
        "\n| whole command, start and tokenising included | sentences/s | × native's steady beam 5 | BLEU |\n|---|---:|---:|---:|"
    )
    for name in engines:
        if part := notebook.median(COMMAND, name):
            steady = notebook.median("beam", "native")
            ratio = f"{part['sentences_per_second'] / steady['sentences_per_second']:.2f}" if steady else "–"
            options = " ".join(["--beam 5", *(ENGINES[name].options or ())])
            print(
                f"| regard translate RUN {options} | {part['sentences_per_second']:,.1f} | {ratio} | {part['bleu']:.2f} |"
            )


def speed_cells(notebook: Notebook, mode: str, name: str) -> tuple[str, str]:
    part, native = notebook.median(mode, name), notebook.median(mode, "native")
    speed = f"{part['sentences_per_second']:,.1f}" if part else "–"
    ratio = f"{part['sentences_per_second'] / native['sentences_per_second']:.2f}" if part and native else "–"
    return speed, ratio


# What is promised: a figure of one engine over that of another, at least (or at most) so much; of BLEU, the difference.
SPEED, MEAN, P95, BLEU = "sentences_per_second", "mean", "p95", "bleu"
SHORTLIST = "native-int8-shortlist"
PROMISES = [
    (SPEED, "beam", "native", "ctranslate2", 0.85),
    (SPEED, "beam", SHORTLIST, "ctranslate2-int8", 0.85),
    (SPEED, "beam", "native", "huggingface", 2.0),
    (SPEED, "beam", SHORTLIST, "huggingface", 3.5),
    (SPEED, "beam", "native", "joeynmt", 10.0),
    (MEAN, "greedy alone", "native", "huggingface", 0.5),
    (P95, "greedy alone", "native", "huggingface", 0.5),
    (MEAN, "beam alone", "native", "huggingface", 0.5),
    (P95, "beam alone", "native", "huggingface", 0.5),
    (BLEU, "beam", "native-int8", "native", -0.3),
    (BLEU, "beam", SHORTLIST, "native-int8", -0.1),
]


def report_promises(notebook: Notebook) -> None:
    print("\n| promise | measured | |\n|---|---:|---|")
    for figure, mode, ours, theirs, bar in PROMISES:
        left, right = notebook.median(mode, ours), notebook.median(mode, theirs)
        if not left or not right:
            continue
        if figure == BLEU:
            found, wanted = left[figure] - right[figure], f"BLEU of {ours} − {theirs}, {mode}: ≥ {bar:+.1f}"
        else:
            sign = "≥" if figure == SPEED else "≤"
            found, wanted = (
                left[figure] / right[figure],
                f"{figure.replace('_', ' ')} of {ours} ÷ {theirs}, {mode}: {sign} {bar}",
            )
        kept = found <= bar if figure in (MEAN, P95) else found >= bar
        print(f"| {wanted} | {found:.2f} | {'kept' if kept else 'BROKEN'} |")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--model", required=True, help="run folder or file of a trained model")
    parser.add_argument("--data", type=Path, required=True, help="folder that holds multi30k/")
    parser.add_argument("--engines", type=lambda text: text.split(","), default=list(ENGINES), help=",".join(ENGINES))
    parser.add_argument("--venvs", type=Path, default=HERE / ".venvs", help="folder of the peers' environments")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sentences", type=int, default=1_000, help="fewer, to try this out")
    parser.add_argument("--json", type=Path, help="file that keeps what was measured")
    asked = parser.parse_args()
    if unknown := set(asked.engines) - set(ENGINES):
        parser.error(f"unknown engine {', '.join(sorted(unknown))}; there are {', '.join(ENGINES)}")
    asked.engines = [name for name in ENGINES if name in asked.engines or name == "native"]  # all is compared with it
    return asked


def main() -> None:
    asked = arguments()
    settings = {"model": fingerprint(find_model(asked.model)), "sentences": asked.sentences, "cores": CORES}
    notebook = Notebook(asked.json, settings)
    print(f"Python {platform.python_version()}, {CORES} cores, {platform.machine()}, "
          f"load {os.getloadavg()[0]:.1f} before", flush=True)  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(asked.model, asked.data, Path(folder), asked.venvs, asked.sentences)
        failures = measure_all(bench, notebook, asked.engines, asked.rounds)
    report(notebook, asked.engines)
    report_promises(notebook)
    for what, error in failures.items():
        print(f"\n{what} failed: {error}")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    try:
        main()
    except RegardError as error:
        sys.exit(str(error))
