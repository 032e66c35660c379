"""`python -m tests.fuzz`: hostile model files, recipes and corpora, each in a process of its own, and a table of what came of
them. With `--resume FILE` what was tried before is not tried again."""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

os.environ["OMP_NUM_THREADS"] = "1"  # before torch: a process with threads cannot be forked

from tests.fuzz import corpora, model_files, recipe_files
from tests.fuzz.guard import Case, Verdict, try_case


class Area(NamedTuple):
    cases: Callable[[int, int], Iterator[Case]]
    """(seed, how many) → as many hostile cases."""
    honest: Callable[[], Iterator[Case]]
    count: int


AREAS = {
    "model files": Area(model_files.cases, model_files.honest_cases, 600),
    "recipes": Area(recipe_files.cases, recipe_files.honest_cases, 400),
    "corpora": Area(corpora.cases, corpora.honest_cases, 1_000),
}


def honest(area: str) -> int:
    """Megabytes that honest files of an area take: what every case may take besides its own."""
    verdicts = [try_case(case) for case in AREAS[area].honest()]
    assert all(verdict.outcome.startswith(("accepted", "took")) for verdict in verdicts), verdicts
    return max(verdict.megabytes for verdict in verdicts)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--area", choices=AREAS, action="append", help="all unless named")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--share", type=float, default=1.0, help="of the cases of each area")
    parser.add_argument("--only", default="", help="cases whose name holds this")
    parser.add_argument("--resume", type=Path, help="a file of verdicts, which is added to")
    parser.add_argument("--verbose", action="store_true", help="say what came of each case")
    given = parser.parse_args()
    with TemporaryDirectory() as folder, redirect_stdout(io.StringIO()):  # what is imported once is no case's cost
        for case in (*recipe_files.honest_cases(), *model_files.honest_cases()):
            place = Path(folder) / case.name
            place.mkdir(exist_ok=True)
            case.make(place)
            case.use(place)
    before = [json.loads(line) for line in given.resume.open()] if given.resume and given.resume.exists() else []
    known = {(each.pop("area"), each["case"]): Verdict(**each) for each in before}
    table = []
    for area in given.area or AREAS:
        base, verdicts = honest(area), []
        for case in AREAS[area].cases(given.seed, max(1, int(AREAS[area].count * given.share))):
            if given.only not in case.name:
                continue
            verdict = known.get((area, case.name)) or try_case(case, base)
            verdicts.append(verdict)
            if given.resume and (area, case.name) not in known:
                with given.resume.open("a") as file:
                    file.write(json.dumps({"area": area, **asdict(verdict)}) + "\n")
            if verdict.bad or given.verbose:
                print(
                    f"{area}: {verdict.case}\n  {verdict.outcome} ({verdict.seconds:.1f} s, {verdict.megabytes} MB)",
                    flush=True,
                )
                print("    " + verdict.message[-800:].strip().replace("\n", "\n    "), flush=True)
        table.append((area, verdicts))
    print("area · tried · clear · bad · slowest · most memory")
    for area, verdicts in table:
        bad = sum(verdict.bad for verdict in verdicts)
        slowest = max((verdict.seconds for verdict in verdicts), default=0)
        most = max((verdict.megabytes for verdict in verdicts), default=0)
        print(f"{area} · {len(verdicts)} · {len(verdicts) - bad} · {bad} · {slowest:.1f} s · {most} MB")
    return int(any(verdict.bad for _, verdicts in table for verdict in verdicts))


if __name__ == "__main__":
    sys.exit(main())
