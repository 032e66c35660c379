"""The trials of an ablation side by side, one process of one thread for each core, and what they came to."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import connection
from multiprocessing.process import BaseProcess
from pathlib import Path

from rich.progress import Progress, TaskID

from regard.config import Recipe
from regard.data.progress import progress
from regard.errors import UsageError, did_you_mean
from regard.experiments.ablation.rows import Row
from regard.experiments.ablation.trials import LOG, Measured, Trial, basis, check, judge_of, result_of, work
from regard.run_log import read_metrics
from regard.tasks.registry import prepare
from regard.tasks.task import Judged
from regard.training.stopping import StopRequest

Results = dict[Trial, Measured | str]
LOOK_EVERY = 0.5  # seconds


def plan(rows: Sequence[Row], seeds: int, folder: Path) -> list[Trial]:
    """All rows with the first seed, then all with the second: one that is stopped early has a whole table."""
    first = rows[0].recipe.training.seed
    return [Trial(row, seed, folder / f"{row.name}-seed{seed}") for seed in range(first, first + seeds) for row in rows]


def chosen_test_set(recipe: Recipe, name: str | None) -> Judged:
    """The test set of that name, or the recipe's first."""
    judge = judge_of(recipe)
    if not (recipe.data.test or judge.by_validation):
        raise UsageError("an ablation is judged on a test set, and the recipe names none; see [data.test]")
    sets = {each.name: each for each in judge.test_sets(recipe)}
    chosen = next(iter(sets)) if name is None else name
    if chosen not in sets:
        raise UsageError(f"no test set {chosen!r}.{did_you_mean(chosen, sets)} There are: {', '.join(sets)}")
    return sets[chosen]


class Ablation:
    """Trials, some of which may be over already. Making one prepares the corpus and refuses folders of other settings."""

    def __init__(self, rows: Sequence[Row], seeds: int, folder: Path, test_set: Judged) -> None:
        self.test_set, trials = test_set, plan(rows, seeds, folder)
        for trial in trials:
            check(trial)
        # In turn, not each in its process: rows share what is prepared unless they vary the tokenizer.
        prepared = [prepare(row.recipe, show=sys.stderr.isatty()) for row in rows]
        self.bases = {trial: basis(trial, test_set, prepared[0].checksums) for trial in trials}

    def results(self) -> Results:
        """Of the trials that are over."""
        found = {trial: result_of(trial, basis) for trial, basis in self.bases.items()}
        return {trial: result for trial, result in found.items() if result is not None}

    def left(self) -> list[Trial]:
        """Those that are not over; one that failed is tried again."""
        results = self.results()
        return [trial for trial in self.bases if not isinstance(results.get(trial), Measured)]

    def run(self, workers: int) -> tuple[Results, bool]:
        """Do what is left → what all came to, and whether somebody stopped it."""
        waiting, running, died, told = self.left(), dict[BaseProcess, tuple[Trial, TaskID]](), Results(), False
        with StopRequest() as stop, progress() as bar:
            whole = bar.add_task("Trials", total=len(self.bases), completed=len(self.bases) - len(waiting))
            try:
                while running or waiting:
                    if stop.asked and not told:
                        told, waiting = True, []
                        for process in running:
                            process.terminate()
                    while waiting and len(running) < workers:
                        trial = waiting.pop(0)
                        line = bar.add_task(trial.folder.name, total=trial.recipe.training.updates)
                        running[self._start(trial)] = trial, line
                    connection.wait([process.sentinel for process in running], LOOK_EVERY)
                    for process in [process for process in running if not process.is_alive()]:
                        trial, line = running.pop(process)
                        bar.remove_task(line)
                        if not stop.asked:
                            bar.advance(whole)
                            died |= self._report(trial, process, bar)
                    for trial, line in running.values():
                        bar.update(line, completed=updates_done(trial.folder))
            finally:
                for process in running:
                    process.kill()
        return {**died, **self.results()}, stop.asked

    def _start(self, trial: Trial) -> BaseProcess:
        process = multiprocessing.get_context("spawn").Process(
            target=work, args=(trial, self.test_set, self.bases[trial]), daemon=True
        )
        with _one_thread_deaf_to_interrupts():
            process.start()
        return process

    def _report(self, trial: Trial, process: BaseProcess, bar: Progress) -> Results:
        """Say what became of a trial → its failure, if it could not even write that down."""
        result = result_of(trial, self.bases[trial])
        failures: Results = {}
        if result is None:
            result = (
                f"its process ended with code {process.exitcode}, perhaps for want of memory; see {trial.folder / LOG}"
            )
            failures[trial] = result
        told = f"failed: {result}"
        if isinstance(result, Measured):
            judge, recipe = judge_of(trial.recipe), trial.recipe
            value = judge.score(recipe, judge.counts(recipe, result.answers, self.test_set).sum(0))
            told = f"loss {result.loss:.3f}  {judge.metric} {value:.2f}  {result.seconds:.0f} s"
        bar.console.print(f"{trial.folder.name}  {told}", highlight=False, markup=False, soft_wrap=True)
        return failures


def updates_done(folder: Path) -> int:
    """How far a run has come, by its last line of metrics."""
    *_, last = [{"update": 0}, *read_metrics(folder)]
    return int(last["update"])


@contextmanager
def _one_thread_deaf_to_interrupts() -> Iterator[None]:
    """What a process is born with: cores are shared by trials, and Ctrl-C while it starts would only make it cry."""
    before, threads = signal.signal(signal.SIGINT, signal.SIG_IGN), os.environ.get("OMP_NUM_THREADS")
    os.environ["OMP_NUM_THREADS"] = "1"
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if threads is None:
            del os.environ["OMP_NUM_THREADS"]
        else:
            os.environ["OMP_NUM_THREADS"] = threads
