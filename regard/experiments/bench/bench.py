"""The paper's Table 1, measured on this machine: what the verb `bench layers` does."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from rich.console import Console

from regard.experiments.bench import layers
from regard.experiments.bench.growth import draw, report
from regard.experiments.bench.layers import Findings, Settings
from regard.experiments.bench.page import INSTEAD, write_layers
from regard.files import replacing
from regard.view.document import check_name

USUAL = Settings()


@dataclass(frozen=True)
class Bench:
    """What was measured, perhaps not to the end."""

    findings: Findings

    @property
    def complete(self) -> bool:
        """Whether nobody interrupted it."""
        return self.findings.complete

    def draw(self, console: Console) -> None:
        """The tables in a terminal."""
        draw(self.findings, console)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return report(self.findings)

    def write(self, path: str | Path, command: str = "") -> None:
        """A page with plots; `command` made it."""
        write_layers(Path(path), self.to_dict(), command)


def bench(
    lengths: Sequence[int] = USUAL.lengths,
    widths: Sequence[int] = USUAL.widths,
    *,
    batch: int = USUAL.batch,
    heads: int = USUAL.heads,
    kernel: int = USUAL.kernel,
    window: int = USUAL.window,
    repeats: int = USUAL.repeats,
    threads: int | None = None,
    output: str | Path | None = None,
    numbers: str | Path | None = None,
    command: str = "",
) -> Bench:
    """Time and memory of self-attention, recurrence, convolution and restricted self-attention over lengths and widths.

    Some minutes; Ctrl-C returns what was measured until then. `kernel` is what a convolution sees, `window` what restricted
    attention does. `output` is a page to write (and `command` what it says made it), `numbers` a file for all that was
    measured, as JSON.
    """
    if output is not None:
        check_name(Path(output), INSTEAD)
    for path in (output, numbers):
        if path is not None:
            Path(path).parent.mkdir(
                parents=True, exist_ok=True
            )  # now: after minutes of measuring it is too late to fail
    count = torch.get_num_threads() if threads is None else threads
    asked = Settings(tuple(lengths), tuple(widths), batch, heads, kernel, window, repeats, count)
    found = Bench(layers.measure(asked))
    if numbers is not None:
        with replacing(Path(numbers)) as temporary:
            temporary.write_text(json.dumps(found.to_dict(), indent=1), encoding="utf-8")
    if output is not None and found.findings.cells:
        found.write(output, command)
    return found
