"""A server to be tried: the demo, and beside it an untrained classifier and an untrained language model of its tokenizer."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

import regard
from regard import config
from regard.checkpoint import unique_weights
from regard.tasks.classification.assets import ClassificationAssets
from regard.tasks.language_model.assets import LanguageAssets
from regard.tasks.registry import build
from regard.tasks.trained import save_trained

MEGA = 2**20
SHAPE = {"width": 128, "feed_forward": 256, "heads": 4, "layers": 2, "max_positions": 512}
PATIENCE = 60  # seconds


@dataclass(frozen=True)
class Served:
    """A running server."""

    process: subprocess.Popen[str]
    port: int

    def memory(self) -> float:
        """What of its memory is in RAM, in MB; on Linux."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+)", status)
        assert found
        return int(found[1]) * 1024 / MEGA

    def seconds(self) -> float:
        """Of a processor that it has taken; on Linux."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def write_models(folder: Path) -> list[str]:
    """Models of all tasks, as `regard serve` takes them."""
    tokenizer = regard.load("demo").tokenizer
    torch.manual_seed(1)
    moods = config.ClassificationRecipe(name="moods", model=config.TextEncoder(**SHAPE))
    labels = ("dull", "lovely")
    model = build(moods.model, tokenizer.size("source"), len(labels))
    save_trained(
        folder / "moods.safetensors", unique_weights(model), moods, ClassificationAssets(tokenizer, labels), {}
    )
    prose = config.LanguageRecipe(name="prose", model=config.TextDecoder(**SHAPE))
    model = build(prose.model, tokenizer.size("source"))
    save_trained(folder / "prose.safetensors", unique_weights(model), prose, LanguageAssets(tokenizer), {})
    return ["demo", f"moods={folder / 'moods.safetensors'}", f"prose={folder / 'prose.safetensors'}"]


@contextmanager
def serving(*options: str, threads: int = 1) -> Iterator[Served]:
    """All tasks behind one port of this machine."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the server does not outlive this script
    with TemporaryDirectory(prefix="regard-") as folder:
        command = [sys.executable, "-m", "regard", "serve", *write_models(Path(folder)), "--port", "0", *options]
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
        ) as process:
            try:
                assert process.stdout is not None
                line = process.stdout.readline()
                found = re.search(r":(\d+)/", line)
                assert found, f"the server did not start: {line}"
                yield Served(process, int(found[1]))
            finally:
                process.send_signal(signal.SIGTERM)
                process.wait(PATIENCE)


def quantile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")
