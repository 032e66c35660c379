"""Trains a toy recipe on made-up text: in this process, or in others that can be killed.

Other processes come from multiprocessing's fork server, which has imported torch once: a run begins in a moment, yet is
a process of its own, with its own end.
"""

from __future__ import annotations

import io
import json
import multiprocessing
import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from rich.console import Console

ROOT = Path(__file__).parents[2]
PATIENCE = 300  # seconds, on a machine that is busy with other things

RECIPE = """
[data]
train = ["train.tsv"]
valid = ["valid.tsv"]
prepared = "{folder}/prepared"
max_tokens = 60

[tokenizer]
vocabulary = 320

[model]
size = "tiny"
width = 16
feed_forward = 32
heads = 2
encoder_layers = 1
decoder_layers = 1
dropout = 0.2
attention_dropout = 0.1
max_positions = 64

[training]
batch_tokens = 96
updates = 12
learning_rate = 3e-3
warmup = 4
weight_decay = 0.1
clip = 1.0
epsilon = 1e-4        # the gradient of a key's bias is zero but for rounding, which Adam would blow up
validate_every = 5
checkpoint_every = 3
validate_sentences = 4
average = 2
ema = 0.9
threads = 1

[decoding]
max_ratio = 0.5
max_extra = 2
"""


def write_corpus(folder: Path) -> Path:
    """Sentences and the same backwards → the recipe's path."""
    chance = random.Random(1)
    words = ["".join(chance.choices("bdkmnt", k=1) + chance.choices("aeiou", k=1)) for _ in range(40)]
    sentences = [chance.choices(words, k=chance.randint(1, 5)) for _ in range(240)]
    rows = [" ".join(words) + "\t" + " ".join(reversed(words)) + "\n" for words in sentences]
    (folder / "train.tsv").write_text("".join(rows[:220]), encoding="utf-8")
    (folder / "valid.tsv").write_text("".join(rows[220:]), encoding="utf-8")
    (folder / "toy.toml").write_text(RECIPE.format(folder=folder), encoding="utf-8")
    return folder / "toy.toml"


def train(recipe: Path, run: Path, *overrides: str) -> tuple[Any, str]:
    """Train here → the run, and what was said."""
    import regard

    said = io.StringIO()
    return regard.train(recipe, run=run, overrides=overrides, show=Console(file=said)), said.getvalue()


def arguments(recipe: Path, run: Path, *overrides: str) -> list[str]:
    return ["train", str(recipe), "--run", str(run), *(word for each in overrides for word in ("--set", each))]


_server = multiprocessing.get_context("forkserver")
_server.set_forkserver_preload(["regard.cli", "regard.runs", "tests.training.toy"])


def start(
    words: list[str], output: Path, before: Callable[..., None] | None = None, *given: Any, **environment: str
) -> BaseProcess:
    """`regard WORDS` in a process of its own, after calling `before(*given)` there."""
    process = _server.Process(target=_command, args=(words, output, before, given, environment))
    process.start()
    return process


def _command(
    words: list[str], output: Path, before: Callable[..., None] | None, given: Any, environment: dict[str, str]
) -> None:
    from regard.cli import main

    log = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.environ.update(environment)
    if before is not None:
        before(*given)
    sys.argv = ["regard", *words]
    main()


def finish(process: BaseProcess) -> int | None:
    """Its exit code; negative for a signal."""
    process.join(PATIENCE)
    code = process.exitcode
    process.kill()
    process.join()
    return code


@contextmanager
def agent() -> Iterator[dict[str, str]]:
    """A store that outlives processes, as torchrun keeps one → what processes are told of it."""
    from torch.distributed import TCPStore

    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    yield dict(
        MASTER_ADDR="127.0.0.1",
        MASTER_PORT=str(store.port),
        TORCHELASTIC_USE_AGENT_STORE="True",
        TORCHELASTIC_RUN_ID="toy",
    )


def start_all(
    count: int,
    words: list[str] | list[list[str]],
    output: Path,
    before: Callable[..., None] | None,
    *given: Any,
    **where: str,
) -> list[BaseProcess]:
    """As torchrun would start them, but sooner; with the same words, or each with its own."""
    each = words if isinstance(words[0], list) else [words] * count
    common = dict(WORLD_SIZE=str(count), LOCAL_WORLD_SIZE=str(count), **where)
    return [
        start(list(each[rank]), output, before, *given, RANK=str(rank), LOCAL_RANK=str(rank), **common)
        for rank in range(count)
    ]


def processes(
    count: int,
    words: list[str] | list[list[str]],
    output: Path,
    before: Callable[..., None] | None = None,
    *given: Any,
    **where: str,
) -> list[int | None]:
    """Start them all → their exit codes. Without an agent the first keeps the store."""
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        port = door.getsockname()[1]
    where = where or dict(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    return [finish(process) for process in start_all(count, words, output, before, *given, **where)]


def command(*words: str, **options: Any) -> subprocess.Popen[str]:
    """A Python of its own, in a process group of its own."""
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.Popen(
        [sys.executable, *words], env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, **options,
    )  # fmt: skip


def torchrun(*words: str, **options: Any) -> subprocess.Popen[str]:
    """Two processes under torchrun."""
    return command("-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2", *words, **options)


def wait_for(condition: Callable[[], bool], still: Callable[[], bool] = lambda: True) -> None:
    """Until it is true, or `still` no longer."""
    until = time.monotonic() + PATIENCE
    while not condition() and still():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.002)


def contents(run: Path) -> dict[str, Any]:
    """All that a run folder holds, comparable to the bit; only time may differ, and when it was interrupted: what `last`
    was before, `previous` is."""
    from regard.checkpoint import read

    found: dict[str, Any] = {}
    for path in sorted(each for each in run.rglob("*") if each.is_file() and each.name != "previous.safetensors"):
        name = str(path.relative_to(run))
        if path.suffix == ".safetensors":
            tensors, metadata = read(path)
            if "progress" in metadata:
                metadata["progress"] = json.dumps({**json.loads(metadata["progress"]), "seconds": 0.0})
            found[name] = (
                metadata,
                {key: (each.dtype, each.shape, each.numpy().tobytes()) for key, each in tensors.items()},
            )
        elif path.suffix == ".jsonl":
            lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
            found[name] = [
                {key: line[key] for key in line if key not in ("tokens_per_second", "seconds")} for line in lines
            ]
        else:
            found[name] = path.read_text(encoding="utf-8")
    return found


def progress(run: Path) -> dict[str, Any]:
    """What the last checkpoint tells."""
    from regard.checkpoint import read

    told: dict[str, Any] = json.loads(read(run / "checkpoints" / "last.safetensors")[1]["progress"])
    return told
