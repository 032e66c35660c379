"""How an engine is put to the test: the engines, the modes, and one measurement of an engine in a mode."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import sacrebleu
from decoding_peers.converted import Converted
from decoding_peers.worker import Batch, Job
from peers import PeerError, environment, last_lines, packages_folder, run

from regard.checkpoint import find_model, unique_weights
from regard.config import recipes
from regard.data.tokenizer import END, PAD, START, UNKNOWN
from regard.evaluation.scores import language_code
from regard.tasks.task import Trained
from regard.tasks.trained import load_trained

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
CORES = len(os.sched_getaffinity(0))
LONGEST = 3_600  # seconds after which an engine counts as stuck
Measured = dict[str, Any]


@dataclass(frozen=True)
class Engine:
    script: str
    peer: str = ""
    """Whose environment it runs in; none: this one."""
    own_workers: bool = False
    """It runs several batches at a time inside one process."""
    options: tuple[str, ...] | None = None
    """Of `regard translate`, to run the same."""


ENGINES = {
    "native": Engine("native", options=("--engine", "native")),
    "native-int8": Engine("native", options=("--engine", "native", "--int8")),
    "native-int8-shortlist": Engine("native", options=("--int8", "--shortlist")),
    "ctranslate2": Engine("ctranslate", "ctranslate2", own_workers=True),
    "ctranslate2-int8": Engine("ctranslate", "ctranslate2", own_workers=True),
    "huggingface": Engine("hugging_face", "huggingface"),
    "joeynmt": Engine("joey", "joeynmt"),
}


@dataclass(frozen=True)
class Mode:
    beam: int
    batch: int
    every: int = 1
    """Each how manieth sentence of the test set."""
    arrangements: tuple[tuple[int, int], ...] = ((CORES, 1), (1, CORES))
    """Workers, and threads of each."""


ALONE = ((1, 1), (1, CORES))
MODES = {
    "greedy": Mode(beam=1, batch=64),
    "beam": Mode(beam=5, batch=32),
    "greedy alone": Mode(beam=1, batch=1, every=5, arrangements=ALONE),
    "beam alone": Mode(beam=5, batch=1, every=5, arrangements=ALONE),
}


class Bench:
    """The model, the test set, and how an engine is put to the test with them."""

    def __init__(self, model: str, data: Path, folder: Path, venvs: Path, sentences: int) -> None:
        self.model, self.folder, self.venvs = model, folder, venvs
        self.trained = load_trained(model)
        recipe, tokenizer = self.trained.recipe, self.trained.assets.tokenizer
        languages = (recipe.data.source_language, recipe.data.target_language)
        self.texts, self.references = (test_set(data, language)[:sentences] for language in languages)
        self.sources = tokenizer.encode_all(self.texts, "source")
        converted(self.trained).save(folder)
        self.job = Job(
            engine="",
            model=str(find_model(model).resolve()),
            converted=str(folder),
            batches=[],
            beam=1,
            alpha=recipe.decoding.alpha,
            max_ratio=recipe.decoding.max_ratio,
            max_extra=recipe.decoding.max_extra,
            workers=1,
            threads=1,
        )

    def python(self, name: str) -> Path:
        """The Python that runs an engine, ready to use."""
        if not (peer := ENGINES[name].peer):
            return Path(sys.executable)
        python = environment(peer, self.venvs)
        if peer == "ctranslate2" and not (self.folder / peer).exists():
            # Its packages come last: they only lend what this environment lacks.
            export = (
                f"import sys; sys.path.append({str(packages_folder(python))!r}); from regard.cli import main; main()"
            )
            given = ["export", self.model, "--to", peer, "-o", str(self.folder / peer), "--samples", "0"]
            run([sys.executable, "-c", export, *given], env=surroundings(own=True))
        return python

    def rows(self, mode: Mode) -> list[list[int]]:
        """Which sentences are translated together: of similar length, the longest first; alone in the file's order."""
        rows = list(range(0, len(self.sources), mode.every))
        if mode.batch > 1:
            rows.sort(key=lambda row: -len(self.sources[row]))
        return [rows[begin : begin + mode.batch] for begin in range(0, len(rows), mode.batch)]

    def measure(self, name: str, python: Path, mode: Mode, workers: int, threads: int) -> tuple[Measured, Batch]:
        """One measurement, and the translations in the order of the file."""
        rows, inside = self.rows(mode), workers if ENGINES[name].own_workers else 1
        processes = workers // inside
        # First to last and back again: the long sentences, which come first, are shared evenly.
        turns = [*range(processes), *reversed(range(processes))]
        shares = [
            [each for place, each in enumerate(rows) if turns[place % len(turns)] == own] for own in range(processes)
        ]
        jobs = [
            replace(
                self.job,
                engine=name,
                batches=[[self.sources[row] for row in batch] for batch in share],
                beam=mode.beam,
                workers=inside,
                threads=threads,
            )
            for share in shares
        ]
        versions, results = side_by_side([str(python), str(HERE / f"{ENGINES[name].script}.py")], jobs)
        ends = [result["times"][-1] for result in results]
        seconds = max(ends) - min(result["times"][0] for result in results)
        outputs: dict[int, list[int]] = {}
        for share, result in zip(shares, results, strict=True):
            for batch, translations in zip(share, result["outputs"], strict=True):
                outputs.update(zip(batch, translations, strict=True))
        measured = {
            "sentences_per_second": len(outputs) / seconds,
            "memory": sum(result["memory"] for result in results),
            "versions": versions,
        }
        if mode.batch == 1:
            each = np.diff(results[0]["times"]) * 1000
            measured |= {"mean": float(each.mean()), "p95": float(np.percentile(each, 95))}
        return measured, [outputs[row] for row in sorted(outputs)]

    def command(self, name: str) -> tuple[Measured, list[str]]:
        """The whole command on the whole file, from its start to its end."""
        text, options = "".join(f"{line}\n" for line in self.texts), ENGINES[name].options or ()
        command = [sys.executable, "-m", "regard", "translate", self.model, "--beam", "5", *options]
        began = time.monotonic()
        lines = run(command, input=text, env=surroundings(own=True)).splitlines()
        return {"sentences_per_second": len(self.texts) / (time.monotonic() - began)}, lines

    def bleu(self, translations: list[str], every: int = 1) -> float:
        return float(sacrebleu.corpus_bleu(translations, [self.references[::every]]).score)


def side_by_side(command: list[str], jobs: list[Job]) -> tuple[dict[str, str], list[Measured]]:
    """One process for each job; all are ready before the first begins. The versions used, and what each measured."""
    with ExitStack() as stack:
        workers = []
        for job in jobs:
            log = stack.enter_context(tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace"))
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                encoding="utf-8",
                env=surroundings(own="native" in job.engine, threads=job.threads),
            )
            stack.callback(process.wait)
            stack.callback(process.kill)
            workers.append((process, log))
        stuck = threading.Timer(LONGEST, end_all, [[process for process, _ in workers]])
        stuck.start()
        stack.callback(stuck.cancel)
        for (process, log), job in zip(workers, jobs, strict=True):
            say(process, log, json.dumps(asdict(job)))
        ready = [hear(process, log) for process, log in workers]
        for process, log in workers:
            say(process, log, "go")
        return ready[0]["versions"], [hear(process, log) for process, log in workers]


def end_all(processes: list[subprocess.Popen[str]]) -> None:
    for process in processes:
        process.kill()


def say(process: subprocess.Popen[str], log: Any, line: str) -> None:
    assert process.stdin is not None
    try:
        process.stdin.write(f"{line}\n")
        process.stdin.flush()
    except OSError:
        hear(process, log)  # it ended already, and says why


def hear(process: subprocess.Popen[str], log: Any) -> Measured:
    assert process.stdout is not None
    if line := process.stdout.readline():
        return json.loads(line)  # type: ignore[no-any-return]
    code = process.wait()
    log.seek(0)
    raise PeerError(f"exit code {code}\n{last_lines(log.read())}")


def surroundings(own: bool, threads: int | None = None) -> dict[str, str]:
    """Environment variables of a process: for one of our own, where regard is."""
    changed = {"PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])) if own else ""}
    if threads:
        changed |= {"OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}
    return {**os.environ, **changed}


def test_set(data: Path, language: str) -> list[str]:
    name = f"test_2016_flickr.{language_code(language).partition(' ')[0]}"
    for path in (data / "multi30k" / f"{name}.gz", data / f"{name}.gz", data / "multi30k" / name, data / name):
        if path.is_file():
            raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
            return raw.decode("utf-8").splitlines()
    sys.exit(f"there is no {name} in {data} or its folder multi30k, with or without .gz; name its folder with --data")


def converted(trained: Trained) -> Converted:
    """The model for peers that do not know regard."""
    settings = trained.recipe.model
    if not settings.tied or settings.positions != "sinusoidal":
        sys.exit("the peers are given models with tied embeddings and sinusoidal positions only")
    return Converted(
        settings=recipes.to_dict(trained.recipe)["model"],
        special={"pad": PAD, "start": START, "end": END, "unknown": UNKNOWN},
        positions=trained.model.source_embedding.position_table(settings.max_positions).numpy(),
        weights={name: tensor.detach().numpy() for name, tensor in unique_weights(trained.model).items()},
    )
